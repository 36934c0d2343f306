"""``stocktake journal``: every change in the agent's journal, with the change's time, actor, reason and outcome."""

from __future__ import annotations

import argparse
import dataclasses
import datetime
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from agent.cmd.commands.base import FLAT, TABLE, ListCommand, Listing, argument
from agent.host_files.journal import Entry

if TYPE_CHECKING:
    from agent.cmd.naming.journal_selection import Selection


def _since(text: str) -> datetime.datetime:
    from agent.text.since import since

    try:
        return since(text, datetime.datetime.now(datetime.UTC))
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def _limit(text: str) -> int:
    if text.isascii() and text.isdecimal() and len(text) < 10 and int(text) > 0:
        return int(text)
    raise argparse.ArgumentTypeError(f"{text} is not a number of entries")


class Journal(ListCommand):
    """Print every change that heal, undo and adopt made or tried, oldest first; with -f json also the former values."""

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
        "actor",
    )
    HEADINGS = MappingProxyType({"entry": "id", "at_(utc)": "at", "consumer": "consumer_uuid"})
    ARGUMENTS = (
        argument(
            "--since", type=_since, metavar="TIME", help="only entries since this time: 2026-11-22T03:00 (UTC), 90m, 7d"
        ),
        argument("--limit", type=_limit, metavar="N", help="only the N newest entries"),
        argument("--code", action="append", default=[], metavar="CODE", help="only this finding code (repeatable)"),
        argument(
            "--consumer",
            action="append",
            default=[],
            metavar="UUID",
            help="only this consumer: its uuid (at least the first 8 characters) or the instance's name in the journal "
            "(repeatable)",
        ),
    )

    def listing(self, parsed_args: argparse.Namespace) -> tuple[Listing, int]:
        """Return the selected entries and the exit code: 2 if a line is unreadable (stderr names it), else 0."""
        from agent.cmd.exit_handling import to_stderr
        from agent.cmd.naming.journal_selection import selected
        from agent.cmd.not_root import require_own_files
        from agent.config.agent_options import agent_options_from
        from agent.config.load import load
        from agent.exit_codes import CLEAN, PARTIAL
        from agent.host_files.journal import FileJournal
        from agent.render.journal_grid import journal_grid

        loaded = load(self.app.options.config_file, self.app.options.config_dir)
        require_own_files(loaded)
        options = agent_options_from(loaded)
        read = FileJournal(options.state_dir, now=str).read()
        for problem in read.problems:
            to_stderr(f"journal: {problem}")
        entries = selected(read.entries, _selection(parsed_args, read.entries))
        in_words = parsed_args.formatter in (TABLE, *FLAT)
        found = [{**_row(entry), **(_in_words(entry) if in_words else {})} for entry in entries]
        rows = tuple(tuple(row[name] for name in self.COLUMNS) for row in found)
        empty = "the journal has no entry yet; `heal`, `undo` and `adopt` write the entries"
        nothing = "no entry of the journal matches" if read.entries else empty
        foot = () if rows else (nothing,)
        return Listing(self.COLUMNS, rows, journal_grid(found), foot), PARTIAL if read.problems else CLEAN


def _selection(parsed_args: argparse.Namespace, entries: tuple[Entry, ...]) -> Selection:
    """Return the filters. Raises UsageError if a typed uuid is too short or is the beginning of several uuids."""
    from agent.cmd.naming.journal_selection import Selection, named_in
    from agent.cmd.naming.prefixes import only_match

    known = [entry.change.consumer_uuid for entry in entries if entry.change.consumer_uuid]
    consumers = (
        uuid
        for typed in parsed_args.consumer
        for uuid in named_in(entries, typed) or (only_match("consumer", typed, known) or typed,)
    )
    return Selection(
        since=parsed_args.since,
        limit=parsed_args.limit,
        codes=frozenset(parsed_args.code),
        consumers=frozenset(consumers),
    )


def _row(entry: Entry) -> dict[str, Any]:
    """Return the value of each column. Values may be lists or objects."""
    row = {**dataclasses.asdict(entry.change), **dataclasses.asdict(entry), "result": entry.result.value}
    return {**row, "undone_by": list(entry.undone_by)}


def _in_words(entry: Entry) -> dict[str, str | None]:
    """Return the actor and the result as texts. The result is ``undone`` if an undo took the change back.

    JSON and YAML keep the recorded result, because they also have the list ``undone_by``.
    """
    result = "undone" if entry.undone_by else entry.result.value
    return {"actor": None if entry.actor is None else entry.actor.words, "result": result}
