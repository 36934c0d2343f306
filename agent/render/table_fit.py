"""Decide how a table fits a width: which uuids are shortened, which columns are left out, and how wide each column is.

Pure: no I/O.

If the table is too wide, three steps follow. First, uuids are cut to their first 8 digits. Second, columns are left
out; ``Grid.leave_out`` lists them, the least important first. Third, texts are wrapped and long names are cut. A word,
an amount or a path is never broken. So a very long word may be wider than its column or than the terminal.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from agent.render.layout import Column, Grid, Kind

#: The number of spaces between two columns.
GAP = 2
SHORT_UUID = 8
#: A text needs at least this width, in characters, to stay readable. Before a text becomes narrower, the table leaves
#: out one of its columns.
READABLE_TEXT = 30
READABLE_NAME = 16
LEAST_NAME = 8
LEAST_TEXT = 22
_UUID = re.compile(r"(?<!\S)([0-9a-f]{8})-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}(?!\S)")
_WITH_UUIDS = (Kind.UUID, Kind.NAME, Kind.TEXT)
_FLEXIBLE = (Kind.NAME, Kind.TEXT, Kind.CUT)

# A function that returns how many terminal columns a text takes.
Measure = Callable[[str], int]
# A function that splits a text into parts. A line may be wrapped between two parts.
Words = Callable[[str], Sequence[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fitted:
    """A table that fits: its columns with their widths, its cells, and the names of the columns that were left out."""

    columns: tuple[Column, ...]
    widths: tuple[int, ...]
    rows: tuple[tuple[str, ...], ...]
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Wish:
    """Four widths of one column, from narrow to wide.

    ``least``: the least possible width. ``readable``: the least width at which the column is readable. ``whole``: wide
    enough for the longest word. ``natural``: wide enough for the longest cell.
    """

    least: int
    readable: int
    whole: int
    natural: int


def fitted(grid: Grid, width: int | None, measure: Measure, words: Words, mark: str = "...") -> Fitted:
    """Return the table in ``width`` terminal columns (None: no limit). ``mark`` replaces the end of a cut text."""
    wishes = _wishes(grid.columns, grid.rows, measure, words)
    if width is None or _total(wish.natural for wish in wishes) <= width - grid.indent:
        return Fitted(columns=grid.columns, widths=tuple(wish.natural for wish in wishes), rows=grid.rows)
    room = width - grid.indent
    rows = tuple(
        tuple(
            _short(cell) if column.kind in _WITH_UUIDS else cell for column, cell in zip(grid.columns, row, strict=True)
        )
        for row in grid.rows
    )
    wishes = _wishes(grid.columns, rows, measure, words)
    kept = _kept(grid, wishes, room)
    columns = tuple(grid.columns[place] for place in kept)
    widths = _widths(columns, [wishes[place] for place in kept], room)
    return Fitted(
        columns=columns,
        widths=widths,
        rows=tuple(
            tuple(_cut(row[place], columns[at].kind, widths[at], measure, mark) for at, place in enumerate(kept))
            for row in rows
        ),
        left_out=tuple(column.name for place, column in enumerate(grid.columns) if place not in kept),
    )


def _short(cell: str) -> str:
    return _UUID.sub(r"\1", cell)


def _total(widths: Iterable[int]) -> int:
    listed = list(widths)
    return sum(listed) + GAP * max(0, len(listed) - 1)


def _wishes(columns: Sequence[Column], rows: Sequence[Sequence[str]], measure: Measure, words: Words) -> list[_Wish]:
    return [_wish(column, [row[place] for row in rows], measure, words) for place, column in enumerate(columns)]


def _wish(column: Column, cells: Sequence[str], measure: Measure, words: Words) -> _Wish:
    head = measure(column.heading)
    natural = max(head, *map(measure, cells)) if cells else head
    if column.kind not in _FLEXIBLE:
        return _Wish(natural, natural, natural, natural)
    text = column.kind is Kind.TEXT
    longest = max((measure(word) for cell in cells for word in words(cell)), default=0) if text else LEAST_NAME
    usual = READABLE_NAME if column.kind is Kind.NAME else READABLE_TEXT
    least = max(head, min(natural, longest, LEAST_TEXT if text else LEAST_NAME))
    readable = max(least, min(natural, column.readable or usual))
    return _Wish(least, readable, max(readable, min(natural, longest)), natural)


def _kept(grid: Grid, wishes: Sequence[_Wish], room: int) -> list[int]:
    """Return the indexes of the table columns that stay: as many as are readable in ``room`` terminal columns."""
    places = {column.name: place for place, column in enumerate(grid.columns)}
    kept = list(range(len(grid.columns)))
    for name in grid.leave_out:
        if _total(wishes[place].readable for place in kept) <= room:
            break
        kept.remove(places[name])
    return kept


def _widths(columns: Sequence[Column], wishes: Sequence[_Wish], room: int) -> tuple[int, ...]:
    """Return the columns' widths: first the least width, then as much more as fits.

    The remaining room is given out in three steps. Columns first get a usual width, then the width of their longest
    word, then the width of their longest cell. In each step, columns of names get room before columns of texts.
    """
    widths = [wish.least for wish in wishes]
    spare = room - _total(widths)
    for goal in ("readable", "whole", "natural"):
        for kind in _FLEXIBLE:
            for place, column in enumerate(columns):
                if column.kind is kind and spare > 0:
                    more = min(spare, max(0, getattr(wishes[place], goal) - widths[place]))
                    widths[place] += more
                    spare -= more
    return tuple(widths)


def _cut(cell: str, kind: Kind, width: int, measure: Measure, mark: str) -> str:
    """Return the cell, cut if it is too long.

    In a name, ``~`` replaces the middle; in ``GROUP/VOLUME`` the group is cut first. In a text (Kind.CUT), ``mark``
    replaces the end.
    """
    if kind not in (Kind.NAME, Kind.CUT) or measure(cell) <= width:
        return cell
    if kind is Kind.CUT:
        return f"{_head(cell, width - len(mark), measure)}{mark}"
    start, slash, end = cell.rpartition("/")
    if slash and measure(end) < width:
        # The group is cut first, because the volume's name says more: many volumes are in the same group.
        return f"{_head(start, width - 2 - measure(end), measure)}~/{end}" if measure(end) < width - 1 else f"~{end}"
    cell = end if slash else cell
    tail = _head(cell[::-1], (width - 1) // 2, measure)[::-1]
    return f"{_head(cell, width - 1 - measure(tail), measure)}~{tail}"


def _head(text: str, width: int, measure: Measure) -> str:
    """Return the longest beginning of the text that takes at most ``width`` terminal columns."""
    kept = text[:width]
    while measure(kept) > width:
        kept = kept[:-1]
    return kept
