"""Show the rows of ``stocktake inventory`` and ``stocktake traits`` to people. Pure: no I/O.

The rows come from the JSON documents (documents.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from agent.render.cells import NOT_KNOWN
from agent.render.documents import Document
from agent.render.layout import Column, Grid, Kind, Line, line
from agent.text.amounts import beside_its_class, number_text

#: The agent decides these fields of an inventory.
FIELDS = ("total", "reserved", "min_unit", "max_unit", "step_size", "allocation_ratio")
ABSENT, UNWANTED, UNKNOWN = "absent", "unwanted", "unknown"
_WHERE = (
    Column("provider", "PROVIDER", Kind.NAME, readable=10),
    Column("provider_uuid", "UUID", Kind.UUID),
    Column("resource_class", "CLASS"),
)
_WANTED = (
    *_WHERE,
    Column("total", "TOTAL", Kind.NUMBER),
    Column("reserved", "RESERVED", Kind.NUMBER),
    Column("allocation_ratio", "RATIO", Kind.NUMBER),
    Column("used", "USED", Kind.NUMBER),
    Column("free", "FREE", Kind.NUMBER),
    Column("min_unit", "MIN_UNIT", Kind.NUMBER),
    Column("max_unit", "MAX_UNIT", Kind.NUMBER),
    Column("step_size", "STEP_SIZE", Kind.NUMBER),
)
_DIFF = (*_WHERE, Column("differs", "DIFFERS"), Column("change", "CHANGE", Kind.TEXT))
_TRAITS = (
    Column("provider", "PROVIDER", Kind.NAME),
    Column("provider_uuid", "UUID", Kind.UUID),
    Column("trait", "TRAIT"),
    Column("state", "STATE", Kind.TEXT),
    Column("owner", "OWNER"),
)


def inventory_grid(rows: Sequence[Document]) -> Grid:
    """Return the table of the wanted inventory."""
    leave_out = ("provider_uuid", "min_unit", "step_size", "max_unit", "allocation_ratio", "reserved")
    return Grid(columns=_WANTED, rows=tuple(_wanted(row) for row in rows), leave_out=leave_out)


def diff_grid(rows: Sequence[Document]) -> Grid:
    """Return the table of the inventories that the agent would change in Placement.

    The function ``difference`` computes the column ``differs``.
    """
    return Grid(columns=_DIFF, rows=tuple(_diff(row) for row in rows), leave_out=("provider_uuid",))


def diff_foot(rows: Sequence[Document]) -> Iterator[Line]:
    """Yield lines that explain the words and arrows of the table, or one line that says that nothing differs."""
    words = {row["differs"] for row in rows}
    if words <= {""}:
        yield line("nothing differs")
    elif words <= {"", UNKNOWN}:
        yield line("not compared: Placement was not read")
    else:
        yield line("a change is written as: recorded value -> wanted value", hang=2)


def difference(row: Document) -> str:
    """Return the names of the fields whose wanted value differs from Placement's; "" if none differs.

    ``absent``: Placement does not have the inventory. ``unwanted``: only Placement has it. ``unknown``: Placement was
    not read.
    """
    if row["used"] is None:
        return UNKNOWN
    if row["total"] is None:
        return UNWANTED
    if row["recorded_total"] is None:
        return ABSENT
    return ",".join(field for field in FIELDS if row[field] != row[f"recorded_{field}"])


def traits_grid(rows: Sequence[Document]) -> Grid:
    """Return the table of traits."""
    cells = tuple((row["provider"], row["provider_uuid"], row["trait"], _state(row), row["owner"]) for row in rows)
    return Grid(columns=_TRAITS, rows=cells, leave_out=("provider_uuid", "owner", "provider"))


def _wanted(row: Document) -> tuple[str, ...]:
    name = str(row["resource_class"])
    amounts = [_amount(name, row[field]) for field in ("total", "reserved")]
    units = [_number(row[field]) for field in ("min_unit", "max_unit", "step_size")]
    use = [_amount(name, row[field]) for field in ("used", "free")]
    return (row["provider"], row["provider_uuid"], name, *amounts, _number(row["allocation_ratio"]), *use, *units)


def _diff(row: Document) -> tuple[str, ...]:
    differs = row["differs"]
    word = differs if differs in (ABSENT, UNWANTED, UNKNOWN) else "differs" if differs else "no"
    change = NOT_KNOWN if differs == UNKNOWN else "; ".join(_changes(row))
    return (row["provider"], row["provider_uuid"], str(row["resource_class"]), word, change)


def _changes(row: Document) -> Iterator[str]:
    """Yield a text for each field that differs: the field's name, its recorded value and its wanted value.

    If Placement does not have the inventory, yield the wanted value of each field.
    """
    name, differs = str(row["resource_class"]), row["differs"]
    for field in FIELDS:
        there, here = row[f"recorded_{field}"], row[field]
        if differs == ABSENT:
            yield f"{field} {_value(name, field, here)}"
        elif differs == UNWANTED:
            yield f"{field} {_value(name, field, there)} -> none"
        elif there != here:
            yield f"{field} {_value(name, field, there)} -> {_value(name, field, here)}"


def _value(name: str, field: str, value: float | None) -> str:
    return _amount(name, value) if field in ("total", "reserved") else _number(value)


def _amount(name: str, value: float | None) -> str:
    return NOT_KNOWN if value is None else beside_its_class(name, value)


def _number(value: float | None) -> str:
    return NOT_KNOWN if value is None else number_text(value)


def _state(row: Document) -> str:
    if row["recorded"] is None:
        return "wanted, not compared"
    if row["wanted"]:
        return "recorded" if row["recorded"] else "to add"
    return "to remove"
