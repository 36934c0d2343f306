"""Make the table of journal entries that ``stocktake journal`` shows to the operator. Pure: no I/O.

The rows are the rows of ``stocktake journal -f json``, but with the actor as text.
"""

from __future__ import annotations

from collections.abc import Sequence

from agent.render.cells import NOT_KNOWN
from agent.render.documents import Document
from agent.render.layout import Column, Grid, Kind

_COLUMNS = (
    Column("id", "ENTRY"),
    Column("at", "AT (UTC)"),
    Column("result", "RESULT"),
    Column("code", "CODE"),
    Column("consumer_uuid", "CONSUMER", Kind.UUID),
    Column("actor", "ACTOR", Kind.TEXT, readable=13),
    Column("why", "WHY", Kind.TEXT, readable=27),
)
_LEAVE_OUT = ("consumer_uuid", "code", "actor", "at")
_MINUTE = len("2026-11-21T12:00")
# The table shortens an entry's id to this number of digits, and ``stocktake undo`` accepts the short id. The other
# formats have the whole id.
_DIGITS = 8


def journal_grid(rows: Sequence[Document]) -> Grid:
    """Return the table of these journal entries."""
    return Grid(columns=_COLUMNS, rows=tuple(_cells(row) for row in rows), leave_out=_LEAVE_OUT)


def _cells(row: Document) -> tuple[str, ...]:
    undone = f" (undone by {', '.join(id_[:_DIGITS] for id_ in row['undone_by'])})" if row["undone_by"] else ""
    result = "undone" if row["undone_by"] else row["result"]
    what = row["code"] or row["kind"]
    actor = row["actor"] or NOT_KNOWN
    at = row["at"][:_MINUTE].replace("T", " ")
    return (row["id"][:_DIGITS], at, result, what, row["consumer_uuid"] or "", actor, f"{row['why']}{undone}")
