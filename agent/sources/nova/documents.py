"""Parse nova's JSON documents and the values of database columns strictly.

If a value is wrong, the parsers raise SourceInconsistent, which names the column or field. In nova's versioned objects,
a missing field and a field with null have different meanings. The parsers accept newer minor versions and unknown
fields, and reject only another major version. The agent uses the parsers for database rows and for nova-conductor's
answers, because both contain the same objects. Pure: no I/O.
"""

from __future__ import annotations

import datetime
import functools
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeVar

from agent.errors import SourceInconsistent
from agent.model.nova import Flavor, InstanceCell, MigrationContext
from agent.text.numbers import whole, whole_text

Row = Mapping[str, object]
_Parsed = TypeVar("_Parsed")

SOURCE = "state"
CHUNK = 500


@dataclass(frozen=True, slots=True)
class Cells:
    """The columns of a database row, or the fields of a document. Each method checks one value and returns it.

    ``where`` says in errors which row or document has the wrong value.
    """

    where: str
    row: Row

    def text(self, name: str) -> str | None:
        """Return the string in the column ``name``; None if it is NULL or absent."""
        value = self.row.get(name)
        if value is None or isinstance(value, str):
            return value
        raise self.wrong(name, "text", value)

    def needed_text(self, name: str) -> str:
        """Return the string in the column ``name``. Raises SourceInconsistent if it is NULL, absent or empty."""
        value = self.text(name)
        if not value:
            raise SourceInconsistent(SOURCE, f"{self.where}: {name} is {'NULL' if value is None else 'empty'}")
        return value

    def integer(self, name: str) -> int | None:
        """Return the 64-bit integer (not a Boolean) in the column ``name``; None if it is NULL or absent."""
        value = self.row.get(name)
        number = whole(value)
        if value is None or number is not None:
            return number
        raise self.wrong(name, "an integer", value)

    def needed_integer(self, name: str) -> int:
        """Return the integer in the column ``name``. Raises SourceInconsistent if it is NULL or absent."""
        value = self.integer(name)
        if value is None:
            raise SourceInconsistent(SOURCE, f"{self.where}: {name} is NULL")
        return value

    def size(self, name: str) -> int:
        """Return the amount in the column ``name``. Raises SourceInconsistent if it is NULL, absent or negative."""
        value = self.needed_integer(name)
        if value < 0:
            raise self.wrong(name, "an amount", value)
        return value

    def flag(self, name: str) -> bool:
        """Return the column ``name`` as a Boolean: NULL and 0 are False, every other integer is True."""
        value = self.row.get(name)
        if value is None or isinstance(value, int):
            return bool(value)
        raise self.wrong(name, "a Boolean", value)

    def moment(self, name: str) -> datetime.datetime | None:
        """Return the column's time in UTC without tzinfo, as nova stores it; SQLite and RPC return times as strings."""
        value = self.row.get(name)
        if value is None:
            return None
        try:
            moment = datetime.datetime.fromisoformat(value) if isinstance(value, str) else value
            if isinstance(moment, datetime.datetime):
                return moment.astimezone(datetime.UTC).replace(tzinfo=None) if moment.tzinfo else moment
        except (ValueError, OverflowError):
            pass
        raise self.wrong(name, "a time", value)

    def items(self, name: str) -> list[object]:
        """Return the list in the column ``name``. Raises SourceInconsistent if it is NULL or absent."""
        value = self.row.get(name)
        if isinstance(value, list):
            return value
        raise self.wrong(name, "a list", value)

    def mapping(self, name: str) -> dict[str, object]:
        """Return the JSON object in the column ``name``; {} if it is NULL or absent."""
        value = self.row.get(name)
        if value is None:
            return {}
        if isinstance(value, dict) and all(isinstance(key, str) for key in value):
            return value
        raise self.wrong(name, "an object", value)

    def integers(self, name: str) -> tuple[int, ...]:
        """Return the CPU numbers in the column ``name``, sorted, without duplicates; () if it is NULL or absent."""
        if self.row.get(name) is None:
            return ()
        numbers = [whole(number) for number in self.items(name)]
        found = {number for number in numbers if number is not None and number >= 0}
        if not found.issuperset(numbers):
            raise self.wrong(name, "a set of CPUs", self.row[name])
        return tuple(sorted(found))

    def wrong(self, name: str, wanted: str, value: object) -> SourceInconsistent:
        """Return the error to raise for ``value``. ``wanted`` says what the value should be, for example "a list"."""
        return SourceInconsistent(SOURCE, f"{self.where}: {name} is not {wanted} but {short(value)}")


