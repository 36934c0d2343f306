"""Picture of the storage: a bar for each store (file system, volume group, Ceph pool), divided by the kind of owner.

Pure: the module uses no clock, file, socket or log.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from agent.pages.bars import HEIGHT, drawn, merged, names, segments, unread_bar
from agent.pages.blocks import Cell, Column, Meaning, Picture, Shape, Table
from agent.pages.host.stores import Store
from agent.pages.shapes import WIDTH, fitted, label
from agent.pages.sizes import size_text
from agent.pages.tables import NOT_KNOWN, cut
from agent.text.amounts import number_text

_HEAD, _FOOT, _BETWEEN = 24.0, 20.0, 14.0
_BLOCK = _HEAD + HEIGHT + _FOOT + _BETWEEN
_GAP = 2.0
_MERGED_BELOW, _NAMED_FROM = 0.005, 0.08


def storage_picture(stores: Sequence[Store], unread: Sequence[str]) -> Picture:
    """Return the picture of the stores; ``unread`` names the storage sources that the audit could not read."""
    shapes: list[Shape] = []
    for place, store in enumerate(stores):
        shapes.extend(_block(store, place * _BLOCK))
    for place, source in enumerate(unread, start=len(stores)):
        top = place * _BLOCK
        shapes.append(label(source, 0, top + 16, look="strong"))
        shapes.extend(unread_bar(0, top + _HEAD, WIDTH, f"{source} was not read"))
    sentences = [*map(conclusion, stores), *(f"{source}: {NOT_KNOWN}, not read." for source in unread)]
    return Picture(
        id="storage-picture",
        title="What uses the space of each file system, volume group and Ceph pool",
        conclusion=" ".join(sentences),
        height=max(_BLOCK * (len(stores) + len(unread)), 20.0),
        shapes=tuple(shapes),
        table=_table(stores, unread),
        legend=(
            (Meaning.COUNTED, "instances and guests"),
            (Meaning.RESERVED, "image cache, block storage, storage pools, file system reserve"),
            (Meaning.FOREIGN, "not the cloud's"),
            (Meaning.WRONG, "owner not known"),
            (Meaning.FREE, "free"),
            (Meaning.UNREAD, "not read"),
        ),
    )


def conclusion(store: Store) -> str:
    """Return one sentence about who uses how much of a file system or volume group (``store``)."""
    sums = {meaning: sum(part.amount for part in store.parts if part.meaning is meaning) for meaning in Meaning}
    words = (
        (Meaning.COUNTED, "of instances and guests"),
        (Meaning.FOREIGN, "not the cloud's"),
        (Meaning.WRONG, "without a known owner"),
        (Meaning.FREE, "free"),
    )
    said = [f"{size_text(sums[meaning])} {what}" for meaning, what in words if sums[meaning]]
    return f"{cut(store.name, 60)}: {', '.join((size_text(store.size_bytes), *said))}."


def _block(store: Store, top: float) -> Iterator[Shape]:
    parts = merged(store.parts, _MERGED_BELOW)
    found = segments(parts, 0, WIDTH)
    texts = [f"{one.part.name}: {size_text(one.part.amount)}, {_percent(one.part.amount, store)}" for one in found]
    yield label(fitted(store.name, WIDTH), 0, top + 16, look="strong")
    yield from drawn(found, top + _HEAD, texts, gap=_GAP)
    yield from names(found, top + _HEAD, _NAMED_FROM * WIDTH)
    base = top + _HEAD + HEIGHT + 16
    yield label("0 GiB", 0, base, look="faint")
    yield label(f"{store.size_bytes / (1 << 30):.1f} GiB", WIDTH, base, anchor="end", look="faint")


def _percent(amount: float, store: Store) -> str:
    return f"{100 * amount / store.size_bytes:.1f} %" if store.size_bytes else NOT_KNOWN


def _table(stores: Sequence[Store], unread: Sequence[str]) -> Table:
    rows = [
        (
            Cell(text=cut(store.name)),
            Cell(text=part.name, meaning=part.meaning),
            Cell(text=size_text(part.amount)),
            Cell(text=number_text(part.amount)),
            Cell(text=_percent(part.amount, store)),
        )
        for store in stores
        for part in store.parts
    ]
    missing = Cell(text=NOT_KNOWN)
    rows += [(Cell(text=source), Cell(text="not read", meaning=Meaning.UNREAD), *(missing,) * 3) for source in unread]
    columns = ("store", "owner", "size", "bytes", "share")
    return Table(
        id="storage-numbers",
        caption="How the space of each store is divided among kinds of owners",
        columns=tuple(
            Column(heading=name, is_number=place > 1, is_word=place == 1) for place, name in enumerate(columns)
        ),
        rows=tuple(rows),
    )
