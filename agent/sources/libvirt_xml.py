"""What libvirt's XML says about a domain and about the host's topology.

Every attribute is a string and any part may be missing: what cannot be
understood raises SourceInconsistent naming the item, and nothing else is
raised, whatever the text. A document with a DOCTYPE is refused before it is
parsed, because entities can only be declared there. Pure.
"""

from __future__ import annotations

import re
import uuid
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from dataclasses import dataclass

from agent.errors import SourceInconsistent
from agent.model.cpuset import parse_cpu_list
from agent.model.host import Cell, Disk, Domain, DomainState, NovaMetadataFlavor, PagePool
from agent.model.units import KIB, MIB

_SOURCE = "libvirt"
# nova has written 1.0 and 1.1; the elements that are read here are the same in both.
_NOVA_NAMESPACE = re.compile(r"\{http://openstack\.org/xmlns/libvirt/nova/[0-9.]+\}instance")
_WHOLE = re.compile(r"[0-9]{1,18}")
# virScaleInteger: case does not matter; nothing after the number means the element's default, KiB for memory.
_UNITS: dict[str, int] = {"b": 1, "bytes": 1}
for _power, _letter in enumerate("kmgtpe", start=1):
    _UNITS |= {_letter: 1 << 10 * _power, f"{_letter}ib": 1 << 10 * _power, f"{_letter}b": int(1000**_power)}
_SOURCE_ATTRIBUTES = ("file", "dev", "dir", "name", "path", "usage")


@dataclass(frozen=True, slots=True, kw_only=True)
class CpuPlace:
    """Where one logical CPU sits; ``core`` and ``socket`` are None for a CPU that is offline."""

    id: int
    cell: int
    core: int | None
    socket: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class HostTopology:
    """NUMA cells and the place of each CPU, both by ascending id; empty where the driver gives none."""

    cells: tuple[Cell, ...] = ()
    places: tuple[CpuPlace, ...] = ()


