"""Which CPUs count as VCPU and which as PCPU (hypervisor-audit 4.1), and what stands in the way.

vcpu.py and pcpu.py decide one class each from this. A guest that is pinned to
dedicated CPUs holds PCPU, every other one VCPU.
"""

from __future__ import annotations

from dataclasses import dataclass

from agent.model.cpuset import render_cpu_list
from agent.model.host import Domain, HostFacts
from agent.model.settings import Settings


def shared_cpus(host: HostFacts, settings: Settings) -> frozenset[int]:
    """CPUs offered as VCPU: the configured set; none where only dedicated ones are; else all online."""
    configured = settings.vcpu_pin_set or settings.cpu_shared_set
    if configured is not None:
        return frozenset(configured)
    return frozenset() if settings.cpu_dedicated_set else frozenset(host.online_cpus)


def dedicated_cpus(settings: Settings) -> frozenset[int]:
    """CPUs offered as PCPU."""
    return frozenset(settings.cpu_dedicated_set or ())


@dataclass(frozen=True, slots=True, kw_only=True)
class OfflineCpus:
    """CPUs that an option names and that guests cannot have now, ascending."""

    option: str
    cpu_ids: tuple[int, ...]


def offline_cpus(host: HostFacts, settings: Settings) -> tuple[OfflineCpus, ...]:
    """CPUs of the configured sets that are not there or not online, by option (scenarios 77, 79).

    With power management dedicated ones may be offline: nova switches unused ones off (hypervisor-audit 4.1).
    """
    online = frozenset(host.online_cpus)
    present = frozenset(cpu.id for cpu in host.cpus)
    shared = settings.vcpu_pin_set or settings.cpu_shared_set
    option = "[DEFAULT] vcpu_pin_set" if settings.vcpu_pin_set else "[compute] cpu_shared_set"
    usable = present if settings.cpu_power_management else online
    missing = (
        (option, frozenset(shared or ()) - online),
        ("[compute] cpu_dedicated_set", dedicated_cpus(settings) - usable),
    )
    return tuple(OfflineCpus(option=name, cpu_ids=tuple(sorted(ids))) for name, ids in missing if ids)


def obstacle(host: HostFacts, settings: Settings) -> str | None:
    """A CPU set that names CPUs which are not there: then neither class can be told."""
    found = offline_cpus(host, settings)
    return f"{found[0].option} names CPUs that are not online: {render_cpu_list(found[0].cpu_ids)}" if found else None


def is_pinned(domain: Domain, settings: Settings) -> bool:
    """Whether the guest runs on dedicated CPUs only."""
    dedicated = dedicated_cpus(settings)
    return bool(dedicated) and bool(domain.pinned_cpus) and frozenset(domain.pinned_cpus) <= dedicated
