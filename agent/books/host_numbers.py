"""Count guests and sum up thin pools, for the metrics. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict

from agent.model.host.facts import DomainState, HostFacts
from agent.model.nova import NovaState
from agent.model.report import ThinPoolUse
from agent.model.snapshot import Snapshot

_STATES = {
    DomainState.RUNNING: "running",
    DomainState.SHUTOFF: "shutoff",
    DomainState.PAUSED: "paused",
}


def guest_numbers(host: HostFacts | None, state: NovaState | None) -> tuple[tuple[str, str, int], ...] | None:
    """Return (kind, state, number of guests) for the guests that libvirt knows; None if libvirt was not read.

    A guest's kind is ``instance`` if nova's database has the guest's uuid, or if the guest's libvirt definition has
    nova's metadata. Otherwise the kind is ``foreign``.
    """
    if host is None:
        return None
    known = {instance.uuid for instance in state.instances} if state else set()
    numbers = Counter(
        (
            "instance" if domain.uuid in known or domain.managed_by_nova else "foreign",
            _STATES.get(domain.state, "other"),
        )
        for domain in host.domains
    )
    return tuple((kind, name, number) for (kind, name), number in sorted(numbers.items()))


def thin_pools(snapshot: Snapshot) -> tuple[ThinPoolUse, ...]:
    """Return each LVM thin pool's use as ratios (1.0 is full), sorted by the pool's path."""
    promised: dict[str, int] = defaultdict(int)
    for volume in snapshot.stored.volumes:
        if volume.segment_type == "thin" and volume.pool is not None:
            promised[f"{volume.group}/{volume.pool}"] += volume.size_bytes
    return tuple(
        ThinPoolUse(
            path=pool.path,
            data_ratio=_ratio(pool.data_percent),
            metadata_ratio=_ratio(pool.metadata_percent),
            overcommit_ratio=promised[pool.path] / pool.size_bytes if pool.size_bytes else None,
        )
        for pool in sorted(snapshot.stored.thin_pools, key=lambda pool: pool.path)
    )


def _ratio(percent: float | None) -> float | None:
    return None if percent is None else percent / 100
