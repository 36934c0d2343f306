"""Build the message that tells schedulers and ``stocktake watch`` what a host offers and what is in use.

A value that the audit did not read is null, never 0 and never an empty list: after an audit that read nothing,
``resources`` is null. ``findings`` counts all present findings, also those that the audit could not check. New keys
may be added; renaming or removing a key needs a new ``SCHEMA_VERSION``. docs/messages.md has an example. Pure.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from agent.books.uncovered import RESTS_ON, uncovered
from agent.bus.finding_sums import no_sums, sums_of
from agent.model.host.resource_view import CellPages, ResourceView, ViewCell
from agent.model.memo import for_equal_arguments
from agent.model.report import AuditReport, InventoryRow, LedgerRow, Outcome, TraitRow
from agent.model.snapshot import LIBVIRT, PLACEMENT, STATE
from agent.model.usage import CellUsage

SCHEMA_VERSION = 1

Document = dict[str, Any]

_READ_NOTHING = frozenset({Outcome.UNREADABLE, Outcome.CRASHED, Outcome.CANCELLED})
#: The books: promised (nova's database), held (libvirt, storage), recorded (Placement's allocations).
BOOKS = ("promised", "held", "recorded")
#: The maximum size of a message as JSON, in bytes. Only a host with hundreds of child providers reaches the limit.
MOST_BYTES = 64 * 1024
#: The maximum number of characters of ``error``.
MOST_ERROR = 2000
_GUESTS = frozenset({"instance", "domain"})
_TAKEN_BY_GUESTS = frozenset({"VCPU", "PCPU", "MEMORY_MB"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Sending:
    """Facts about the sending of a document.

    ``at``: the time of sending (ISO 8601 UTC). ``interval_s``: the seconds until the next document.
    """

    at: str
    interval_s: float
    agent_version: str


def host_state(report: AuditReport, sending: Sending) -> Document:
    """Return the document. ``at`` is the time of sending, ``audited_at`` the start of the audit that read the state.

    If the document is larger than MOST_BYTES, ``resources`` ends early, and ``resources_left_out`` says how many are
    missing. The root provider's resources come first.
    """
    document = {
        "schema_version": SCHEMA_VERSION,
        "host": report.host,
        "at": sending.at,
        "interval_s": sending.interval_s,
        "agent_version": sending.agent_version,
        "audit_id": report.audit_id,
        "audited_at": report.started_at,
        **state_of(report),
        "resources_left_out": 0,
    }
    excess = _size(document) - MOST_BYTES
    return _shortened(document, excess) if excess > 0 and document["resources"] else document


def _size(document: object) -> int:
    return len(json.dumps(document))


def _shortened(document: Document, excess: int) -> Document:
    """Drop entries from the end of ``resources`` until the document is at least ``excess`` bytes shorter.

    The root provider's entries are dropped last.
    """
    root = document["provider_uuid"]
    kept = sorted(document["resources"], key=lambda row: row["provider_uuid"] != root)
    total = len(kept)
    while kept and excess > -len(str(total)):
        excess -= _size(kept.pop()) + len(", ")
    return {**document, "resources": kept, "resources_left_out": total - len(kept)}


def state_of(report: AuditReport) -> Document:
    """Return the part of the document that stays equal from audit to audit while nothing changes on the host."""
    is_silent = report.outcome in _READ_NOTHING
    # Findings of earlier audits may be known even if this audit could read nothing.
    knows_findings = not is_silent or bool(report.findings)
    # An allocation counts as leaked only if Placement, nova's state and libvirt were all read. Without libvirt, for
    # example, a guest that the audit could not see may use the allocation.
    books_read = all(_was_read(report, source) for source in (PLACEMENT, STATE, LIBVIRT))
    findings = Counter(seen.finding.code for seen in report.findings)
    return {
        "node": report.node,
        "provider_uuid": report.provider_uuid,
        "role": report.role,
        "published": report.published or _is_in_placement(report),
        "outcome": report.outcome.value,
        "error": report.error if report.error is None else report.error[:MOST_ERROR],
        "sources_lost": sorted(source.name for source in report.sources if not source.ok),
        "resources": None if is_silent else _resources(report.inventory, report.ledger),
        "guests": None if is_silent or not _was_read(report, LIBVIRT) else _guests(report.ledger),
        "findings": dict(sorted(findings.items())) if knows_findings else None,
        "traits_digest": None if is_silent else _traits_digest(report.traits),
        "numa": _numa(report.resource_view, report.cell_usages),
        **(sums_of(report.findings, books_read=books_read) if knows_findings else no_sums()),
        "uncovered": _uncovered(report),
        "held_back": None if is_silent else len(report.plan.held_back),
        "heal": {"enabled": report.heal.enabled, "waiting": report.heal.waiting} if report.heal else None,
    }


def _uncovered(report: AuditReport) -> Document | None:
    """Return the resources in use on the host for which Placement has no allocation and no ``reserved`` amount.

    None if the audit could not read a source that this comparison needs.
    """
    is_lost = any(not source.ok and source.name in RESTS_ON for source in report.sources)
    if is_lost or not (_was_read(report, PLACEMENT) and _was_read(report, LIBVIRT)):
        return None
    return uncovered(report.provider_uuid, report.inventory, report.ledger)


def _was_read(report: AuditReport, name: str) -> bool:
    return any(source.name == name and source.ok for source in report.sources)


def _is_in_placement(report: AuditReport) -> bool:
    """Return whether libvirt and Placement were read, and Placement has exactly the inventories that the agent wants.

    The report's ``published`` says only whether this audit itself wrote the inventories.
    """
    is_read = _was_read(report, PLACEMENT) and _was_read(report, LIBVIRT)
    return is_read and report.error is None and all(row.wanted in (None, row.recorded) for row in report.inventory)


# The result is cached, because a thousand guests have thousands of ledger rows. On an unchanged host, the rows equal
# those of the last audit, so the sums need not be computed again.
@for_equal_arguments
def _resources(inventory: tuple[InventoryRow, ...], ledger: tuple[LedgerRow, ...]) -> list[Document]:
    causes = _by_cause(ledger)
    return [_resource(row, causes) for row in inventory]


def _resource(row: InventoryRow, causes: Mapping[tuple[str, str], Document]) -> Document:
    shown = row.wanted or row.recorded
    resource_class = shown.resource_class if shown else ""
    names = ("total", "reserved", "allocation_ratio", "min_unit", "max_unit", "step_size")
    return {
        "provider": row.provider,
        "provider_uuid": row.provider_uuid,
        "resource_class": resource_class,
        **{name: getattr(shown, name, None) for name in names},
        "used": row.used,
        "free": row.free,
        "causes": causes.get((row.provider_uuid, resource_class), {}),
    }


def _by_cause(ledger: tuple[LedgerRow, ...]) -> dict[tuple[str, str], Document]:
    """Return the sums of the ledger's amounts: by provider and resource class, then by cause (``Cause``), then by book.

    The books are "promised", "held" and "recorded". A sum is None if no row has an amount in this book.
    """
    found: dict[tuple[str, str], Document] = defaultdict(dict)
    for row in ledger:
        shares = found[row.provider_uuid, row.resource_class].setdefault(row.cause, dict.fromkeys(BOOKS))
        for book in BOOKS:
            amount = getattr(row, book)
            if amount is not None:
                shares[book] = (shares[book] or 0) + amount
    return found


@for_equal_arguments
def _guests(ledger: tuple[LedgerRow, ...]) -> int:
    """Return the number of guests that have CPUs or memory on the host."""
    rows = (row for row in ledger if row.consumer_kind in _GUESTS and row.resource_class in _TAKEN_BY_GUESTS)
    return len({row.consumer_key for row in rows if row.held is not None})


@for_equal_arguments
def _traits_digest(traits: tuple[TraitRow, ...]) -> str:
    """Return a digest of all traits that the providers should have after this audit, operators' own traits included."""
    lines = sorted(f"{row.provider_uuid} {row.trait}\n" for row in traits if row.wanted)
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def _numa(view: ResourceView | None, usages: tuple[CellUsage, ...] | None) -> list[Document] | None:
    if view is None or view.cells is None:
        return None
    by_cell = {usage.id: usage for usage in usages or ()}
    return [_cell(cell, by_cell.get(cell.id)) for cell in view.cells]


def _cell(cell: ViewCell, usage: CellUsage | None) -> Document:
    """Return the CPUs and memory that a NUMA cell has for guests.

    The used amounts count only guests with a NUMA topology. Reserved huge pages do not count as free.
    """
    used_pages = dict(usage.pages) if usage else {}
    return {
        "id": cell.id,
        "vcpus": len(cell.cpuset),
        "vcpus_used": usage.cpus if usage else None,
        "pcpus": len(cell.pcpuset),
        "pcpus_free": len(set(cell.pcpuset) - set(usage.pinned)) if usage else None,
        "memory_mib": cell.memory_mib,
        "memory_mib_free": cell.memory_mib - usage.memory_mib if usage else None,
        "pages": [_pages(pages, used_pages.get(pages.size_kib)) for pages in cell.pages],
    }


def _pages(pages: CellPages, used: int | None) -> Document:
    return {
        "size_kib": pages.size_kib,
        "total": pages.total,
        "reserved": pages.reserved,
        "free": None if used is None else pages.total - pages.reserved - used,
    }
