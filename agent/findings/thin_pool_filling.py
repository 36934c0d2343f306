"""thin-pool-filling: the data or the metadata of a thin pool is nearly full.

A full pool stops the writes of every guest in the pool; full metadata may destroy the pool. The finding's text does not
contain the fill level: the level changes with each write, and a finding is confirmed only if several audits report
equal text. Only the severity depends on the level: from 95 % on, the finding is an error.
"""

from __future__ import annotations

from agent.findings.base import AuditFacts, Findings, Rule
from agent.findings.base_remedies import by_hand, inspect, line
from agent.model.finding import Finding, Severity
from agent.model.host.storage import ThinPool
from agent.model.snapshot import LVM

WARNING_PERCENT = 80
ERROR_PERCENT = 95


def _find(audit: AuditFacts) -> Findings:
    for pool in audit.snapshot.stored.thin_pools:
        for part, percent in (("data", pool.data_percent), ("metadata", pool.metadata_percent)):
            if percent is not None and percent >= WARNING_PERCENT:
                yield _finding(audit, pool, part, Severity.ERROR if percent >= ERROR_PERCENT else RULE.severity)


def _finding(audit: AuditFacts, pool: ThinPool, part: str, severity: Severity) -> Finding:
    size_bytes = pool.size_bytes if part == "data" else pool.metadata_bytes
    return RULE.finding(
        audit,
        severity=severity,
        headline=f"{pool.path}: the {part} of this thin pool on {audit.host} is at least {WARNING_PERCENT} % full",
        resource_class="DISK_GB" if pool.group == audit.settings.disk_group else None,
        subject=f"{pool.path} {part}",
        expected=f"the {part} of thin pool {pool.path} is less than {WARNING_PERCENT} % full",
        actual=f"at least {WARNING_PERCENT} % of the pool's {size_bytes} bytes for {part} are used"
        f" (the finding is an error from {ERROR_PERCENT} % on; lvs shows how full the pool is now)",
        facts=(
            ("thin_pool", pool.path),
            ("part", part),
            ("at_least_percent", WARNING_PERCENT),
            ("size_bytes", size_bytes),
        ),
        remedies=(
            inspect("see how full the pool is", line("lvs", "-o", "+data_percent,metadata_percent", pool.path)),
            by_hand(
                "extend the pool's data (lvextend --size)"
                if part == "data"
                else "extend the pool's metadata (lvextend --poolmetadatasize)"
            ),
            by_hand("make room in the pool: trim the guests' disks, remove snapshots that are not needed"),
        ),
    )


RULE = Rule(code="thin-pool-filling", severity=Severity.WARNING, find=_find, rests_on=frozenset({LVM}))
