"""store-changed: DISK_GB stays unchanged, because its store (file system or volume group) may have been replaced."""

from __future__ import annotations

from agent.findings.base import AuditFacts, Findings, Rule
from agent.model.finding import Severity
from agent.model.units import bytes_to_gib_floor
from agent.resources.store_doubt import StoreDoubt, name_of, store_doubt, where


def _find(audit: AuditFacts) -> Findings:
    doubt = store_doubt(audit.snapshot, audit.settings)
    if doubt is None:
        return
    before, now, disks = doubt.before, doubt.now, doubt.disks
    yield RULE.finding(
        audit,
        resource_class="DISK_GB",
        subject=now.name,
        expected=_expected(audit, doubt),
        actual=f"{doubt.why}; found now: {_gib(now.size_bytes)}, {where(now)}; DISK_GB stays as Placement has it",
        facts=(
            ("store", now.name),
            ("size_bytes_before", before.size_bytes if before else None),
            ("size_bytes", now.size_bytes),
            ("where_before", where(before) if before else None),
            ("where", where(now)),
            ("missing_disks", None if disks.unknown_because else len(disks.missing)),
            ("first_missing_disk", disks.missing[0] if disks.missing else None),
        ),
    )


def _expected(audit: AuditFacts, doubt: StoreDoubt) -> str:
    if doubt.before is not None:
        return f"{name_of(doubt.now)} is the same as before: {_gib(doubt.before.size_bytes)}, {where(doubt.before)}"
    recorded = audit.snapshot.recorded_inventory("DISK_GB")
    total = recorded.total if recorded else 0
    return f"{name_of(doubt.now)} has the guests' disks, and its size is the {total} GiB of DISK_GB in Placement"


def _gib(size_bytes: int) -> str:
    return f"{bytes_to_gib_floor(size_bytes)} GiB ({size_bytes} bytes)"


RULE = Rule(
    code="store-changed",
    severity=Severity.ERROR,
    remedy="mount the store (findmnt and systemctl --failed on the host; vgs -o +vg_uuid for a volume group); if the "
    "store was replaced on purpose, run stocktake adopt --store",
    find=_find,
)
