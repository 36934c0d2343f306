"""Carry a reshape out: children that are not there yet, one POST for all of it, then the children that go.

The generations that are sent are those that it was decided on, so whatever was added to
one of the providers since refuses the whole of it, and nothing was changed: an equal
consumer may be one that went and came back, with another device. Nothing is sent twice
here; to decide again is the caller's. What was made before a refusal stays: an empty
provider offers nothing. A lost answer is looked up, as one of a single consumer's change.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial

from agent.errors import GenerationConflict, PlacementError, PlacementUnavailable
from agent.healing.consumer_json import after_json, is_as
from agent.healing.tree_unmoved import Tree, has_moved
from agent.healing.write import LOOKS, Outcome, journalled
from agent.journal import Change, Journal, Result
from agent.model.heal import ProviderChange, Reshaping
from agent.model.plan import CreateProvider, Reshape
from agent.parts import Errand
from agent.sources.base import AllocationWriter, Reshaper

DONE_WORDS = "moved as planned"


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What is to be done, the tree that it was decided on, and the journal's line for it."""

    reshaping: Reshaping
    tree: Tree
    change: Change


@dataclass(frozen=True, slots=True, kw_only=True)
class _Desk:
    """One order at work: with what, and its line in the journal."""

    errand: Errand
    order: Order
    reshaper: Reshaper
    allocations: AllocationWriter
    entry_id: str

    def ended(self, result: Result, words: str) -> Outcome:
        """The outcome of it."""
        return Outcome(result=result, words=words, entry_id=self.entry_id)


def reshape(errand: Errand, journal: Journal, order: Order) -> Outcome:
    """Carry it out; the caller holds the write lock. Never raises an AgentError: the outcome says it all."""
    reshaper, allocations = errand.parts.reshaper, errand.parts.allocations
    if reshaper is None or allocations is None:
        return Outcome(result=Result.REFUSED, words="this run has no access to consumers")
    problem = _moved(errand, allocations, order)
    if problem is not None:
        return problem
    desk = partial(_Desk, errand=errand, order=order, reshaper=reshaper, allocations=allocations)
    return journalled(journal, order.change, lambda entry_id: _carried_out(desk(entry_id=entry_id)))


def _moved(errand: Errand, allocations: AllocationWriter, order: Order) -> Outcome | None:
    """Why it must not be done now: a consumer or the tree are not as they were decided on, or cannot be read."""
    for change in order.reshaping.changes:
        try:
            now = allocations.consumer(change.before.consumer_uuid)
        except PlacementError as error:
            return Outcome(result=Result.REFUSED, words=f"nothing was changed: {error}", unread=True)
        if now != change.before:
            words = f"the world moved: consumer {now.consumer_uuid} is not as this was decided on"
            return Outcome(result=Result.REFUSED, words=words, moved=True)
    if has_moved(errand, order.tree):
        words = "the world moved: allocations came to this host since this was decided, or a provider was changed"
        return Outcome(result=Result.REFUSED, words=words, moved=True)
    return None


def _carried_out(desk: _Desk) -> Outcome:
    made: dict[str, int] = {}
    try:
        for provider in desk.order.reshaping.providers:
            if provider.before is None and provider.after is not None:
                made[provider.uuid] = desk.reshaper.create(_creation(provider))
        desk.reshaper.reshape(_body(desk.order, made))
    except GenerationConflict as error:
        said = f"the world moved, nothing was moved with it: {error}"
        return replace(desk.ended(Result.REFUSED, said + _left(desk.order, made)), moved=True)
    except PlacementUnavailable as error:
        return _looked_up(desk, made, error)
    except PlacementError as error:
        return desk.ended(Result.REFUSED, f"nothing was moved: {error}{_left(desk.order, made)}")
    return desk.ended(Result.DONE, DONE_WORDS + _removed(desk))


def _creation(provider: ProviderChange) -> CreateProvider:
    return CreateProvider(provider_uuid=provider.uuid, name=provider.name, parent_uuid=provider.parent_uuid)


def _body(order: Order, made: Mapping[str, int]) -> Reshape:
    """Each provider with its whole set; one that goes with none, before it is removed (scenario 156)."""
    known = {uuid: generation for uuid, generation in order.tree.generations if generation is not None}
    known.update(made)
    return Reshape(
        inventories=tuple(
            (provider.uuid, known[provider.uuid], provider.after or ())
            for provider in order.reshaping.providers
            if provider.uuid in known
        ),
        allocations=tuple(change.write for change in order.reshaping.changes),
    )


def _removed(desk: _Desk) -> str:
    """Remove those that go; what is said of one that cannot be. It offers nothing any more, so nothing is wrong."""
    said = ""
    for provider in reversed(desk.order.reshaping.providers):
        if provider.after is None and provider.before is not None:
            try:
                desk.reshaper.delete(provider.uuid)
            except PlacementError as error:
                said += f"; provider {provider.name} offers nothing now and could not be removed: {error}"
    return said


def _left(order: Order, made: Mapping[str, int]) -> str:
    names = ", ".join(provider.name for provider in order.reshaping.providers if provider.uuid in made)
    return f"; made for it and left, which offers nothing: {names}" if names else ""


def _looked_up(desk: _Desk, made: Mapping[str, int], lost: PlacementError) -> Outcome:
    """What became of a request without an answer; one that Placement may still be working on gets a little time."""
    words = f"the answer was lost ({lost})"
    for look in range(1, LOOKS + 1):
        desk.errand.parts.clock.wait(0.2 * look)
        try:
            done, untouched = _seen(desk)
        except PlacementError as error:
            lost = error
            continue
        if done:
            return desk.ended(Result.DONE, f"{words}; looked up: it was done{_removed(desk)}")
        if not untouched:
            said = f"{words}; looked up: a consumer holds something else now"
            return replace(desk.ended(Result.UNKNOWN, said), unread=True)
        if look == LOOKS:
            said = f"{words}; looked up: it was not done{_left(desk.order, made)}"
            return replace(desk.ended(Result.REFUSED, said), unread=True)
    return replace(desk.ended(Result.UNKNOWN, f"{words}; looking it up failed too: {lost}"), unread=True)


def _seen(desk: _Desk) -> tuple[bool, bool]:
    """Whether all consumers are as they are to be, and whether all are as they were. Raises PlacementError."""
    changes = desk.order.reshaping.changes
    now = [desk.allocations.consumer(change.before.consumer_uuid) for change in changes]
    pairs = list(zip(now, changes, strict=True))
    done = all(is_as(record, after_json(change.before, change.write)) for record, change in pairs)
    return done, all(record == change.before for record, change in pairs)
