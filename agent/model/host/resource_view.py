"""The host as a compute node record describes it, the result of get_available_resource in nova-compute's driver.

Memory is in MiB, disk sizes are in bytes. A figure that could not be read is None, and ``unknown`` names it.
"""

from __future__ import annotations

from dataclasses import dataclass

from agent.model.host.capabilities import HostCpu
from agent.model.host.devices import PciPool


@dataclass(frozen=True, slots=True, kw_only=True)
class CellPages:
    """The pages of one size in one NUMA cell.

    ``reserved`` is the number of pages that guests cannot have, because of the option ``reserved_huge_pages``.
    """

    size_kib: int
    total: int
    reserved: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewCell:
    """One NUMA cell with the resources that guests may use.

    ``cpuset`` are host CPUs for floating guest CPUs, ``pcpuset`` host CPUs for pinned guest CPUs. ``siblings`` are the
    sets of CPUs that share a core. ``physnets`` are the physical networks that the options of [neutron_physnet_NAME]
    assign to the cell. ``is_tunneled``: an option assigns the tunnel networks to the cell. ``socket`` is None if the
    cell's CPUs are in several sockets or no socket is known.
    """

    id: int
    socket: int | None
    cpuset: tuple[int, ...]
    pcpuset: tuple[int, ...]
    memory_mib: int
    siblings: tuple[tuple[int, ...], ...]
    pages: tuple[CellPages, ...]
    physnets: tuple[str, ...] = ()
    is_tunneled: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceView:
    """The driver's figures for a compute node record, field by field.

    ``cells`` is None if the host has no NUMA topology in nova's sense. ``disk_available_least_gib`` may be negative.
    ``pci_devices`` is the number of PCI functions that libvirt lists. ``pci_pools`` has the free PCI devices. A device
    is free if no libvirt domain uses the device, and nova assigns the device to no guest in the rows that were read.
    ``supported_instances`` has (architecture, hypervisor, mode) in nova's spelling. ``unknown`` names the figures that
    could not be read.
    """

    hypervisor_type: str
    hypervisor_version: int | None
    hypervisor_hostname: str
    host_ip: str | None
    vcpus: int | None
    vcpus_used: int
    memory_mib: int
    memory_used_mib: int | None
    disk_total_bytes: int | None
    disk_used_bytes: int | None
    disk_available_least_gib: int | None
    cpu: HostCpu | None
    cells: tuple[ViewCell, ...] | None
    pci_devices: int | None
    pci_pools: tuple[PciPool, ...] | None
    supported_instances: tuple[tuple[str, str, str], ...]
    uptime_s: float | None
    load: tuple[float, float, float] | None
    unknown: tuple[str, ...] = ()
