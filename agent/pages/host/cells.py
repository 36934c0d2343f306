"""The NUMA cells of the host and its PCI pools, from the resource view of the report.

Another version of the agent may have written the report. This version leaves out a cell or pool whose format it does
not know.

Pure: the module uses no clock, file, socket or log.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from agent.pages.host.facts import HostFacts
from agent.text.own_rows import BadRow, count_of, list_of, object_of, text_of

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """How much of a resource is used: ``used`` of ``total``, in ``unit``. ``used`` is None if it is not known.

    ``what`` is the name of the resource, and ``short`` a shorter name for the label below a narrow bar.
    """

    what: str
    short: str
    unit: str
    used: int | None
    total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NumaCell:
    """One NUMA cell, with the use of its dedicated CPUs, of its memory (MiB) and of its pages of each size."""

    id: int
    shares: tuple[Share, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pool:
    """Free PCI devices with the same properties. ``cell`` is their NUMA cell as text, "" if it is not known."""

    address: str
    ids: str
    kind: str
    cell: str
    count: int


def cells_of(facts: HostFacts) -> tuple[NumaCell, ...] | None:
    """Return the cells, sorted by id.

    Return () if nova sees no NUMA topology on the host, None if the report has no such data.
    """
    if facts.view is None:
        return None
    topology = facts.view.get("numa_topology")
    if topology is None:
        return ()
    usages = {usage.get("id"): usage for usage in facts.cell_usages or ()}
    cells = _readable(_members(topology, "cells"), lambda each: _cell(each, usages))
    return tuple(sorted(cells, key=lambda cell: cell.id))


def pools_of(facts: HostFacts) -> tuple[Pool, ...] | None:
    """Return the pools of free PCI devices for guests, None if they are not known."""
    stats = None if facts.view is None else facts.view.get("pci_stats")
    return None if stats is None else tuple(_readable(_members(stats, "objects"), _pool))


def _cell(document: Any, usages: Mapping[Any, Mapping[str, Any]]) -> NumaCell:  # noqa: ANN401 - JSON
    data = object_of(object_of(document).get("nova_object.data"))
    number = count_of(data, "id")
    usage = usages.get(number)
    dedicated = len(list_of(data.get("pcpuset", []), lambda each: each))
    shares = [
        Share(
            what="dedicated CPUs",
            short="CPUs",
            unit="",
            used=None if usage is None else len(list_of(usage.get("pinned", []), lambda each: each)),
            total=dedicated,
        ),
        Share(
            what="memory",
            short="memory",
            unit="MiB",
            used=None if usage is None else count_of(usage, "memory_mib"),
            total=count_of(data, "memory"),
        ),
    ]
    pages = {} if usage is None else dict(list_of(usage.get("pages", []), _used_pages))
    for page in list_of(data.get("mempages", []), _pages):
        size, total = page
        used = None if usage is None else pages.get(size, 0)
        shares.append(Share(what=f"{_size(size)} pages", short=_size(size), unit="pages", used=used, total=total))
    return NumaCell(id=number, shares=tuple(share for share in shares if share.total))


def _pages(document: Any) -> tuple[int, int]:  # noqa: ANN401 - JSON
    data = object_of(object_of(document).get("nova_object.data"))
    return count_of(data, "size_kb"), count_of(data, "total")


def _used_pages(document: Any) -> tuple[int, int]:  # noqa: ANN401 - JSON
    return count_of(document, "size_kib"), count_of(document, "used")


def _size(size_kib: int) -> str:
    if size_kib >= 1 << 20 and size_kib % (1 << 20) == 0:
        return f"{size_kib >> 20} GiB"
    return f"{size_kib >> 10} MiB" if size_kib >= 1 << 10 and size_kib % (1 << 10) == 0 else f"{size_kib} KiB"


def _pool(document: Any) -> Pool:  # noqa: ANN401 - JSON
    data = object_of(object_of(document).get("nova_object.data"))
    tags = object_of(data.get("tags", {}))
    cell = data.get("numa_node")
    return Pool(
        address=text_of(tags, "address"),
        ids=f"{text_of(data, 'vendor_id')}:{text_of(data, 'product_id')}",
        kind=text_of(tags, "dev_type"),
        cell="" if cell is None else str(cell),
        count=count_of(data, "count"),
    )


def _members(document: Any, name: str) -> list[Any]:  # noqa: ANN401 - JSON
    data = document.get("nova_object.data") if isinstance(document, dict) else None
    members = data.get(name) if isinstance(data, dict) else None
    return members if isinstance(members, list) else []


def _readable(documents: Iterable[Any], read: Callable[[Any], T]) -> list[T]:
    found: list[T] = []
    for document in documents:
        try:
            found.append(read(document))
        except BadRow:
            continue
    return found
