"""``stocktake journal``: every change that the agent journalled, with its time, reason and outcome."""

from __future__ import annotations

import argparse
import dataclasses
import json
from typing import Any

from agent.cmd.commands.base import ListCommand, Listing, Row, terminal_width
from agent.host_files.journal import Entry

# The output formats in which a cell may be a list or an object; in the other formats such a cell is text.
NESTED = ("json", "yaml")
# The width of the borders and blanks of a table with two columns.
FRAME = 7


class Journal(ListCommand):
    """Print every change that heal, undo and adopt made or tried, oldest first, with the values before the change."""

    COLUMNS = (
        "id",
        "at",
        "kind",
        "code",
        "consumer_uuid",
        "provider_uuid",
        "result",
        "words",
        "why",
        "undoes",
        "undone_by",
        "finding_id",
        "audit_id",
        "plan_digest",
        "before",
        "after",
        "ended_at",
    )

    def listing(self, parsed_args: argparse.Namespace) -> tuple[Listing | None, int]:
        """Return all entries. Report a line that is not a journal entry on stderr; the exit code is then 2."""
        from agent.cmd.audited import loaded_for
        from agent.cmd.exit_handling import to_stderr
        from agent.cmd.wiring import journal_of
        from agent.exit_codes import CLEAN, PARTIAL

        read = journal_of(loaded_for(self.app.options)).read()
        for problem in read.problems:
            to_stderr(f"journal: {problem}")
        nested = parsed_args.formatter in NESTED
        rows = tuple(tuple(_row(entry, nested=nested)[name] for name in self.COLUMNS) for entry in read.entries)
        people = tuple(_people(entry, terminal_width()) for entry in read.entries)
        foot = () if people else ("heal, undo and adopt have changed nothing yet",)
        return Listing(self.COLUMNS, rows, ("entry", "why"), people, foot), PARTIAL if read.problems else CLEAN


def _people(entry: Entry, width: int) -> Row:
    """Return two cells for ``width`` columns (80 at least). The first cell names the entries that undid this entry."""
    from agent.render.audit_text import LEFT_WIDTH
    from agent.text.wording import printable, wrapped

    undone = (f"undone by {uuid}" for uuid in entry.undone_by)
    left = (entry.id, entry.at, entry.change.code or entry.change.kind, entry.result.value, *undone)
    why = wrapped(printable(entry.change.why), max(width - FRAME - LEFT_WIDTH, LEFT_WIDTH), indent="")
    return "\n".join(map(printable, left)), "\n".join(why)


def _row(entry: Entry, *, nested: bool) -> dict[str, Any]:
    """Return the value of each column. Unless ``nested``, ``before``, ``after`` and ``undone_by`` become text."""
    row = {**dataclasses.asdict(entry.change), **dataclasses.asdict(entry), "result": entry.result.value}
    if nested:
        return {**row, "undone_by": list(entry.undone_by)}
    documents = {name: json.dumps(row[name], sort_keys=True) for name in ("before", "after")}
    return {**row, "undone_by": " ".join(entry.undone_by), **documents}
