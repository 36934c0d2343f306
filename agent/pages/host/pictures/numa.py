"""Picture of the NUMA cells: one column for each cell, with a bar for each kind of resource.

Pure: the module uses no clock, file, socket or log.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from agent.pages.blocks import Cell, Column, Meaning, Picture, Shape, Table
from agent.pages.host.cells import NumaCell, Share
from agent.pages.shapes import WIDTH, Box, fitted, label, rectangle, rule
from agent.pages.sizes import beside_its_class
from agent.pages.tables import NOT_KNOWN

MOST_CELLS = 16
_PER_ROW = 3
_HEAD, _HIGH, _FOOT = 28.0, 100.0, 36.0
_NUMBERS = 20.0
_BLOCK = _HEAD + _NUMBERS + _HIGH + _FOOT
_COLUMN = WIDTH / _PER_ROW


def numa_picture(cells: Sequence[NumaCell]) -> Picture:
    """Return the picture of the cells, at most 16 of them."""
    shown = cells[:MOST_CELLS]
    shapes: list[Shape] = []
    for place, cell in enumerate(shown):
        shapes.extend(_drawn(cell, (place % _PER_ROW) * _COLUMN, (place // _PER_ROW) * _BLOCK))
    more = len(cells) - len(shown)
    return Picture(
        id="numa-picture",
        title="How full each NUMA cell is",
        conclusion=" ".join((*map(conclusion, shown), *((f"And {more} more cells.",) if more else ()))),
        height=_BLOCK * max(1, -(-len(shown) // _PER_ROW)),
        shapes=tuple(shapes),
        table=_table(cells),
        legend=((Meaning.COUNTED, "used"), (Meaning.FREE, "free"), (Meaning.UNREAD, "not known")),
    )


def conclusion(cell: NumaCell) -> str:
    """Return one sentence about the use of a cell, for the picture's conclusion."""
    return f"Cell {cell.id}: {', '.join(f'{share.what} {_of(share)}' for share in cell.shares) or 'nothing'}."


def _of(share: Share) -> str:
    return f"{_amount(share, share.used)}/{_amount(share, share.total)}"


def _amount(share: Share, value: int | None) -> str:
    if value is None:
        return NOT_KNOWN
    return beside_its_class("MEMORY_MB", value) if share.unit == "MiB" else str(value)


def _drawn(cell: NumaCell, left: float, top: float) -> Iterator[Shape]:
    yield label(f"cell {cell.id}", left + 4, top + 18, look="strong")
    inner = _COLUMN - 16
    width = inner / max(1, len(cell.shares))
    bottom = top + _HEAD + _NUMBERS + _HIGH
    for place, share in enumerate(cell.shares):
        yield from _share(share, Box(left + 4 + place * width, top + _HEAD + _NUMBERS, width - 8, _HIGH))
    yield rule(left + 4, bottom, left + 4 + inner, bottom)


def _share(share: Share, box: Box) -> Iterator[Shape]:
    middle = box.left + box.width / 2
    text = f"{share.what}: {_of(share)}"
    if share.used is None:
        yield rectangle(Meaning.UNREAD, box, text)
    else:
        ratio = min(1.0, share.used / share.total)
        yield rectangle(Meaning.FREE, box, text)
        if ratio:
            high = box.height * ratio
            yield rectangle(Meaning.COUNTED, Box(box.left, box.top + box.height - high, box.width, high), text)
    percent = NOT_KNOWN if share.used is None else f"{100 * share.used / share.total:.0f} %"
    yield label(fitted(percent, box.width + 6), middle, box.top - 6, anchor="middle")
    text = fitted(share.short, box.width + 6)
    yield label(text, middle, box.top + box.height + 17, anchor="middle", look="faint")


def _table(cells: Sequence[NumaCell]) -> Table:
    columns = ("cell", "what", "used", "total", "unit")
    return Table(
        id="numa-numbers",
        caption="How full each NUMA cell is",
        columns=tuple(Column(heading=name, is_number=name in {"cell", "used", "total"}) for name in columns),
        rows=tuple(
            (
                Cell(text=str(cell.id)),
                Cell(text=share.what),
                Cell(text=_amount(share, share.used)),
                Cell(text=_amount(share, share.total)),
                Cell(text="" if share.unit == "MiB" else share.unit),
            )
            for cell in cells
            for share in cell.shares
        ),
    )
