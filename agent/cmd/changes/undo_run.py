"""Run ``stocktake undo`` in the command's own process: find the journal entry and pass it to agent/healing/undo.py."""

from __future__ import annotations

import argparse
from dataclasses import dataclass

from agent.cmd import wiring
from agent.cmd.audited import loaded_for, task_of
from agent.cmd.changes.heal_output import outcome_keys
from agent.cmd.exit_handling import to_stderr
from agent.cmd.naming.prefixes import LEAST_OF_ENTRY, only_match
from agent.cmd.not_root import require_root
from agent.cmd.wake import wake_after
from agent.exit_codes import CLEAN, PARTIAL, REFUSED
from agent.healing.attempt import WriteAttempt
from agent.healing.undo import undo
from agent.host_files.journal import Entry, Result
from agent.render.documents import SCHEMA_VERSION, Document
from agent.usage_error import UsageError


@dataclass(frozen=True, slots=True, kw_only=True)
class Undone:
    """The journal entry to undo, and the outcome of the undo."""

    entry: Entry
    outcome: WriteAttempt


def undone(options: argparse.Namespace, typed: str) -> Undone:
    """Undo the entry whose id is or begins with ``typed``.

    Raises ConfigError if the configuration is wrong, SourceUnavailable if the journal cannot be read, and UsageError if
    no entry or several entries match.
    """
    loaded = loaded_for(options)
    require_root(loaded)
    journal = wiring.journal_of(loaded, "stocktake undo")
    read = journal.read()
    for problem in read.problems:
        to_stderr(f"journal: {problem}")
    entry = entry_of(read.entries, typed)
    with task_of(options, loaded, "undo") as task, task.parts.request_scope(task.parts.new_id()):
        outcome = undo(task, journal, entry, {other.id: other for other in read.entries})
    wake_after(loaded, (outcome,))
    return Undone(entry=entry, outcome=outcome)


def entry_of(entries: tuple[Entry, ...], typed: str) -> Entry:
    """Return the entry whose id is or begins with ``typed``. Raises UsageError if no entry or several entries match."""
    if not typed:
        # A script may pass an empty variable as the id, and an empty id would match every entry.
        raise UsageError("no entry id was passed: `stocktake journal` lists the ids")
    by_id = {entry.id: entry for entry in entries}
    found = only_match("journal entry", typed, by_id, LEAST_OF_ENTRY)
    if found is None:
        raise UsageError(f"the journal has no entry {typed}")
    return by_id[found]


def code_of(found: Undone) -> int:
    """Return the exit code: 0 undone, 2 a source was unreachable or the outcome is unknown, 5 refused."""
    if found.outcome.result is Result.DONE:
        return CLEAN
    return PARTIAL if found.outcome.unread else REFUSED


def undo_document(found: Undone) -> Document:
    """Return the JSON document that ``stocktake undo`` prints.

    ``entry`` is the id of the entry to undo. ``entry_id`` is the id of the undo's own journal entry, or None if nothing
    was attempted.
    """
    return {"schema_version": SCHEMA_VERSION, "entry": found.entry.id, **outcome_keys(found.outcome)}
