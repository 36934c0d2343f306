"""Undo a journal entry: check that it may be undone, and call the handler for its kind.

A new kind needs a handler and a line in HANDLERS. A handler writes a journal line before each change (``Change.undoes``
names the undone entry). A handler that must not undo the entry returns a refusal with the reason. If a handler raises
PlacementError or SourceError, a read before the change failed and nothing was changed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from agent.audit.parts import AuditTask
from agent.errors import LockHeld, PlacementError, SourceError
from agent.healing.attempt import WriteAttempt, out_of_reach, refused
from agent.healing.identity_journal import FILE_KIND, NAME_KIND, RECORD_KIND, STORE_KIND
from agent.healing.reshape_journal import KIND as RESHAPE_KIND
from agent.healing.undo_allocations import undo_allocations
from agent.healing.undo_identity import undo_file, undo_name, undo_record, undo_store
from agent.healing.undo_reshape import undo_reshape
from agent.host_files.journal import Entry, Journal, Result
from agent.model.settings import Role

Handler = Callable[[AuditTask, Journal, Entry], WriteAttempt]

HANDLERS: Mapping[str, Handler] = {
    "allocations": undo_allocations,
    RESHAPE_KIND: undo_reshape,
    FILE_KIND: undo_file,
    NAME_KIND: undo_name,
    RECORD_KIND: undo_record,
    STORE_KIND: undo_store,
}


def undo(task: AuditTask, journal: Journal, entry: Entry, known: Mapping[str, Entry]) -> WriteAttempt:
    """Undo the entry under the write lock, or return a refusal with the reason. ``known`` has all entries by id."""
    problem = _problem(task, entry, known)
    handler = HANDLERS.get(entry.change.kind)
    if problem is not None or handler is None:
        return refused(problem or f"this program cannot undo a change of kind {entry.change.kind}")
    try:
        with task.parts.lock.hold():
            return handler(task, journal, entry)
    except (LockHeld, PlacementError, SourceError) as error:
        return out_of_reach(error)


def _problem(task: AuditTask, entry: Entry, known: Mapping[str, Entry]) -> str | None:
    # A change of kind STORE_KIND is in a file of the agent, not in Placement. So even role observer may undo it.
    if task.settings.role is Role.OBSERVER and entry.change.kind != STORE_KIND:
        return "role observer changes nothing"
    if entry.result is Result.REFUSED:
        return f"nothing to undo, because the change of this journal entry was refused: {entry.words}"
    done = [other for other in entry.undone_by if other in known and known[other].result is Result.DONE]
    return f"the entry was undone already, by entry {done[-1]}" if done else None