def flavors_from_document(text: str, where: str) -> tuple[Flavor, Flavor | None, Flavor | None]:
    """Return the current, old and new flavor in ``instance_extra.flavor``.

    Raises SourceInconsistent if ``text`` cannot be parsed; the error's message begins with ``where``.
    """
    return _parsed(_flavors, text, where)


def numa_from_document(text: str, where: str) -> tuple[InstanceCell, ...]:
    """Return the NUMA cells of ``instance_extra.numa_topology``, sorted by id.

    Raises SourceInconsistent if ``text`` cannot be parsed; the error's message begins with ``where``.
    """
    return _parsed(_numa, text, where)


def context_from_document(text: str, where: str) -> MigrationContext:
    """Return nova's migration context in ``instance_extra``.

    Raises SourceInconsistent if ``text`` cannot be parsed; the error's message begins with ``where``.
    """
    return _parsed(_context, text, where)


def _parsed(parse: Callable[[str], _Parsed], text: str, where: str) -> _Parsed:
    try:
        return parse(text)
    except SourceInconsistent as error:
        # The message of ``parse`` has no subject, such as " is not JSON: ..."; ``where`` becomes its subject.
        raise SourceInconsistent(SOURCE, f"{where}{error.message}") from error


# Many instances share a few flavor documents, which rarely change: with 1,000 instances, the cache saves 8 of 34 ms.
# The cache also makes instances with equal documents share one object in memory.
@functools.lru_cache(maxsize=1024)
def _flavors(text: str) -> tuple[Flavor, Flavor | None, Flavor | None]:
    document = _json_object(text)
    current = flavor_from_primitive(document.get("cur"), " 'cur'")
    # Treat any empty value as "no flavor", as nova does; nova itself writes null.
    old, new = (
        flavor_from_primitive(document[name], f" {name!r}") if document.get(name) else None for name in ("old", "new")
    )
    return current, old, new


def flavor_from_primitive(primitive: object, where: str) -> Flavor:
    """Return a flavor from its versioned object, of any version 1.x. Raises SourceInconsistent, naming ``where``."""
    cells = Cells(where, _object_fields(primitive, "Flavor", where))
    return Flavor(
        id=cells.needed_integer("id"),
        name=cells.needed_text("name"),
        vcpus=cells.size("vcpus"),
        memory_mib=cells.size("memory_mb"),
        root_gib=cells.size("root_gb"),
        ephemeral_gib=cells.size("ephemeral_gb"),
        swap_mib=cells.size("swap"),
        extra_specs=_extra_specs(cells),
    )


# Each guest with pinned CPUs has its own topology, so this cache is larger than the cache of flavors.
@functools.lru_cache(maxsize=4096)
def _numa(text: str) -> tuple[InstanceCell, ...]:
    return _numa_cells(_json_object(text), "")


@functools.lru_cache(maxsize=1024)
def _context(text: str) -> MigrationContext:
    cells = Cells("", _object_fields(_json_object(text), "MigrationContext", ""))
    return MigrationContext(
        migration_id=cells.integer("migration_id"),
        old_numa=_numa_of_move(cells, "old_numa_topology"),
        new_numa=_numa_of_move(cells, "new_numa_topology"),
        old_pci=_addresses(cells, "old_pci_devices"),
        new_pci=_addresses(cells, "new_pci_devices"),
    )


def _numa_of_move(cells: Cells, name: str) -> tuple[InstanceCell, ...] | None:
    # An old nova wrote documents without this field; the missing field means the same as null.
    primitive = cells.row.get(name)
    return None if primitive is None else _numa_cells(primitive, f"{cells.where} {name!r}")


def _numa_cells(primitive: object, where: str) -> tuple[InstanceCell, ...]:
    fields = Cells(where, _object_fields(primitive, "InstanceNUMATopology", where))
    cells = (_instance_cell(cell, f"{where} cell") for cell in fields.items("cells"))
    return tuple(sorted(cells, key=lambda cell: cell.id))


