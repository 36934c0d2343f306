"""Look at consumers beside a write: before it, whether all is as decided on; after a lost answer, what became of it.

One consumer's change and a reshape ask the same. What a newcomer would get wrong: an
equal consumer is no proof that nothing happened, it may be one that went and came back;
so the tree is asked last, with one request (tree_unmoved.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agent.audit.parts import Clock, Errand
from agent.errors import PlacementError
from agent.healing.consumer_json import after_json, is_as
from agent.healing.tree_fingerprint import Tree, has_moved
from agent.host_files.journal import Result
from agent.model.heal import ConsumerChange
from agent.model.placement import ConsumerRecord
from agent.ports import AllocationWriter

LOOKS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class NotNow:
    """Why a write must not be made. ``unread``: something could not be asked; else something has moved.

    ``unproven``: nothing proves that the cloud's rows are of now, which another try at once would not change.
    """

    words: str
    unread: bool = False
    unproven: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Fate:
    """What became of a write whose answer was lost: done or unknown, for what is not done may be done yet.

    ``settled``: nothing that is still under way can change it. ``untouched``: at the last look all was as before.
    """

    result: Result
    words: str
    settled: bool
    untouched: bool = False


def not_now(
    errand: Errand, allocations: AllocationWriter, changes: Sequence[ConsumerChange], tree: Tree | None
) -> NotNow | None:
    """Whether a consumer or the tree is not as it was decided on; ``tree`` is None where nothing rests on it."""
    try:
        for change in changes:
            now = allocations.consumer(change.before.consumer_uuid)
            if now != change.before:
                return NotNow(words=_moved_words(now, change.before))
        if tree is None or not has_moved(errand, tree):
            return None
    except PlacementError as error:
        return NotNow(words=f"nothing was changed: {error}", unread=True)
    since = "allocations came to this host since this was decided, and may be a consumer's own"
    return NotNow(words=f"the world moved: {since}, or a provider was changed")


def looked_up(
    clock: Clock, allocations: AllocationWriter, changes: Sequence[ConsumerChange], lost: PlacementError
) -> Fate:
    """What became of it; a write that Placement may still be working on gets a little time."""
    for look in range(1, LOOKS + 1):
        clock.wait(0.2 * look)
        fate = _fate(allocations, changes, f"the answer was lost ({lost})")
        if fate.settled:
            break
    return fate


def _fate(allocations: AllocationWriter, changes: Sequence[ConsumerChange], lost: str) -> Fate:
    """Done when all are as they were to be. They are read one by one, so some may be seen before it and some after."""
    try:
        pairs = [(allocations.consumer(change.before.consumer_uuid), change) for change in changes]
    except PlacementError as error:
        return Fate(result=Result.UNKNOWN, words=f"{lost}; looking it up failed too: {error}", settled=False)
    undone = [(now, change) for now, change in pairs if not is_as(now, after_json(change.before, change.write))]
    if not undone:
        return Fate(result=Result.DONE, words=f"{lost}; looked up: it was done", settled=True)
    strange = [now.consumer_uuid for now, change in undone if now != change.before]
    if strange:
        held = f"something else than planned is held now by {', '.join(strange)}"
        return Fate(result=Result.UNKNOWN, words=f"{lost}; looked up: {held}", settled=True)
    # Placement may have it in its queue still, for longer than anybody waits here.
    words = f"{lost}; looked up: it was not done so far"
    return Fate(result=Result.UNKNOWN, words=words, settled=False, untouched=len(undone) == len(pairs))


def _moved_words(now: ConsumerRecord, before: ConsumerRecord) -> str:
    told = f"consumer {now.consumer_uuid} is not as this was decided on"
    if now.generation is None:
        return f"the world moved: {told}: it holds nothing now"
    if now.generation == before.generation:
        return f"the world moved: {told}: it went and came back with something else"
    generations = f"it is at generation {now.generation}, this was decided at {before.generation}"
    return f"the world moved: {told} ({generations})"
