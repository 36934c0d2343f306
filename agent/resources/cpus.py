"""Which CPUs count as VCPU and which as PCPU (hypervisor-audit 4.1), and what stands in the way.

vcpu.py and pcpu.py decide one class each from this. A guest that is pinned to
dedicated CPUs holds PCPU, every other one VCPU.
"""

from __future__ import annotations

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


def obstacle(host: HostFacts, settings: Settings) -> str | None:
    """A CPU set that names CPUs which are not there: then neither class can be told (scenarios 77, 79)."""
    online = frozenset(host.online_cpus)
    present = frozenset(cpu.id for cpu in host.cpus)
    shared = settings.vcpu_pin_set or settings.cpu_shared_set
    option = "vcpu_pin_set" if settings.vcpu_pin_set else "[compute] cpu_shared_set"
    if shared is not None and (missing := frozenset(shared) - online):
        return f"{option} names CPUs that are not online: {_listed(missing)}"
    usable = present if settings.cpu_power_management else online
    if missing := dedicated_cpus(settings) - usable:
        return f"[compute] cpu_dedicated_set names CPUs that are not online: {_listed(missing)}"
    return None


def is_pinned(domain: Domain, settings: Settings) -> bool:
    """Whether the guest runs on dedicated CPUs only."""
    dedicated = dedicated_cpus(settings)
    return bool(dedicated) and bool(domain.pinned_cpus) and frozenset(domain.pinned_cpus) <= dedicated


def _listed(cpus: frozenset[int]) -> str:
    return ", ".join(str(cpu) for cpu in sorted(cpus))
