"""The usage figures of a compute node record: computed from the instances' flavors, not measured on the host."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class CellUsage:
    """The guests' usage of one NUMA cell.

    ``cpus`` is the number of floating guest CPUs. ``pinned`` are host CPUs, each of which belongs to one guest.
    ``pages`` are (size in KiB, number of used pages) for each page size of the cell.
    """

    id: int
    cpus: int
    memory_mib: int
    pinned: tuple[int, ...]
    pages: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """The values for the usage columns of a compute node record: counts, MiB and whole GiB.

    Free amounts may be negative. ``free_disk_gib`` is None if the store could not be measured. ``stats`` are pairs of
    name and text, sorted by name. ``unknown`` are the uuids of the instances on this host whose size cannot be read. If
    there is such an instance, the figures are too low. ``cells`` is None if the host has no known NUMA topology.
    """

    vcpus_used: int
    memory_mib_used: int
    local_gib_used: int
    free_ram_mib: int
    free_disk_gib: int | None
    running_vms: int
    current_workload: int
    stats: tuple[tuple[str, str | None], ...]
    unknown: tuple[str, ...] = ()
    cells: tuple[CellUsage, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PinConflict:
    """A host CPU with a wrong pinning: several instances are pinned to it, or guests must not be pinned to it at all.

    ``cpu`` is a CPU of cell ``cell``. ``instances`` are the sorted uuids of the instances pinned to the CPU. A single
    uuid means that guests must not be pinned to this CPU.
    """

    cell: int
    cpu: int
    instances: tuple[str, ...]
