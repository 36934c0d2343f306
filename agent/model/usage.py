"""What a compute node record says is used: figures by the books, not by what the hypervisor measures."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """The record's columns of use: counts, MiB and whole GiB (reconcile 4.1, 4.3).

    What is free may be negative; ``free_disk_gib`` is None where the store was not measured.
    ``stats`` (name, text) sorted by name. ``unknown`` are uuids of instances that are
    here and whose size cannot be read: where there is one, the figures are too low.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class CellUsage:
    """What guests use of one NUMA cell (reconcile 4.2): ``cpus`` float, ``pinned`` host CPUs belong to one guest each.

    ``pages`` are (size in KiB, how many are used) of every size that the cell has.
    """

    id: int
    cpus: int
    memory_mib: int
    pinned: tuple[int, ...]
    pages: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PinConflict:
    """A host CPU that cannot be pinned as it is: two instances have it, or nobody may.

    ``cpu`` of cell ``cell``; ``instances`` are the uuids, sorted: of one alone where the
    CPU is not among those to pin to.
    """

    cell: int
    cpu: int
    instances: tuple[str, ...]
