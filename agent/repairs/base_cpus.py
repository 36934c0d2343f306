"""For repairs that allocate VCPU or PCPU: decide whether it is certain which class the instance needs. Pure: no I/O.

The agent derives the class from the flavor and from its own ``cpu_dedicated_set``. This may be wrong for two reasons:

- The scheduler also reads the image's property hw_cpu_policy (nova/scheduler/utils.py:ResourceRequest).
- If nova-compute runs on the host, nova-compute's configuration decides what the host offers.

If a repair allocated the wrong class, Placement could offer the guest's dedicated CPUs to a second guest.
"""

from __future__ import annotations

from collections.abc import Iterable

from agent.model.compared import Row
from agent.model.nova import Instance
from agent.model.settings import Role
from agent.repairs.base import Scene

_CPUS = frozenset({"VCPU", "PCPU"})
_PINNED = frozenset({"dedicated", "mixed"})


def cpus_unclear(scene: Scene, instance: Instance, rows: Iterable[Row]) -> str | None:
    """Return why it is not certain whether the instance uses VCPU or PCPU.

    Return None if it is certain, or if nova has neither class for the instance.

    nova's flavor and nova's NUMA topology of the instance must agree. In role companion, the root provider must have
    PCPU if the agent's option cpu_dedicated_set is set, and must not have PCPU otherwise. ``guest_differs`` checks
    libvirt too.
    """
    promised = {row.resource_class for row in rows if row.promised}
    if not _CPUS & promised:
        return None
    if _is_pinned(instance) != ("PCPU" in promised):
        return (
            "nova's flavor and nova's NUMA topology of the instance disagree whether the guest has dedicated CPUs; the "
            "image property hw_cpu_policy may be the cause"
        )
    root = scene.snapshot.observed_root
    offers_dedicated = root is not None and root.inventory("PCPU") is not None
    if scene.settings.role is Role.COMPANION and offers_dedicated != bool(scene.settings.cpu_dedicated_set):
        return (
            "nova-compute and the agent disagree whether this host has dedicated CPUs; compare [compute] "
            "cpu_dedicated_set in the nova.conf that each of them reads"
        )
    return None


def guest_differs(rows: Iterable[Row]) -> str | None:
    """Return a reason if the guest in libvirt has another number of VCPU or PCPU than the flavor, else None."""
    wrong = sorted(row.resource_class for row in rows if row.resource_class in _CPUS and row.held != row.promised)
    return f"the guest in libvirt does not have the flavor's number of {', '.join(wrong)}" if wrong else None


def _is_pinned(instance: Instance) -> bool:
    return any(cell.pcpuset or cell.cpu_policy in _PINNED for cell in instance.numa or ())
