"""Parse NUMA cells and the cell, socket and core of each CPU from ``virConnectGetCapabilities``.

An offline CPU has no socket, core or siblings in the document. A cell without memory has no ``<memory>`` element.
libvirt in a container, and libvirt's test driver with an XML file, report no cells. The parser accepts such documents,
because none of this is an error. Pure: no I/O.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from agent.model.host.cpuset import parse_cpu_list
from agent.model.host.facts import Cell, Cpu, PagePool
from agent.model.units import KIB, MIB
from agent.sources.libvirt.xml_values import number, odd, optional_number, scaled_bytes, size_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class CpuPlace:
    """Cell, socket and core of one logical CPU; ``core`` and ``socket`` are None for an offline CPU."""

    id: int
    cell: int
    core: int | None
    socket: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class HostTopology:
    """NUMA cells and CPUs, each sorted by id; both are empty if the driver reports no cells."""

    cells: tuple[Cell, ...] = ()
    places: tuple[CpuPlace, ...] = ()


def topology_of(capabilities: ET.Element) -> HostTopology:
    """Parse cells and CPUs from the root of the capabilities document. Raises SourceInconsistent."""
    cells: list[Cell] = []
    places: list[CpuPlace] = []
    for element in capabilities.iterfind("./host/topology/cells/cell"):
        cell_id = number(element.get("id"), "capabilities: cell id")
        where = f"capabilities: cell {cell_id}"
        its_places = tuple(_cpu_place(cpu, cell_id, where) for cpu in element.iterfind("./cpus/cpu"))
        places += its_places
        cells.append(_cell(element, cell_id, its_places, where))
    _refuse_repeated([cell.id for cell in cells], "capabilities: cell")
    _refuse_repeated([place.id for place in places], "capabilities: cpu")
    return HostTopology(
        cells=tuple(sorted(cells, key=lambda cell: cell.id)), places=tuple(sorted(places, key=lambda place: place.id))
    )


def cpus_of(online: Iterable[bool], topology: HostTopology) -> tuple[Cpu, ...]:
    """Return all CPUs by id, each with its core, socket and NUMA cell; ``online`` has one Boolean for each id."""
    places = {place.id: place for place in topology.places}
    return tuple(_cpu(cpu_id, is_online, places.get(cpu_id)) for cpu_id, is_online in enumerate(online))


def _cpu(cpu_id: int, is_online: bool, place: CpuPlace | None) -> Cpu:  # noqa: FBT001
    if place is None:
        return Cpu(id=cpu_id, online=is_online)
    # Ignore the core and socket of an offline CPU: some versions of libvirt wrongly report socket 0.
    core, socket = (place.core, place.socket) if is_online else (None, None)
    return Cpu(id=cpu_id, online=is_online, core=core, socket=socket, cell=place.cell)


def _cell(element: ET.Element, cell_id: int, places: tuple[CpuPlace, ...], where: str) -> Cell:
    memory = element.find("memory")
    return Cell(
        id=cell_id,
        memory_mib=0 if memory is None else size_bytes(memory, where) // MIB,
        cpu_ids=tuple(sorted(place.id for place in places)),
        page_pools=tuple(sorted(_each_pool(element, f"{where}: <pages>"), key=lambda pool: pool.size_kib)),
        siblings=tuple(sorted(set(_each_sibling_set(element, where)))),
    )


def _each_pool(cell: ET.Element, where: str) -> Iterator[PagePool]:
    for pages in cell.iterfind("pages"):
        page_bytes = scaled_bytes(number(pages.get("size"), where), pages.get("unit"), where)
        yield PagePool(size_kib=page_bytes // KIB, total=number(pages.text, where))


def _each_sibling_set(cell: ET.Element, where: str) -> Iterator[tuple[int, ...]]:
    """Yield, for each CPU of the cell, the CPUs that share its core: CPUs of one core yield the same set."""
    for cpu in cell.iterfind("./cpus/cpu"):
        text = cpu.get("siblings")
        if text is None:
            continue
        try:
            yield parse_cpu_list(text)
        except ValueError as error:
            raise odd(f"{where}: siblings of cpu {cpu.get('id')}", str(error)) from error


def _cpu_place(cpu: ET.Element, cell_id: int, where: str) -> CpuPlace:
    cpu_id = number(cpu.get("id"), f"{where}: cpu id")
    place = f"{where}: cpu {cpu_id}"
    return CpuPlace(
        id=cpu_id,
        cell=cell_id,
        core=_place_number(cpu.get("core_id"), place),
        socket=_place_number(cpu.get("socket_id"), place),
    )


def _place_number(text: str | None, where: str) -> int | None:
    # The kernel reports -1 if the firmware does not name the core or socket, as on some arm and riscv machines.
    return None if text == "-1" else optional_number(text, where)


def _refuse_repeated(ids: list[int], where: str) -> None:
    if len(set(ids)) != len(ids):
        raise odd(where, f"an id occurs twice in {sorted(ids)}")
