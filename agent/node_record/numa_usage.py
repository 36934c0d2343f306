"""Count how much of each NUMA cell guests use, and find the CPUs to which guests are wrongly pinned.

Each NUMA cell of an instance has the same id as the host's cell that it uses. Pages are counted in the instance's page
size, or in the host cell's smallest size if the instance asks for none. An instance with thread policy ``isolate`` also
takes the siblings of its CPUs.

If two guests are pinned to one CPU, nova aborts its audit of the node, so the compute node record gets old. The agent
counts both guests, reports a finding, and still updates the record.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from agent.model.host.resource_view import ViewCell
from agent.model.nova import InstanceCell
from agent.model.occupancy import Occupancy
from agent.model.usage import CellUsage, PinConflict

_PINNING = frozenset({"dedicated", "mixed"})


def cell_usages(cells: Iterable[ViewCell], occupancies: Iterable[Occupancy]) -> tuple[CellUsage, ...]:
    """Return one usage per host cell, in the order of ``cells``.

    An instance without NUMA cells does not count. An instance's cell does not count if the host has no cell of that id.
    """
    by_cell = _by_cell(occupancies)
    return tuple(_usage(cell, [used for _, used in by_cell.get(cell.id, ())]) for cell in cells)


def pin_conflicts(cells: Iterable[ViewCell], occupancies: Iterable[Occupancy]) -> tuple[PinConflict, ...]:
    """Return the CPUs that several instances are pinned to, and pinned CPUs outside their cell's ``pcpuset``."""
    by_cell = _by_cell(occupancies)
    return tuple(conflict for cell in cells for conflict in _conflicts(cell, by_cell.get(cell.id, ())))


def _by_cell(occupancies: Iterable[Occupancy]) -> dict[int, list[tuple[str, InstanceCell]]]:
    """Map the id of each used host cell to the instances' cells on it, as pairs (instance's uuid, instance's cell)."""
    found: dict[int, list[tuple[str, InstanceCell]]] = defaultdict(list)
    for taken in occupancies:
        for cell in taken.numa or ():
            found[cell.id].append((taken.instance.uuid, cell))
    return found


def _usage(cell: ViewCell, used: Sequence[InstanceCell]) -> CellUsage:
    return CellUsage(
        id=cell.id,
        cpus=sum(len(one.cpuset) for one in used),
        memory_mib=sum(one.memory_mib for one in used),
        pinned=tuple(sorted(frozenset().union(*(_pinned(cell, one) for one in used)))),
        pages=_pages(cell, used),
    )


def _pages(cell: ViewCell, used: Sequence[InstanceCell]) -> tuple[tuple[int, int], ...]:
    sizes = [pages.size_kib for pages in cell.pages]
    counts = dict.fromkeys(sizes, 0)
    for one in used:
        size = one.page_kib or min(sizes, default=0)
        if size in counts:
            counts[size] += one.memory_mib * 1024 // size
    return tuple(counts.items())


def _pinned(cell: ViewCell, used: InstanceCell) -> frozenset[int]:
    """Return the host CPUs of the instance's vCPUs and emulator threads.

    With thread policy ``isolate``, the result also has the siblings of these host CPUs.
    """
    if used.cpu_policy not in _PINNING:
        return frozenset()
    own = frozenset(host_cpu for _, host_cpu in used.pinning) | frozenset(used.reserved_cpus)
    if used.thread_policy != "isolate":
        return own
    return own.union(*(core for core in cell.siblings if own.intersection(core)))


def _conflicts(cell: ViewCell, used: Iterable[tuple[str, InstanceCell]]) -> Iterable[PinConflict]:
    holders: dict[int, set[str]] = defaultdict(set)
    for uuid, one in used:
        for cpu in _pinned(cell, one):
            holders[cpu].add(uuid)
    for cpu, instances in sorted(holders.items()):
        if len(instances) > 1 or cpu not in cell.pcpuset:
            yield PinConflict(cell=cell.id, cpu=cpu, instances=tuple(sorted(instances)))
