"""The host as a compute node record describes it: what nova-compute's driver calls the available resource.

Memory is MiB, disk bytes. What could not be read is None and named in ``unknown``.
"""

from __future__ import annotations

from dataclasses import dataclass

from agent.model.host.capabilities import HostCpu
from agent.model.host.devices import PciPool


@dataclass(frozen=True, slots=True, kw_only=True)
class CellPages:
    """Pages of one size in one cell, and how many of them ``reserved_huge_pages`` keeps from guests."""

    size_kib: int
    total: int
    reserved: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewCell:
    """One NUMA cell as guests may use it: CPUs for shared and for pinned use, memory, cores, pages, networks near it.

    ``socket`` is None where its CPUs are in several, or none is known.
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
    """hypervisor-audit 3, field by field.

    ``cells`` is None where the host has no NUMA topology in nova's sense.
    ``disk_available_least_gib`` may be negative. ``pci_devices`` is how many PCI functions
    libvirt lists, ``pci_pools`` are the ones to hand out that no
    guest has, by the cloud's rows as far as they were read, and by libvirt's definitions. ``supported_instances`` are
    (architecture, hypervisor, mode) in nova's spelling.
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
