"""Compute the figures of nova-compute's three log lines: what the host has, and what nova's instances use of it."""

from __future__ import annotations

from agent.model.host.resource_view import ResourceView
from agent.model.report import HostSummary
from agent.model.units import bytes_to_gib_floor
from agent.model.usage import Usage


def summary(view: ResourceView, used: Usage | None) -> HostSummary:
    """Return the host's CPUs, memory, disk and PCI devices. If ``used`` is None, the used amounts are unknown."""
    # As in nova, dedicated CPUs count only on one side: the total leaves them out, and the used CPUs include them. If
    # the total is 0, the number of used CPUs is 0 too.
    total_vcpus = view.vcpus or 0
    return HostSummary(
        node=view.hypervisor_hostname,
        free_ram_mib=None if view.memory_used_mib is None else view.memory_mib - view.memory_used_mib,
        free_disk_gib=_free_disk_gib(view),
        free_vcpus=total_vcpus - view.vcpus_used if total_vcpus else None,
        total_vcpus=total_vcpus,
        used_vcpus=None if used is None else used.vcpus_used if total_vcpus else 0,
        phys_ram_mib=view.memory_mib,
        used_ram_mib=used.memory_mib_used if used else None,
        phys_disk_gib=None if view.disk_total_bytes is None else bytes_to_gib_floor(view.disk_total_bytes),
        used_disk_gib=used.local_gib_used if used else None,
        pci_devices=view.pci_devices,
        pci_stats=tuple(f"{p.vendor_id}:{p.product_id} x{p.count} on {p.address}" for p in view.pci_pools or ()),
    )


def _free_disk_gib(view: ResourceView) -> int | None:
    """Return the free GiB as in nova's log line: the total minus the used GiB.

    The blocks that the file system reserves for root are not used, so they count as free.
    """
    if view.disk_total_bytes is None or view.disk_used_bytes is None:
        return None
    return bytes_to_gib_floor(view.disk_total_bytes - view.disk_used_bytes)
