"""Change one consumer of Placement, with the journal's line before it and its outcome after it.

Nothing is written that rests on something old: before each try the consumer is read, and
when it is not the one that was decided on, nothing happens, nor when a provider of ours has
moved (tree_unmoved.py). A conflict of a provider elsewhere is another consumer's doing:
decided again, tried again, a few times. One of the consumer
itself ends it, though it may look as before the moment after: one that went and came
back, as in every move of an instance, has a generation that was seen. A lost answer is
looked up.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from oslo_log import log as logging

from agent.audit.parts import Errand
from agent.errors import ConsumerConflict, GenerationConflict, PlacementError, PlacementUnavailable, SourceUnavailable
from agent.healing.preconditions import looked_up, not_now
from agent.healing.tree_fingerprint import Tree
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
class Outcome:
    """How one change ended, in words; ``entry_id`` is None where nothing was tried.

    ``unread``: it was not tried, or is not known, because Placement or the journal was out of reach. ``moved``: nothing
    was changed since something else was meanwhile, and the same plan, decided again, may be tried again.
    ``unproven``: it was not tried, since nothing proves that the cloud's rows are of now.
    """

    result: Result
    words: str
    entry_id: str | None = None
    unread: bool = False
    moved: bool = False
    unproven: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Rewrite:
    """One consumer's change: what it must hold still, what it is to hold, and the journal's line for it.

    ``tree`` is how our tree must be still, None where the change rests on the consumer alone.
    """

    before: ConsumerRecord
    write: PutAllocations
    change: Change
    tree: Tree | None = None

    @property
    def changes(self) -> tuple[ConsumerChange]:
        """As a look takes them."""
        return (ConsumerChange(before=self.before, write=self.write),)


def rewrite(errand: Errand, journal: Journal, wanted: Rewrite) -> Outcome:
    """Carry it out; the caller holds the write lock. Never raises an AgentError: the outcome says it all."""
    allocations = errand.parts.allocations
    if allocations is None:
        return Outcome(result=Result.REFUSED, words=NO_ACCESS)
    problem = not_now(errand, allocations, wanted.changes, wanted.tree)
    if problem is not None:
        return Outcome(result=Result.REFUSED, words=problem.words, unread=problem.unread)
    return journalled(journal, wanted.change, lambda entry_id: _rounds(errand, allocations, wanted, entry_id))


def journalled(journal: Journal, change: Change, carry_out: Callable[[str], Outcome]) -> Outcome:
    """What ``carry_out`` makes of the change, given the id of its line in the journal; nothing without that line."""
    try:
        entry_id = journal.begin(change)
    except SourceUnavailable as error:
        return Outcome(result=Result.REFUSED, words=f"nothing was changed: {error}", unread=True)
    outcome = carry_out(entry_id)
    try:
        journal.end(entry_id, outcome.result, outcome.words)
    except SourceUnavailable as error:
        LOG.warning(events.JOURNAL_UNWRITTEN, extra={"entry_id": entry_id, "error": str(error)})
    return outcome


def _rounds(errand: Errand, allocations: AllocationWriter, wanted: Rewrite, entry_id: str) -> Outcome:
    rounds = errand.settings.conflict_rounds
    for conflict in range(1, rounds + 1):
        try:
            allocations.put(wanted.write)
        except ConsumerConflict as error:
            return Outcome(result=Result.REFUSED, words=f"the world moved: {error}", entry_id=entry_id)
        except GenerationConflict as error:
            last = error
        except PlacementUnavailable as error:
            fate = looked_up(errand.parts.clock, allocations, wanted.changes, error)
            unread = fate.result is not Result.DONE
            return Outcome(result=fate.result, words=fate.words, entry_id=entry_id, unread=unread)
        except PlacementError as error:
            return Outcome(result=Result.REFUSED, words=str(error), entry_id=entry_id)
        else:
            return Outcome(result=Result.DONE, words=DONE_WORDS, entry_id=entry_id)
        if conflict < rounds:
            errand.parts.clock.wait(wait_s(conflict, errand.parts.random()))
            problem = not_now(errand, allocations, wanted.changes, wanted.tree)
            if problem is not None:
                return Outcome(result=Result.REFUSED, words=problem.words, entry_id=entry_id, unread=problem.unread)
    words = f"{rounds} times refused, nothing was changed: {last}"
    return Outcome(result=Result.REFUSED, words=words, entry_id=entry_id)
