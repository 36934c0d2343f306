"""The stores of the guests' disks (volume groups, file systems, Ceph), with the bytes that each kind of owner uses.

Pure: no I/O.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from agent.model.report import StorageRow
from agent.pages.bars import Part
from agent.pages.blocks import Meaning

FREE = "free"
#: The kinds of owners of bytes on disk, each with its colour. The bar of a store shows the kinds in this order.
KINDS = (
    ("instance", Meaning.COUNTED),
    ("domain", Meaning.COUNTED),
    ("image-cache", Meaning.RESERVED),
    ("block-storage", Meaning.RESERVED),
    ("thin-pool", Meaning.RESERVED),
    ("part", Meaning.RESERVED),
    ("other", Meaning.RESERVED),
    ("pool", Meaning.RESERVED),
    ("elsewhere", Meaning.RESERVED),
    ("root-reserve", Meaning.RESERVED),
    ("leftover", Meaning.FOREIGN),
    ("orphaned", Meaning.FOREIGN),
    ("foreign", Meaning.FOREIGN),
    ("unknown", Meaning.WRONG),
    (FREE, Meaning.FREE),
)
#: The name for bytes of a file system or volume group that no row of the report explains: their owner is not known.
UNACCOUNTED = "unaccounted"
_MEANINGS = dict(KINDS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Store:
    """One file system or volume group. ``parts``: how many bytes each kind of owner uses, in the order of KINDS.

    The sum of the parts is ``size_bytes``.
    """

    name: str
    size_bytes: int
    parts: tuple[Part, ...]


def stores_of(rows: tuple[StorageRow, ...]) -> tuple[Store, ...]:
    """Return the stores (file systems, volume groups, Ceph pools) whose bytes the rows list, sorted by name.

    A kind of owner that this version of the program does not know counts as ``unknown``.
    """
    sums: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    sizes: dict[str, int] = {}
    for row in rows:
        kind = row.owner_kind if row.owner_kind in _MEANINGS else "unknown"
        sums[row.store][kind] += row.size_bytes
        sizes[row.store] = row.store_bytes
    return tuple(_store(name, sizes[name], sums[name]) for name in sorted(sums))


def meaning_of(kind: str) -> Meaning:
    """Return the colour in which the page shows the bytes of this kind of owner."""
    return _MEANINGS.get(kind, Meaning.WRONG)


def _store(name: str, size_bytes: int, sums: dict[str, int]) -> Store:
    parts = [Part(name=kind, meaning=meaning, amount=sums[kind]) for kind, meaning in KINDS if sums.get(kind)]
    rest = size_bytes - sum(sums.values())
    if rest > 0:
        parts.append(Part(name=UNACCOUNTED, meaning=Meaning.WRONG, amount=rest))
    return Store(name=name, size_bytes=size_bytes, parts=tuple(parts))
