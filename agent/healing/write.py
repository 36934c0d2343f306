"""Change one consumer in Placement; write a journal line before the change and its outcome after it.

Before each try the consumer is read. If the consumer, or a provider of this host's tree, changed since the decision
(tree_fingerprint.py), nothing is written.

A generation conflict of a provider elsewhere comes from another consumer: check and try again, a few times. A conflict
of the consumer itself ends the change, even if the consumer looks unchanged a moment later. A consumer that was deleted
and created again, as in every move of an instance, may have a generation that the agent saw before. After a lost
response the consumer is read to find out whether the write was done.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from oslo_log import log as logging

from agent.audit.parts import AuditTask
from agent.errors import ConsumerConflict, GenerationConflict, PlacementError, PlacementUnavailable, SourceUnavailable
from agent.healing.preconditions import looked_up, not_now
from agent.healing.tree_fingerprint import TreeFingerprint
from agent.host_files.journal import Change, Journal, Result
from agent.model.heal import ConsumerChange
from agent.model.placement import ConsumerRecord
from agent.model.plan import PutAllocations
from agent.ports import AllocationWriter
from agent.telemetry import events
from agent.timing.backoff import wait_s

LOG = logging.getLogger(__name__)

DONE_WORDS = "changed as planned"
NO_ACCESS = "this run has no access to consumers"


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteAttempt:
    """The result of one change, with its reason in words; ``entry_id`` is None if nothing was tried.

    - ``unread``: Placement or the journal was out of reach, so the change was not tried or its result is unknown.
    - ``moved``: nothing was changed, because something else changed meanwhile; the caller may decide and try again.
    - ``unproven``: the change was not tried, because nothing proves that the cloud's rows are current.
    """

    result: Result
    words: str
    entry_id: str | None = None
    unread: bool = False
    moved: bool = False
    unproven: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Rewrite:
    """One consumer's change: the record that it must still have, its new allocations, and the journal line.

    ``tree`` is the provider tree that must still be the same, None if the change depends only on the consumer.
    """

    before: ConsumerRecord
    write: PutAllocations
    change: Change
    tree: TreeFingerprint | None = None

    @property
    def changes(self) -> tuple[ConsumerChange]:
        """The change as the functions of preconditions.py take it."""
        return (ConsumerChange(before=self.before, write=self.write),)


def rewrite(task: AuditTask, journal: Journal, wanted: Rewrite) -> WriteAttempt:
    """Carry out the change; the caller must have the write lock. Errors are in the outcome: never raises AgentError."""
    allocations = task.parts.allocations
    if allocations is None:
        return WriteAttempt(result=Result.REFUSED, words=NO_ACCESS)
    problem = not_now(task, allocations, wanted.changes, wanted.tree)
    if problem is not None:
        return WriteAttempt(result=Result.REFUSED, words=problem.words, unread=problem.unread)
    return journalled(journal, wanted.change, lambda entry_id: _rounds(task, allocations, wanted, entry_id))


def journalled(journal: Journal, change: Change, carry_out: Callable[[str], WriteAttempt]) -> WriteAttempt:
    """Write the journal line, call ``carry_out`` with its id, and write the outcome to the journal.

    If the line cannot be written, ``carry_out`` is not called and the outcome is REFUSED.
    """
    try:
        entry_id = journal.begin(change)
    except SourceUnavailable as error:
        return WriteAttempt(result=Result.REFUSED, words=f"nothing was changed: {error}", unread=True)
    outcome = carry_out(entry_id)
    try:
        journal.end(entry_id, outcome.result, outcome.words)
    except SourceUnavailable as error:
        LOG.warning(events.JOURNAL_UNWRITTEN, extra={"entry_id": entry_id, "error": str(error)})
    return outcome


def _rounds(task: AuditTask, allocations: AllocationWriter, wanted: Rewrite, entry_id: str) -> WriteAttempt:
    rounds = task.settings.conflict_rounds
    for conflict in range(1, rounds + 1):
        try:
            allocations.put(wanted.write)
        except ConsumerConflict as error:
            return WriteAttempt(result=Result.REFUSED, words=f"the state changed meanwhile: {error}", entry_id=entry_id)
        except GenerationConflict as error:
            last = error
        except PlacementUnavailable as error:
            fate = looked_up(task.parts.clock, allocations, wanted.changes, error)
            unread = fate.result is not Result.DONE
            return WriteAttempt(result=fate.result, words=fate.words, entry_id=entry_id, unread=unread)
        except PlacementError as error:
            return WriteAttempt(result=Result.REFUSED, words=str(error), entry_id=entry_id)
        else:
            return WriteAttempt(result=Result.DONE, words=DONE_WORDS, entry_id=entry_id)
        if conflict < rounds:
            task.parts.clock.wait(wait_s(conflict, task.parts.random()))
            problem = not_now(task, allocations, wanted.changes, wanted.tree)
            if problem is not None:
                return WriteAttempt(
                    result=Result.REFUSED, words=problem.words, entry_id=entry_id, unread=problem.unread
                )
    words = f"Placement refused {rounds} times, nothing was changed: {last}"
    return WriteAttempt(result=Result.REFUSED, words=words, entry_id=entry_id)
