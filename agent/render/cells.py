"""Turn the values of a list into cells: for a table of chosen columns, for the formats csv and value, and for sorting.

A value that is not known is ``-`` in a table, empty in the formats csv and value, and null in json and yaml. Pure: no
I/O.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence

from agent.render.layout import Column, Grid, Kind
from agent.text.amounts import number_text
from agent.text.wording import printable

#: A table shows this text for a value that is not known. For a value that is known to be absent, the cell is empty.
NOT_KNOWN = "-"


def flat_cell(value: object) -> object:
    """Return the value for the formats csv and value: null as "", a list as text, control characters escaped."""
    match value:
        case None:
            return ""
        case str():
            return printable(value)
        case list() | tuple() if all(isinstance(each, str) for each in value):
            return " ".join(map(printable, value))
        case list() | tuple() | dict():
            return json.dumps(value, sort_keys=True)
    return value


def table_cell(value: object) -> str:
    """Return the value as the text of a table cell, for people: for example "yes" for True."""
    match value:
        case None:
            return NOT_KNOWN
        case bool():
            return "yes" if value else "no"
        case int() | float():
            return number_text(value)
    return str(flat_cell(value))


def plain_grid(names: Sequence[str], rows: Iterable[Sequence[object]], headings: Mapping[str, str]) -> Grid:
    """Return the rows as a table. All columns stay, even on a narrow terminal.

    ``headings`` maps the name of a column to its heading. The heading of any other column is its name in capitals.
    """
    listed = [list(row) for row in rows]
    kinds = (_kind([row[at] for row in listed]) for at in range(len(names)))
    return Grid(
        columns=tuple(
            Column(name, headings.get(name, name.upper()), kind) for name, kind in zip(names, kinds, strict=True)
        ),
        rows=tuple(tuple(map(table_cell, row)) for row in listed),
    )


def for_sorting(value: object) -> tuple[bool, bool, float, str]:
    """Return a key that sorts numbers by size, then texts by letters, then values that are not known."""
    if isinstance(value, int | float):
        return (False, False, float(value), "")
    return (value is None, True, 0.0, "" if value is None else str(flat_cell(value)))


def _kind(values: Sequence[object]) -> Kind:
    if any(isinstance(value, int | float) and not isinstance(value, bool) for value in values):
        return Kind.NUMBER
    return Kind.TEXT if any(isinstance(value, str) and " " in value for value in values) else Kind.UUID
