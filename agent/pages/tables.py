"""Make the cells of tables. Pure: no I/O."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from agent.pages.blocks import Cell, Column, Meaning, Table
from agent.pages.sizes import beside_its_class, by_the_rule
from agent.render.cells import NOT_KNOWN as GRID_NOT_KNOWN
from agent.render.layout import Column as GridColumn
from agent.render.layout import Grid, Kind
from agent.text.amounts import number_text
from agent.text.wording import printable

#: The text of a cell whose value is not known; an unknown value is never shown as 0.
NOT_KNOWN = "?"
#: A text with more characters is cut: a tenant may have chosen a name of thousands of characters.
MOST_CHARACTERS = 200


def text(value: str, meaning: Meaning | None = None) -> Cell:
    """Return a cell with a text, cut if it is very long."""
    return Cell(text=cut(value), meaning=meaning)


def cut(value: str, most: int = MOST_CHARACTERS) -> str:
    """Return the text with escaped control characters, cut with ``...`` after ``most`` characters."""
    shown = printable(value[: most + 1])
    return shown if len(shown) <= most else f"{shown[: most - 3]}..."


def was_unread(sources: Sequence[str]) -> str:
    """Return ``lvm was not read``, or ``placement and lvm were not read``.

    If ``sources`` is empty, return ``a source was not read``.
    """
    *most, last = tuple(sources) or ("a source",)
    names = f"{', '.join(most)} and {last}" if most else last
    return f"{names} {'were' if most else 'was'} not read"


def number(value: float | None) -> Cell:
    """Return a cell with a number, ``?`` if it is not known."""
    return Cell(text=NOT_KNOWN) if value is None else Cell(text=number_text(value))


def amount(resource_class: str, value: float | None, *, none: str = "") -> Cell:
    """Return a cell with an amount of the resource class that the row names; ``none`` is the text for None."""
    return Cell(text=none if value is None else beside_its_class(resource_class, value))


def of_grid(table_id: str, caption: str, grid: Grid, without: Collection[str] = (), search: str = "") -> Table:
    """Return a command's table as a table of a page; columns whose names are in ``without`` are left out."""
    places = [place for place, column in enumerate(grid.columns) if column.name not in without]
    return Table(
        id=table_id,
        caption=caption,
        columns=tuple(_column(grid.columns[place]) for place in places),
        rows=tuple(tuple(_cell(by_the_rule(row[place])) for place in places) for row in grid.rows),
        search=search,
    )


def _column(column: GridColumn) -> Column:
    return Column(
        heading=column.heading.lower().replace("_", " "),
        is_number=column.kind is Kind.NUMBER,
        is_code=column.kind is Kind.UUID,
        is_word=column.kind is Kind.WORD,
    )


def _cell(value: str) -> Cell:
    return Cell(text=NOT_KNOWN if value == GRID_NOT_KNOWN else cut(value))
