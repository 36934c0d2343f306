"""thin-pool-overcommitted: a pool's thin volumes exceed the pool's size plus the free space of its volume group.

lvm2 too warns about this condition, but only when a thin volume is created. A full pool stops the writes of every guest
with a volume in the pool, including guests that use less than their volume's size.
"""

from __future__ import annotations

from collections import defaultdict

from agent.findings.base import AuditFacts, Findings, Rule
from agent.findings.base_headlines import size_text
from agent.findings.base_remedies import by_hand, inspect, line
from agent.model.finding import Finding, Severity
from agent.model.host.storage import ThinPool
from agent.model.snapshot import LVM
from agent.text.amounts import number_text


def _find(audit: AuditFacts) -> Findings:
    promised: dict[str, int] = defaultdict(int)
    for volume in audit.snapshot.stored.volumes:
        if volume.segment_type == "thin" and volume.pool is not None:
            promised[f"{volume.group}/{volume.pool}"] += volume.size_bytes
    for pool in audit.snapshot.stored.thin_pools:
        group = audit.snapshot.group(pool.group)
        free_bytes = group.free_bytes if group else 0
        if promised[pool.path] > pool.size_bytes + free_bytes:
            yield _finding(audit, pool, promised[pool.path], free_bytes)


def _finding(audit: AuditFacts, pool: ThinPool, promised: int, free_bytes: int) -> Finding:
    factor = round(promised / pool.size_bytes, 2) if pool.size_bytes else None
    times = f", {number_text(factor)} times the pool size" if factor else ""
    return RULE.finding(
        audit,
        headline=f"{pool.path}: the thin volumes together can grow to {size_text(promised)}, but the pool on "
        f"{audit.host} has only {size_text(pool.size_bytes)}",
        resource_class="DISK_GB" if pool.group == audit.settings.disk_group else None,
        subject=pool.path,
        expected=f"the thin volumes of pool {pool.path} fit into its {pool.size_bytes} bytes "
        f"and the {free_bytes} bytes that are free in volume group {pool.group}",
        actual=f"the virtual sizes of the pool's thin volumes add up to {promised} bytes{times}",
        facts=(
            ("thin_pool", pool.path),
            ("promised_bytes", promised),
            ("size_bytes", pool.size_bytes),
            ("group_free_bytes", free_bytes),
            ("factor", factor),
        ),
        remedies=(
            inspect("see the pool's volumes", line("lvs", "-a", pool.group)),
            by_hand(
                "add a disk to the volume group (vgextend), or remove thin volumes and snapshots that are not needed"
            ),
            by_hand("let dmeventd extend the pool in time (lvm.conf, thin_pool_autoextend_threshold)"),
        ),
    )


RULE = Rule(code="thin-pool-overcommitted", severity=Severity.WARNING, find=_find, rests_on=frozenset({LVM}))
