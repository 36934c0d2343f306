"""Find the consumer that the operator means: by its uuid, its uuid's beginning, its name, or GROUP/VOLUME. Pure.

A name is an instance's name or the name of a guest in libvirt. A whole name takes precedence over the beginning of a
uuid, so an instance that is named like the beginning of another uuid is found by its name.
"""

from __future__ import annotations

import uuid

from agent.cmd.naming.prefixes import matches
from agent.model.report import AuditReport
from agent.usage_error import UsageError

_LVM = "lvm "


def consumer_of(report: AuditReport, typed: str) -> str:
    """Return the uuid of the consumer that ``typed`` means; for a consumer without uuid, its key (``GROUP/VOLUME``).

    A whole uuid is returned as Placement writes it. If the audit knows no such consumer, return ``typed`` unchanged.
    Raises UsageError if several consumers match: they have the typed name, or their uuids begin with ``typed``.
    """
    whole = _whole_uuid(typed)
    if whole is not None:
        return whole
    found = _by_key(report, typed) or _by_name(report, typed) or matches(typed, known_uuids(report))
    if len(found) > 1:
        raise UsageError(f"several consumers match {typed}: {', '.join(found)}")
    return found[0] if found else typed


def known_uuids(report: AuditReport) -> frozenset[str]:
    """Return the uuid of every consumer that the audit knows."""
    ledger = {row.consumer_uuid for row in report.ledger}
    findings = {seen.finding.consumer_uuid for seen in report.findings}
    moved = {one for note in report.evacuations for one in (note.instance_uuid, note.migration_uuid)}
    named = {named.uuid for named in report.names}
    stored = {row.owner for row in report.storage if _whole_uuid(row.owner)}
    return frozenset(one for one in (*ledger, *findings, *moved, *named, *stored) if one)


def known_names(report: AuditReport) -> frozenset[str]:
    """Return every name by which a consumer can be found, for suggestions."""
    names = {named.name for named in report.names}
    rows = {name for row in report.ledger for name in (row.consumer_name, row.consumer_key)}
    owners = {row.owner for row in report.storage}
    return frozenset(name for name in (*names, *rows, *owners) if name)


def _by_key(report: AuditReport, typed: str) -> tuple[str, ...]:
    """If ``typed`` is a consumer's key, return ``typed``. If ``typed`` is a logical volume, return the volume's owners.

    Return () if ``typed`` is neither.
    """
    if any(row.consumer_key == typed for row in report.ledger):
        return (typed,)
    owners = {row.owner for row in report.storage if row.source == f"{_LVM}{typed}"}
    return tuple(sorted(owners))


def _by_name(report: AuditReport, typed: str) -> tuple[str, ...]:
    named = {one.uuid for one in report.names if one.name == typed}
    rows = {row.consumer_uuid or row.consumer_key for row in report.ledger if row.consumer_name == typed}
    return tuple(sorted(named | rows))


def _whole_uuid(text: str) -> str | None:
    try:
        return str(uuid.UUID(text))
    except ValueError:
        return None
