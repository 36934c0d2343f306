"""Decide which CPUs count as VCPU and which as PCPU, and whether the configured CPU sets contain an unusable CPU.

vcpu.py and pcpu.py use this module. A guest that is pinned to dedicated CPUs holds PCPU, every other guest holds VCPU.
"""

from __future__ import annotations

from dataclasses import dataclass

from agent.model.host.cpuset import render_cpu_list
from agent.model.host.facts import Domain, HostFacts
from agent.model.settings import Settings
from agent.model.snapshot import LIBVIRT, Snapshot
from agent.resources.base import Resource


class CpuResource(Resource):
    """The base class of the resources VCPU and PCPU: what both have in common."""

    def needs(self, settings: Settings) -> frozenset[str]:  # noqa: ARG002
        """Return the source ``libvirt``, which reports the host's CPUs and which of them are online."""
        return frozenset({LIBVIRT})

    def obstacle(self, snapshot: Snapshot, settings: Settings) -> str | None:
        """Return a sentence if a configured CPU set contains CPUs that are offline or do not exist, else None."""
        return obstacle(snapshot.host.value, settings) if snapshot.host.value else None


def shared_cpus(host: HostFacts, settings: Settings) -> frozenset[int]:
    """Return the CPUs offered as VCPU.

    If a shared set is configured, return its CPUs. If only a dedicated set is configured, return no CPUs. If no set is
    configured, return all online CPUs.
    """
    configured = settings.vcpu_pin_set or settings.cpu_shared_set
    if configured is not None:
        return frozenset(configured)
    return frozenset() if settings.cpu_dedicated_set else frozenset(host.online_cpus)


def dedicated_cpus(settings: Settings) -> frozenset[int]:
    """Return the CPUs offered as PCPU."""
    return frozenset(settings.cpu_dedicated_set or ())


@dataclass(frozen=True, slots=True, kw_only=True)
class MissingCpus:
    """CPUs that an option names but guests cannot use: offline CPUs, and CPUs that the host does not have."""

    option: str
    offline: tuple[int, ...]
    absent: tuple[int, ...]


def missing_cpus(host: HostFacts, settings: Settings) -> tuple[MissingCpus, ...]:
    """Return, for each option with a CPU set, the CPUs that are not online or do not exist (scenarios 77, 79).

    With power management, dedicated CPUs may be offline: nova switches unused CPUs off.
    """
    online = frozenset(host.online_cpus)
    present = frozenset(present_cpus(host))
    shared = settings.vcpu_pin_set or settings.cpu_shared_set
    option = "[DEFAULT] vcpu_pin_set" if settings.vcpu_pin_set else "[compute] cpu_shared_set"
    usable = present if settings.cpu_power_management else online
    missing = (
        (option, frozenset(shared or ()) - online),
        ("[compute] cpu_dedicated_set", dedicated_cpus(settings) - usable),
    )
    return tuple(
        MissingCpus(option=name, offline=tuple(sorted(ids & present)), absent=tuple(sorted(ids - present)))
        for name, ids in missing
        if ids
    )


def present_cpus(host: HostFacts) -> tuple[int, ...]:
    """Return the CPUs that the host has, online or not, ascending."""
    return tuple(sorted(cpu.id for cpu in host.cpus))


def obstacle(host: HostFacts, settings: Settings) -> str | None:
    """Return a sentence if a configured CPU set contains CPUs that guests cannot use, else None.

    VCPU and PCPU cannot be counted then.
    """
    found = missing_cpus(host, settings)
    return f"{found[0].option} names {what_is_missing(found[0], host)}" if found else None


def what_is_missing(missing: MissingCpus, host: HostFacts) -> str:
    """Return text that names these CPUs and says why guests cannot use them: "CPUs that are not online: 2"."""
    parts = []
    if missing.offline:
        parts.append(f"CPUs that are not online: {render_cpu_list(missing.offline)}")
    if missing.absent:
        has = render_cpu_list(present_cpus(host))
        parts.append(f"CPUs that are not on this host: {render_cpu_list(missing.absent)} (this host has CPUs {has})")
    return ", and ".join(parts)


def is_pinned(domain: Domain, settings: Settings) -> bool:
    """Return whether the guest runs on dedicated CPUs only."""
    dedicated = dedicated_cpus(settings)
    return bool(dedicated) and bool(domain.pinned_cpus) and frozenset(domain.pinned_cpus) <= dedicated
