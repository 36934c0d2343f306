"""Decide whether this host has the NUMA cells, huge pages and pinnable CPUs that a guest needs.

Placement does not know these facts. The rules are nova's (nova/virt/hardware.py, numa_fit_instance_to_host):

- Each guest cell has an equal share of the guest and needs a host cell of its own.
- A guest cell must not exceed the host cell's total, even if the allocation ratio is above 1. It must also not exceed
  the host cell's free capacity (total times ratio, minus usage).
- No allocation ratio applies to pinned CPUs or to the memory of a guest with pinned CPUs.
- A guest that requests no page size gets only the smallest pages. Memory in huge pages is not available to it.

These rules do not refuse a guest that requests no NUMA cells and no page size: the result is then only a note.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from agent.model.host.resource_view import ViewCell
from agent.model.placement import Provider
from agent.model.report import AuditReport
from agent.model.resource_request import ResourceRequest
from agent.model.usage import CellUsage
from agent.why.model import Constraint, Obstacle
from agent.why.report import CellRoom

LARGE = "large"
_DISABLED = "COMPUTE_STATUS_DISABLED"


@dataclass(frozen=True, slots=True, kw_only=True)
class GuestShape:
    """The guest's demands on the host: floating and pinned CPUs, memory, NUMA cells and page size.

    ``cells`` is None if the guest requests no cells. ``page`` is the page size in KiB, LARGE for any size but the
    smallest, None if the guest requests no page size.
    """

    cpus: int
    pinned: int
    memory_mib: int
    cells: int | None = None
    page: int | str | None = None

    @property
    def is_asked(self) -> bool:
        """Whether the guest requests cells or a page size. Only then can missing cells or pages refuse the guest."""
        return self.cells is not None or self.page is not None


def guest_shape(request: ResourceRequest, cells: int | None, page: int | str | None) -> GuestShape:
    """Return what the guest needs: NUMA cells, page size, and CPUs and memory as sums over all request groups."""
    asked = [(name, amount) for group in request.groups for name, amount in group.resources]
    cpus, pinned, memory = (
        sum(amount for name, amount in asked if name == wanted) for wanted in ("VCPU", "PCPU", "MEMORY_MB")
    )
    return GuestShape(cpus=cpus, pinned=pinned, memory_mib=memory, cells=cells, page=page)


def rooms_of(report: AuditReport, root: Provider | None) -> tuple[CellRoom, ...] | None:
    """Return the free resources of each NUMA cell.

    The cells and their usage come from the audit's report. The allocation ratios come from the provider ``root``.
    Return None if the cells, their usage or the provider is not known; () if nova has no NUMA topology for this host.
    """
    seen = report.resource_view
    if seen is None or (seen.cells is None and any("numa_topology" in line for line in seen.unknown)):
        return None
    if seen.cells is None:
        return ()
    if report.cell_usages is None or root is None:
        return None
    vcpu, memory = root.inventory("VCPU"), root.inventory("MEMORY_MB")
    return cell_rooms(
        seen.cells,
        report.cell_usages,
        vcpu.allocation_ratio if vcpu else 1.0,
        memory.allocation_ratio if memory else 1.0,
    )


def cell_rooms(
    cells: Iterable[ViewCell], usages: Iterable[CellUsage], cpu_ratio: float, memory_ratio: float
) -> tuple[CellRoom, ...]:
    """Return the free resources of each NUMA cell. The ratios are the allocation ratios of VCPU and MEMORY_MB."""
    used = {usage.id: usage for usage in usages}
    return tuple(_room(cell, used[cell.id], cpu_ratio, memory_ratio) for cell in cells if cell.id in used)


def _room(cell: ViewCell, used: CellUsage, cpu_ratio: float, memory_ratio: float) -> CellRoom:
    pages_used = dict(used.pages)
    cpus_free = math.floor(len(cell.cpuset) * cpu_ratio) - used.cpus
    memory_free = math.floor(cell.memory_mib * memory_ratio) - used.memory_mib
    pages = sorted((p.size_kib, p.total, p.total - p.reserved - pages_used.get(p.size_kib, 0)) for p in cell.pages)
    smallest = pages[0] if pages else None
    return CellRoom(
        id=cell.id,
        cpus=min(len(cell.cpuset), cpus_free),
        cpus_free=cpus_free,
        pinnable=len(frozenset(cell.pcpuset) - frozenset(used.pinned)),
        memory_mib=min(smallest[0] * smallest[1] // 1024 if smallest else cell.memory_mib, memory_free),
        memory_free_mib=memory_free,
        memory_pinned_mib=smallest[0] * smallest[2] // 1024 if smallest else cell.memory_mib - used.memory_mib,
        pages=tuple((size, free) for size, _, free in pages),
    )


def host_obstacles(shape: GuestShape, rooms: Sequence[CellRoom]) -> tuple[Obstacle, ...]:
    """Return why the guest does not fit into this host's NUMA cells; () if it fits.

    The result is also () if the guest requests neither NUMA cells nor a page size: these rules do not concern it.
    """
    if not shape.is_asked:
        return ()
    count = shape.cells or 1
    if not rooms:
        return (_no_topology(shape),)
    if uneven := [f"{n} {what}" for n, what in _amounts(shape) if n % count]:
        return (_uneven(count, uneven),)
    found = [*_short_of_room(shape, rooms, count), *_short_of_pages(shape, rooms, count)]
    if not found and sum(_takes(shape, room, count) for room in rooms) < count:
        found = [_nowhere_together(count)]
    return tuple(found)


def host_notes(shape: GuestShape, rooms: Sequence[CellRoom]) -> tuple[str, ...]:
    """Return notes on the host's NUMA cells; () if there are no cells, or if the guest needs no CPU and no memory."""
    if not rooms or not any(amount for amount, _ in _amounts(shape)):
        return ()
    one = dataclasses.replace(shape, cells=1, page=None)
    largest = max(rooms, key=lambda room: (room.pinnable if shape.pinned else room.cpus, _memory_room(one, room)))
    cpus = _counted(largest.pinnable, "CPUs for pinning") if shape.pinned else _counted(largest.cpus, "CPUs")
    fits = any(_takes(one, room, 1) for room in rooms)
    memory_mib = _memory_room(one, largest)
    head = (
        f"NUMA cell {largest.id} has the most room, {cpus} and {memory_mib} MiB; "
        f"with hw:numa_nodes=1, the requested CPUs and memory would{'' if fits else ' not'} fit"
    )
    return (head, *(_cell_line(room) for room in rooms))


