"""thin-pool-filling: the data or the metadata of a thin pool is nearly full.

A full pool stops the writes of every guest in it; full metadata may cost the pool.
Told in steps of 5 %, so that a pool in use is not news in every audit.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

from agent.findings.base import Rule, World
from agent.model.finding import Finding, Severity
from agent.model.storage import ThinPool

WARNING_PERCENT = 80
ERROR_PERCENT = 95
_STEP = 5


def _find(world: World) -> Iterable[Finding]:
    for pool in world.snapshot.thin_pools:
        for part, percent in (("data", pool.data_percent), ("metadata", pool.metadata_percent)):
            if percent is not None and percent >= WARNING_PERCENT:
                yield _finding(world, pool, part, int(percent) // _STEP * _STEP)


def _finding(world: World, pool: ThinPool, part: str, percent: int) -> Finding:
    size_bytes = pool.size_bytes if part == "data" else pool.metadata_bytes
    found = RULE.finding(
        world,
        resource_class="DISK_GB" if pool.group == world.settings.disk_group else None,
        subject=f"{pool.path} {part}",
        expected=f"the {part} of thin pool {pool.path} is less than {WARNING_PERCENT} % full",
        actual=f"at least {percent} % of its {size_bytes} bytes are used",
        facts=(("thin_pool", pool.path), ("part", part), ("at_least_percent", percent), ("size_bytes", size_bytes)),
    )
    return dataclasses.replace(found, severity=Severity.ERROR) if percent >= ERROR_PERCENT else found


RULE = Rule(
    code="thin-pool-filling",
    severity=Severity.WARNING,
    remedy="extend it (lvextend, for metadata with --poolmetadatasize) or free room in it: trim the guests' disks, "
    "remove snapshots that nobody needs",
    find=_find,
)
