"""HW_CPU_HYPERTHREADING: whether any core of the host has more than one logical CPU.

The agent does not read ``threads`` of libvirt's host CPU, because libvirt does not guarantee the value. A missing
sibling proves nothing: libvirt lists no siblings of a dedicated CPU that power management has switched off.
"""

from __future__ import annotations

from agent.model.host.facts import HostFacts
from agent.model.settings import Settings
from agent.model.snapshot import Snapshot
from agent.traits.base import Wish, wish_of


def wish(snapshot: Snapshot, settings: Settings) -> Wish:
    """Set the trait if two CPUs share a core, else clear the trait.

    Do not change the trait if the host's CPUs are unknown. Do not clear the trait while dedicated CPUs are switched
    off, because a switched-off CPU may share a core.
    """
    host = snapshot.host.value
    if host is None or host.capabilities is None or not host.cells:
        return Wish()
    shared = any(len(cpus) > 1 for cell in host.cells for cpus in cell.siblings)
    if not shared and _some_sleep(host, settings):
        return Wish()
    return wish_of({"HW_CPU_HYPERTHREADING": shared})


def _some_sleep(host: HostFacts, settings: Settings) -> bool:
    return settings.cpu_power_management and not set(settings.cpu_dedicated_set or ()) <= set(host.online_cpus)