def parse_domain(xml: str, state: DomainState) -> Domain:
    """A domain from ``virDomainGetXMLDesc``.

    ``vcpus`` are the current ones, ``memory_mib`` the maximum memory rounded up
    (it is taken away from the host). Disks are sorted by target. Raises
    SourceInconsistent.
    """
    root = _document(xml, "domain", "domain")
    name = _text(root, "name", "domain")
    where = f"domain {name}"
    flavor_of = _nova_metadata(root)
    return Domain(
        uuid=_uuid(_text(root, "uuid", where), where),
        name=name,
        state=state,
        vcpus=_current_vcpus(root, where),
        memory_mib=-(-_size_bytes(_child(root, "memory", where), where) // MIB),
        pinned_cpus=_pinned_cpus(root, where),
        disks=_disks(root, where),
        managed_by_nova=flavor_of is not None,
        nova_flavor=None if flavor_of is None else _nova_flavor(flavor_of, where),
        current_memory_mib=_current_memory_mib(root, where),
    )


def parse_capabilities(xml: str) -> HostTopology:
    """Cells and CPUs from ``virConnectGetCapabilities``. Raises SourceInconsistent."""
    root = _document(xml, "capabilities", "capabilities")
    cells: list[Cell] = []
    places: list[CpuPlace] = []
    for element in root.iterfind("./host/topology/cells/cell"):
        cell_id = _number(element.get("id"), "capabilities: cell id")
        where = f"capabilities: cell {cell_id}"
        its_places = tuple(_cpu_place(cpu, cell_id, where) for cpu in element.iterfind("./cpus/cpu"))
        places += its_places
        cells.append(
            Cell(
                id=cell_id,
                memory_mib=_cell_memory_mib(element, where),
                cpu_ids=tuple(sorted(place.id for place in its_places)),
                page_pools=_page_pools(element, where),
            )
        )
    _refuse_repeated([cell.id for cell in cells], "capabilities: cell")
    _refuse_repeated([place.id for place in places], "capabilities: cpu")
    return HostTopology(
        cells=tuple(sorted(cells, key=lambda cell: cell.id)),
        places=tuple(sorted(places, key=lambda place: place.id)),
    )


def _document(xml: str, root_tag: str, where: str) -> ET.Element:
    if "<!DOCTYPE" in xml:
        raise _odd(where, "a document type declaration, which libvirt never writes")
    try:
        root = ET.fromstring(xml)
    except (ET.ParseError, ValueError) as error:
        raise _odd(where, f"XML that does not parse ({error})") from error
    if root.tag != root_tag:
        raise _odd(where, f"the root element <{root.tag}>")
    return root


def _odd(where: str, what: str) -> SourceInconsistent:
    return SourceInconsistent(_SOURCE, f"{where}: {what}"[:400])


def _child(parent: ET.Element, tag: str, where: str) -> ET.Element:
    element = parent.find(tag)
    if element is None:
        raise _odd(where, f"no <{tag}>")
    return element


def _text(parent: ET.Element, tag: str, where: str) -> str:
    text = (_child(parent, tag, where).text or "").strip()
    if not text:
        raise _odd(where, f"an empty <{tag}>")
    return text


def _number(text: str | None, where: str) -> int:
    stripped = (text or "").strip()
    if _WHOLE.fullmatch(stripped) is None:
        raise _odd(where, f"{text!r} is not a whole number")
    return int(stripped)


def _uuid(text: str, where: str) -> str:
    try:
        return str(uuid.UUID(text))
    except ValueError as error:
        raise _odd(where, f"uuid {text!r}") from error


def _scaled(value: int, unit: str | None, where: str) -> int:
    factor = _UNITS.get((unit or "KiB").lower())
    if factor is None:
        raise _odd(where, f"unit {unit!r}")
    return value * factor


def _size_bytes(element: ET.Element, where: str) -> int:
    place = f"{where}: <{element.tag}>"
    return _scaled(_number(element.text, place), element.get("unit"), place)


def _current_vcpus(root: ET.Element, where: str) -> int:
    element = _child(root, "vcpu", where)
    place = f"{where}: <vcpu>"
    maximum = _number(element.text, place)
    current = maximum if element.get("current") is None else _number(element.get("current"), place)
    if not 0 < current <= maximum:
        raise _odd(place, f"{current} current of {maximum}")
    return current


def _pinned_cpus(root: ET.Element, where: str) -> tuple[int, ...]:
    pinned: set[int] = set()
    for pin in root.iterfind("./cputune/vcpupin"):
        try:
            pinned.update(parse_cpu_list(pin.get("cpuset") or ""))
        except ValueError as error:
            raise _odd(where, f"<vcpupin>: {error}") from error
    return tuple(sorted(pinned))


def _disks(root: ET.Element, where: str) -> tuple[Disk, ...]:
    disks = [_disk(element, where) for element in root.iterfind("./devices/disk")]
    # Containers have file systems where machines have disks; in a machine a <filesystem> only shares a folder.
    if root.findtext("./os/type") == "exe":
        disks += [_container_disk(element, where) for element in root.iterfind("./devices/filesystem")]
    return tuple(sorted(disks, key=lambda disk: (disk.target, disk.kind, disk.source or "")))


def _disk(element: ET.Element, where: str) -> Disk:
    return Disk(
        target=_attribute(_child(element, "target", f"{where}: <disk>"), "dev", f"{where}: <disk>"),
        kind=_attribute(element, "type", f"{where}: <disk>"),
        source=_disk_source(element.find("source")),
        format=_driver_type(element),
    )


def _container_disk(element: ET.Element, where: str) -> Disk:
    place = f"{where}: <filesystem>"
    return Disk(
        target=_attribute(_child(element, "target", place), "dir", place),
        kind=element.get("type") or "mount",
        source=_disk_source(element.find("source")),
        format=_driver_type(element),
    )


def _driver_type(element: ET.Element) -> str | None:
    driver = element.find("driver")
    return None if driver is None else driver.get("type")


def _attribute(element: ET.Element, name: str, where: str) -> str:
    value = element.get(name)
    if not value:
        raise _odd(where, f"<{element.tag}> without {name}")
    return value


def _disk_source(source: ET.Element | None) -> str | None:
    """The path or name; ``POOL/VOLUME`` for a volume of a storage pool; None for an empty drive."""
    if source is None:
        return None
    if source.get("pool") and source.get("volume"):
        return f"{source.get('pool')}/{source.get('volume')}"
    return next((value for value in map(source.get, _SOURCE_ATTRIBUTES) if value), None)


def _nova_metadata(root: ET.Element) -> ET.Element | None:
    metadata = root.find("metadata")
    return next((e for e in (metadata if metadata is not None else ()) if _NOVA_NAMESPACE.fullmatch(e.tag)), None)


def _nova_flavor(instance: ET.Element, where: str) -> NovaMetadataFlavor | None:
    namespace = instance.tag.partition("}")[0] + "}"
    flavor = instance.find(f"{namespace}flavor")
    if flavor is None:
        return None
    place = f"{where}: nova's flavor"

    def amount(tag: str) -> int:
        return _number(flavor.findtext(f"{namespace}{tag}"), f"{place}: {tag}")

    return NovaMetadataFlavor(
        name=flavor.get("name") or "",
        vcpus=amount("vcpus"),
        memory_mib=amount("memory"),
        root_gib=amount("disk"),
        ephemeral_gib=amount("ephemeral"),
        swap_mib=amount("swap"),
    )


def _current_memory_mib(root: ET.Element, where: str) -> int | None:
    current = root.find("currentMemory")
    return None if current is None else _size_bytes(current, where) // MIB


def _cell_memory_mib(cell: ET.Element, where: str) -> int:
    # A cell without memory has no <memory> element at all.
    memory = cell.find("memory")
    return 0 if memory is None else _size_bytes(memory, where) // MIB


def _page_pools(cell: ET.Element, where: str) -> tuple[PagePool, ...]:
    return tuple(sorted(_each_pool(cell, f"{where}: <pages>"), key=lambda pool: pool.size_kib))


def _each_pool(cell: ET.Element, where: str) -> Iterator[PagePool]:
    for pages in cell.iterfind("pages"):
        size_bytes = _scaled(_number(pages.get("size"), where), pages.get("unit"), where)
        yield PagePool(size_kib=size_bytes // KIB, total=_number(pages.text, where))


def _cpu_place(cpu: ET.Element, cell_id: int, where: str) -> CpuPlace:
    cpu_id = _number(cpu.get("id"), f"{where}: cpu id")
    place = f"{where}: cpu {cpu_id}"
    return CpuPlace(
        id=cpu_id,
        cell=cell_id,
        core=_optional_number(cpu.get("core_id"), place),
        socket=_optional_number(cpu.get("socket_id"), place),
    )


def _optional_number(text: str | None, where: str) -> int | None:
    return None if text is None else _number(text, where)


def _refuse_repeated(ids: list[int], where: str) -> None:
    if len(set(ids)) != len(ids):
        raise _odd(where, f"an id that comes twice in {sorted(ids)}")
