"""Change one consumer in Placement; write a journal line before the change and the outcome after the change.

Before each attempt the module reads the consumer. If the consumer, or a provider of this host's tree, changed since the
decision (tree_fingerprint.py), the module writes nothing.

A write may fail with a generation conflict. If the conflict is about a provider outside this host's tree, because of
another consumer's change there, the module checks again and retries a few times. If the conflict is about the consumer
itself, the change ends, even if the consumer looks unchanged a moment later: the consumer may have been deleted and
created again. After a lost response the module reads the consumer to find out whether Placement did the write.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from agent.audit.parts import AuditTask
from agent.errors import ConsumerConflict, GenerationConflict, PlacementError, PlacementUnavailable, SourceUnavailable
from agent.healing.attempt import DONE_WORDS, NO_ACCESS, WriteAttempt, out_of_reach, refused
from agent.healing.preconditions import fate_of, not_now
from agent.healing.tree_fingerprint import TreeFingerprint, TreeShape
from agent.host_files.journal import Change, Entry, Journal, Json, Result
from agent.model.heal import ConsumerChange
from agent.ports import AllocationWriter
from agent.telemetry import events
from agent.telemetry.event_log import log_event
from agent.timing.backoff import wait_s


def rewrite(
    task: AuditTask,
    journal: Journal,
    line: Change,
    change: ConsumerChange,
    tree: TreeFingerprint | TreeShape | None = None,
) -> WriteAttempt:
    """Write the change of one consumer to Placement, and journal the change with ``line``.

    The caller must have the write lock. ``tree`` is the provider tree on which the change was decided, None if the
    change depends only on the consumer. If the tree has changed since, the function writes nothing to Placement. The
    function never raises AgentError: the returned WriteAttempt has the error.
    """
    allocations = task.parts.allocations
    if allocations is None:
        return refused(NO_ACCESS)
    problem = not_now(task, allocations, (change,), tree)
    return problem or journalled(journal, line, lambda: _rounds(task, allocations, change, tree))


def journalled(journal: Journal, line: Change, carry_out: Callable[[], WriteAttempt]) -> WriteAttempt:
    """Write the journal line, call ``carry_out``, journal its outcome, and return the outcome with the line's id.

    If the line cannot be written, ``carry_out`` is not called and the outcome is REFUSED.
    """
    try:
        entry_id = journal.begin(line)
    except SourceUnavailable as error:
        return out_of_reach(error)
    outcome = replace(carry_out(), entry_id=entry_id)
    try:
        journal.end(entry_id, outcome.result, outcome.words)
    except SourceUnavailable as error:
        log_event(events.JOURNAL_UNWRITTEN, entry_id=entry_id, error=str(error))
    return outcome


def undoing(entry: Entry, before: Json, after: Json) -> Change:
    """Return the journal line of the change that undoes ``entry``."""
    change = entry.change
    why = f"revert the change of journal entry {entry.id} (made for {change.code or change.kind})"
    return replace(change, why=why, before=before, after=after, audit_id=None, plan_digest=None, undoes=entry.id)


def _rounds(
    task: AuditTask,
    allocations: AllocationWriter,
    change: ConsumerChange,
    tree: TreeFingerprint | TreeShape | None,
) -> WriteAttempt:
    rounds = task.settings.conflict_rounds
    for conflict in range(1, rounds + 1):
        try:
            allocations.put(change.write)
        except ConsumerConflict as error:
            return refused(f"nothing was changed, because the consumer changed meanwhile: {error}")
        except GenerationConflict as error:
            last = error
        except PlacementUnavailable as error:
            fate = fate_of(task.parts.clock, allocations, (change,), error)
            return WriteAttempt(result=fate.result, words=fate.words, unread=fate.result is not Result.DONE)
        except PlacementError as error:
            return refused(str(error))
        else:
            return WriteAttempt(result=Result.DONE, words=DONE_WORDS)
        if conflict < rounds:
            task.parts.clock.wait(wait_s(conflict, task.parts.random()))
            problem = not_now(task, allocations, (change,), tree)
            if problem is not None:
                return problem
    return refused(f"nothing was changed, because Placement refused all {rounds} tries: {last}")
