"""source-unavailable: something could not be read; what depends on it keeps its last published value."""

from __future__ import annotations

from collections.abc import Iterable

from agent.findings.base import Rule, World
from agent.model.finding import Finding, Severity
from agent.model.host import OddDomain
from agent.model.snapshot import IMAGE_CACHE, IMAGES

_FROZEN = {
    "placement": "nothing is written",
    "state": "nothing is concluded about guests; reserved is not lowered",
    "libvirt": "VCPU, PCPU and MEMORY_MB stay as they are",
    "lvm": "DISK_GB of a volume group stays as it is",
    "filesystem": "DISK_GB of a file system stays as it is",
    "images": "the image cache's reserve is not lowered; guests' files are not told",
    "ceph": "DISK_GB of a Ceph pool stays as it is",
}
_PART = "the image cache's reserve is not lowered; what lies there is not told"


def _find(world: World) -> Iterable[Finding]:
    for reading in world.snapshot.readings:
        if reading.error is not None:
            yield _finding(world, reading.source, str(reading.error), _FROZEN.get(reading.source, "frozen"))
    for path, why in _unread_parts(world):
        yield _finding(world, path, f"{IMAGES}: {path}: {why}", _PART)
    host = world.snapshot.host.value
    for odd in host.odd_domains if host else ():
        yield _odd(world, odd)
    for row in world.state.unreadable if world.state else ():
        yield _finding(world, row, row, "this consumer is unknown: nothing is concluded about it")


def _unread_parts(world: World) -> Iterable[tuple[str, str]]:
    """What a source could not read although it answered, and a cache to reserve for that is nowhere."""
    snapshot, settings = world.snapshot, world.settings
    parts = [part for reading in snapshot.storage if reading.value for part in reading.value.unread]
    if settings.reserve_image_cache and snapshot.fresh(IMAGES) and not snapshot.fresh(IMAGE_CACHE) and not parts:
        return [(settings.instances_path, "there is no such folder")]
    return parts


def _odd(world: World, odd: OddDomain) -> Finding:
    finding = f"domain {odd.uuid} ({odd.name}): {odd.reason}"
    return _finding(world, f"domain {odd.uuid}", finding, "what it uses is unknown; reserved is not lowered")


def _finding(world: World, subject: str, error: str, consequence: str) -> Finding:
    return RULE.finding(
        world,
        subject=subject,
        expected="an answer that can be read",
        actual=f"{error}; {consequence}",
    )


RULE = Rule(
    code="source-unavailable",
    severity=Severity.WARNING,
    remedy="look at the named source; the agent tries again at the next audit and says when it is back",
    find=_find,
)
