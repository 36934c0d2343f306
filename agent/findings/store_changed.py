"""store-changed: DISK_GB stays unchanged, because its store (file system or volume group) may have been replaced."""

from __future__ import annotations

from agent.findings.base import AuditFacts, Findings, Rule
from agent.findings.base_remedies import inspect, line
from agent.model.finding import Remedy, Severity
from agent.model.host.store import StoreMark
from agent.model.snapshot import LIBVIRT, LVM, PLACEMENT
from agent.model.units import bytes_to_gib_floor
from agent.resources.store_doubt import StoreDoubt, name_of, store_doubt, where


def _find(audit: AuditFacts) -> Findings:
    doubt = store_doubt(audit.snapshot, audit.settings)
    if doubt is None:
        return
    before, now, disks = doubt.before, doubt.now, doubt.disks
    yield RULE.finding(
        audit,
        headline=f"{audit.host}: the guests' disk store may have been replaced, so DISK_GB stays unchanged: "
        f"{doubt.why}",
        resource_class="DISK_GB",
        subject=now.name,
        expected=_expected(audit, doubt),
        actual=f"{doubt.why}; found now: {_gib(now.size_bytes)}, {where(now)}; the agent does not change Placement's "
        "DISK_GB",
        facts=(
            ("store", now.name),
            ("size_bytes_before", before.size_bytes if before else None),
            ("size_bytes", now.size_bytes),
            ("where_before", where(before) if before else None),
            ("where", where(now)),
            ("missing_disks", None if disks.unknown_because else len(disks.missing)),
            ("first_missing_disk", disks.missing[0] if disks.missing else None),
        ),
        rests_on=RULE.rests_on | {now.source},
        remedies=_remedies(now),
    )


def _expected(audit: AuditFacts, doubt: StoreDoubt) -> str:
    if doubt.before is not None:
        before = f"{_gib(doubt.before.size_bytes)}, {where(doubt.before)}"
        return f"{name_of(doubt.now)} is the same store as before, with the same size: {before}"
    recorded = audit.snapshot.recorded_inventory("DISK_GB")
    total = recorded.total if recorded else 0
    return (
        f"{name_of(doubt.now)} contains the guests' disks, and its size is {total} GiB (Placement's total of DISK_GB)"
    )


def _gib(size_bytes: int) -> str:
    return f"{bytes_to_gib_floor(size_bytes)} GiB ({size_bytes} bytes)"


def _remedies(now: StoreMark) -> tuple[Remedy, ...]:
    is_group = now.source == LVM
    shown = line("vgs", "-o", "+vg_uuid", now.name) if is_group else line("findmnt", "--target", now.name)
    return (
        inspect("see the UUID of the volume group" if is_group else "see which file system has this path", shown),
        inspect("see which mounts and services have failed", line("systemctl", "--failed")),
        inspect(
            "if the store was replaced on purpose, see what the command adopt would do",
            line("stocktake", "adopt", "--store"),
        ),
    )


# The finding also rests on the source that reads the disk store. The configuration decides which source this is, so
# ``_find`` adds the source.
RULE = Rule(code="store-changed", severity=Severity.ERROR, find=_find, rests_on=frozenset({PLACEMENT, LIBVIRT}))