def _instance_cell(primitive: object, where: str) -> InstanceCell:
    cells = Cells(where, _object_fields(primitive, "InstanceNUMACell", where))
    policy = cells.text("cpu_policy")
    cpuset, pcpuset = cells.integers("cpuset"), cells.integers("pcpuset")
    # Before Victoria, ``cpuset`` had the CPUs for every policy; nova moves dedicated CPUs to ``pcpuset`` at the next
    # save (nova/objects/instance_numa.py).
    if policy == "dedicated" and not pcpuset:
        cpuset, pcpuset = (), cpuset
    return InstanceCell(
        id=cells.needed_integer("id"),
        memory_mib=cells.size("memory"),
        cpuset=cpuset,
        pcpuset=pcpuset,
        pinning=_pinning(cells),
        reserved_cpus=cells.integers("cpuset_reserved"),
        page_kib=_page_size(cells),
        cpu_policy=policy,
        thread_policy=cells.text("cpu_thread_policy"),
    )


def _pinning(cells: Cells) -> tuple[tuple[int, int], ...]:
    """Return the pinning of a NUMA cell as pairs (guest CPU, host CPU); in JSON the guest CPU is a string."""
    pairs = Cells(f"{cells.where}: cpu_pinning_raw", cells.mapping("cpu_pinning_raw"))
    for guest_cpu in pairs.row:
        if not (guest_cpu.isascii() and guest_cpu.isdecimal() and len(guest_cpu) < 8):
            raise SourceInconsistent(SOURCE, f"{pairs.where} pins {short(guest_cpu)}, which is not a CPU number")
    return tuple(sorted((int(guest_cpu), pairs.size(guest_cpu)) for guest_cpu in pairs.row))


def _page_size(cells: Cells) -> int | None:
    size = cells.integer("pagesize")
    if size is not None and size <= 0:
        raise cells.wrong("pagesize", "a size", size)
    return size


def _addresses(cells: Cells, name: str) -> tuple[str, ...]:
    primitive = cells.row.get(name)
    if primitive is None:
        return ()
    where = f"{cells.where} {name!r}"
    devices = Cells(where, _object_fields(primitive, "PciDeviceList", where)).items("objects")
    fields = (Cells(f"{where} device", _object_fields(device, "PciDevice", f"{where} device")) for device in devices)
    return tuple(sorted(device.needed_text("address").lower() for device in fields))


def texts(rows: Iterable[Row], column: str) -> set[str]:
    """Return the strings in one column of ``rows``, such as uuids; ignore values that are not strings."""
    return {value for row in rows if isinstance(value := row[column], str)}


def chunks(uuids: Iterable[str]) -> Iterator[list[str]]:
    """Yield the uuids in sorted lists of at most 500 uuids, to limit the size of every request and every response."""
    ordered = sorted(uuids)
    return (ordered[start : start + CHUNK] for start in range(0, len(ordered), CHUNK))


def short(value: object) -> str:
    """Return a value as an error message shows it: at most 60 characters."""
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # repr() fails for a very long integer or a deeply nested list
        text = f"a {type(value).__name__}"
    return text if len(text) <= 60 else f"{text[:57]}..."


def _extra_specs(cells: Cells) -> tuple[tuple[str, str], ...]:
    specs = cells.row.get("extra_specs", {})
    if not isinstance(specs, dict):
        raise cells.wrong("extra_specs", "an object", specs)
    for key, value in specs.items():
        if not isinstance(key, str) or not isinstance(value, str):
            raise SourceInconsistent(SOURCE, f"{cells.where}: extra_specs {short(key)} is {short(value)}, not text")
        if key.startswith("resources") and value.isdecimal() and whole_text(value) is None:
            raise SourceInconsistent(
                SOURCE, f"{cells.where}: extra_specs {short(key)} is {short(value)}, not an amount"
            )
    return tuple(sorted(specs.items()))


def _object_fields(primitive: object, name: str, where: str) -> Row:
    """Return ``nova_object.data`` of a versioned object, which must be of the type ``name`` and of any version 1.x."""
    if not isinstance(primitive, dict):
        raise SourceInconsistent(SOURCE, f"{where} is not an object but {short(primitive)}")
    kind, version = primitive.get("nova_object.name"), primitive.get("nova_object.version")
    if kind != name or not isinstance(version, str) or version.split(".")[0] != "1":
        raise SourceInconsistent(SOURCE, f"{where} is not {name} version 1.x but {short(kind)} {short(version)}")
    fields = primitive.get("nova_object.data")
    if not isinstance(fields, dict):
        raise SourceInconsistent(SOURCE, f"{where} has no nova_object.data")
    return fields


def _json_object(text: str) -> dict[str, object]:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        # The message begins with a space, because _parsed puts the column's name before it.
        raise SourceInconsistent(SOURCE, f" is not JSON: {error}") from error
    if not isinstance(document, dict):
        raise SourceInconsistent(SOURCE, f" is not a JSON object but {short(document)}")
    return document
