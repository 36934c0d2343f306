"""Run ``stocktake undo`` in the command's own process: find the journal entry and pass it to agent/healing/undo.py."""

from __future__ import annotations

import argparse
from dataclasses import dataclass

from agent.cmd import wiring
from agent.cmd.audited import loaded_for, task_of
from agent.cmd.exit_handling import to_stderr
from agent.cmd.heal_output import outcome_keys
from agent.cmd.wake import wake_after
from agent.exit_codes import CLEAN, PARTIAL, REFUSED
from agent.healing.attempt import WriteAttempt
from agent.healing.undo import NotFound, find_entry, undo
from agent.host_files.journal import Entry, Result
from agent.render.documents import SCHEMA_VERSION, Document


@dataclass(frozen=True, slots=True, kw_only=True)
class Undone:
    """The journal entry to undo, and the outcome of the undo."""

    entry: Entry
    outcome: WriteAttempt


def undone(options: argparse.Namespace, typed: str) -> Undone | NotFound:
    """Undo the entry with the id ``typed``. Raises ConfigError, and SourceUnavailable if the journal cannot be read."""
    loaded = loaded_for(options)
    journal = wiring.journal_of(loaded, "stocktake undo")
    read = journal.read()
    for problem in read.problems:
        to_stderr(f"journal: {problem}")
    entry = find_entry(read.entries, typed)
    if isinstance(entry, NotFound):
        return entry
    with task_of(options, loaded, "undo") as task, task.parts.request_scope(task.parts.new_id()):
        outcome = undo(task, journal, entry, {other.id: other for other in read.entries})
    wake_after(loaded, (outcome,))
    return Undone(entry=entry, outcome=outcome)


def code_of(found: Undone) -> int:
    """Return the exit code: 0 undone, 2 a source was unreachable or the outcome is unknown, 5 refused."""
    if found.outcome.result is Result.DONE:
        return CLEAN
    return PARTIAL if found.outcome.unread else REFUSED


def undo_document(found: Undone) -> Document:
    """Return the JSON document that ``stocktake undo`` prints.

    Key ``entry``: the entry to undo. Key ``entry_id``: the undo's own journal entry, None if nothing was attempted.
    """
    return {"schema_version": SCHEMA_VERSION, "entry": found.entry.id, **outcome_keys(found.outcome)}