def service_notes(root_traits: frozenset[str], request: ResourceRequest) -> tuple[str, ...]:
    """Return a sentence if this host's compute service is disabled, because nova-scheduler then excludes the host.

    nova-scheduler adds the forbidden trait COMPUTE_STATUS_DISABLED to each request. An operator's request usually lacks
    this trait, so only this sentence shows why nova excludes the host. Return () if the request names the trait.
    """
    if _DISABLED not in root_traits or _DISABLED in request.traits:
        return ()
    return (
        f"this host's compute service is disabled, so nova-scheduler excludes the host (trait {_DISABLED}); "
        "to enable the service, run openstack compute service set --enable",
    )


def _amounts(shape: GuestShape) -> tuple[tuple[int, str], ...]:
    return ((shape.cpus, "VCPU"), (shape.pinned, "PCPU"), (shape.memory_mib, "MiB"))


def _takes(shape: GuestShape, room: CellRoom, count: int) -> bool:
    most = _memory_room(shape, room)
    has_memory = most is None or shape.memory_mib // count <= most
    # ``room.cpus`` (floating CPUs) is negative if the usage exceeds the capacity. max() makes it 0: a guest with only
    # pinned CPUs needs 0 floating CPUs, so it may still fit.
    has_cpus = shape.cpus // count <= max(room.cpus, 0) and shape.pinned // count <= room.pinnable
    return has_memory and has_cpus and _takes_pages(shape, room, count)


def _memory_room(shape: GuestShape, room: CellRoom) -> int | None:
    """Return the maximum MiB of a guest's NUMA cell that this NUMA cell of the host can hold.

    Return None if the guest requests a page size and has only pinned CPUs. Only the number of free pages then limits
    the memory (see ``_takes_pages``).
    """
    limits = []
    if shape.page is None:
        limits.append(room.memory_pinned_mib if shape.pinned else room.memory_mib)
    if shape.cpus or not shape.pinned:
        limits.append(room.memory_free_mib)
    return min(limits, default=None)


def _takes_pages(shape: GuestShape, room: CellRoom, count: int) -> bool:
    if shape.page is None:
        return True
    # nova rejects a memory size that is not a multiple of the page size (MemoryPageSizeNotSupported).
    kib = shape.memory_mib // count * 1024
    return any(kib % size == 0 and kib // size <= free for size, free in _pages_of(shape.page, room))


def _pages_of(page: int | str, room: CellRoom) -> tuple[tuple[int, int], ...]:
    return room.pages[1:] if page == LARGE else tuple(pool for pool in room.pages if pool[0] == page)


def _short_of_room(shape: GuestShape, rooms: Sequence[CellRoom], count: int) -> Iterable[Obstacle]:
    checks: tuple[tuple[int, str, str, list[int | None]], ...] = (
        (shape.cpus // count, "VCPU", "CPUs", [room.cpus for room in rooms]),
        (shape.pinned // count, "PCPU", "CPUs for pinning", [room.pinnable for room in rooms]),
        (shape.memory_mib // count, "MEMORY_MB", "MiB", [_memory_room(shape, room) for room in rooms]),
    )
    for wanted, resource_class, units, has in checks:
        found = sorted((most for most in has if most is not None), reverse=True)
        if not wanted or (not found and has):
            continue
        available = found[count - 1] if len(found) >= count else None
        if available is None or wanted > available:
            yield _short(resource_class, _counted(wanted, units), wanted, available, count)


def _short(resource_class: str, asked: str, wanted: int, available: int | None, count: int) -> Obstacle:
    if available is None:
        words = f"the request needs {_counted(count, 'NUMA cells')}, and this host has fewer"
        change = "ask for fewer NUMA cells (hw:numa_nodes)"
    else:
        who = f"each of the guest's {count} NUMA cells" if count > 1 else "the guest's NUMA cell"
        own = "a separate host cell with " if count > 1 else ""
        words = f"{who} needs {own}{asked}, and {_roomiest(count, 'the most room')} has only {available} left"
        change = (
            f"ask for at most {max(available, 0) * count} {resource_class}, or for more and smaller NUMA cells "
            "(hw:numa_nodes)"
        )
    return Obstacle(
        constraint=Constraint.NUMA_CELL,
        words=words,
        change=change,
        resource_class=resource_class,
        wanted=wanted,
        available=available,
    )


def _short_of_pages(shape: GuestShape, rooms: Sequence[CellRoom], count: int) -> Iterable[Obstacle]:
    if shape.page is None or sum(_takes_pages(shape, room, count) for room in rooms) >= count:
        return
    memory_mib = shape.memory_mib // count
    sizes = sorted({size for room in rooms for size, _ in _pages_of(shape.page, room)})
    if not sizes:
        there = sorted({size for room in rooms for size, _ in room.pages})
        known = f"pages of {', '.join(map(str, there))} KiB" if there else "no page sizes at all"
        words = f"no NUMA cell of this host has {_page_text(shape.page)}; the host reports {known}"
        yield Obstacle(constraint=Constraint.HUGE_PAGES, words=words, change=f"set up {_page_text(shape.page)} at boot")
        return
    size = next((size for size in sizes if memory_mib * 1024 % size == 0), None)
    if size is None:
        known = " or ".join(map(str, sizes))
        words = f"the {memory_mib} MiB of each guest cell cannot be divided into whole pages of {known} KiB"
        yield Obstacle(constraint=Constraint.HUGE_PAGES, words=words, change=f"ask for a multiple of {sizes[0]} KiB")
        return
    wanted = memory_mib * 1024 // size
    free = sorted((dict(room.pages).get(size, 0) for room in rooms), reverse=True)
    available = free[count - 1] if len(free) >= count else 0
    own = "a separate host cell with " if count > 1 else ""
    best = _roomiest(count, "the most free pages of this size")
    yield Obstacle(
        constraint=Constraint.HUGE_PAGES,
        words=f"each guest cell needs {own}{_counted(wanted, 'free pages')} of {size} KiB for its {memory_mib} MiB, "
        f"and {best} has only {available}",
        change=f"release {_counted(wanted - available, 'pages')} of {size} KiB in one host cell, or ask for at most "
        f"{max(available, 0) * size // 1024} MiB per guest cell",
        resource_class="MEMORY_MB",
        wanted=wanted,
        available=available,
    )


def _no_topology(shape: GuestShape) -> Obstacle:
    # If the guest requests only a page size, name the missing pages and not the missing NUMA cells.
    if shape.cells is None and shape.page is not None:
        return Obstacle(
            constraint=Constraint.HUGE_PAGES,
            words=f"the request needs {_page_text(shape.page)}, and this host reports no NUMA topology",
            change="ask for no page size (hw:mem_page_size)",
        )
    count = shape.cells or 1
    return Obstacle(
        constraint=Constraint.NUMA_CELL,
        words=f"the request needs {_counted(count, 'NUMA cells')}, and this host reports no NUMA topology",
        change="ask for no NUMA cells and no page size",
        wanted=count,
        available=0,
    )


def _uneven(count: int, amounts: Sequence[str]) -> Obstacle:
    return Obstacle(
        constraint=Constraint.NUMA_CELL,
        words=f"{' and '.join(amounts)} cannot be cut into {count} equal NUMA cells",
        change=f"ask for multiples of {count}, or set each cell's share in the flavor (hw:numa_cpus.N, hw:numa_mem.N)",
        wanted=count,
    )


def _nowhere_together(count: int) -> Obstacle:
    return Obstacle(
        constraint=Constraint.NUMA_CELL,
        words=f"fewer than {count} NUMA cells have both enough CPUs and enough memory; other cells have only one "
        "of the two",
        change="ask for a smaller guest, or for more and smaller NUMA cells (hw:numa_nodes)",
        wanted=count,
    )


def _page_text(page: int | str) -> str:
    return "huge pages" if page == LARGE else f"pages of {page} KiB"


def _counted(number: int, units: str) -> str:
    """Return the number with its noun, ``8 CPUs for pinning`` or ``1 CPU for pinning``; ``units`` is the plural."""
    return f"{number} {units.replace('s', '', 1) if number == 1 else units}"


def _roomiest(count: int, most: str) -> str:
    """Return ``the host cell with the most room``, or ``one of the 2 host cells with the most room``."""
    return f"the host cell with {most}" if count == 1 else f"one of the {count} host cells with {most}"


def _cell_line(room: CellRoom) -> str:
    pages = ", ".join(f"{free} x {size} KiB" for size, free in room.pages)
    return (
        f"NUMA cell {room.id}: {_counted(room.cpus_free, 'CPUs')} free (total x ratio - used), "
        f"{_counted(room.pinnable, 'CPUs')} free for pinning, {room.memory_free_mib} MiB free (total x ratio - used)"
        + (f"; pages free: {pages}" if pages else "")
    )
