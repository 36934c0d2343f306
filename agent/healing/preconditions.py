"""Check consumers before a write, and find out after a lost response whether Placement did the write.

A change of one consumer and a reshape use the same checks. A comparison of the consumer's generation and amounts is not
enough, because a client may have deleted the consumer and created it again with the same values. So the checks also
compare the time at which Placement last wrote the consumer, and the provider tree (tree_fingerprint.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agent.audit.parts import AuditTask, Clock
from agent.errors import PlacementError
from agent.healing.attempt import WriteAttempt, out_of_reach, refused
from agent.healing.consumer_json import after_json, is_as
from agent.healing.tree_fingerprint import TreeFingerprint, TreeShape, has_moved
from agent.host_files.journal import Result
from agent.model.heal import ConsumerChange
from agent.model.placement import ConsumerRecord
from agent.ports import AllocationWriter

READ_ATTEMPTS = 3
TREE_CHANGED = "nothing was changed: a provider or an allocation of this host changed after the agent planned the write"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fate:
    """The result of a write whose response was lost: DONE or UNKNOWN.

    The result is never REFUSED, because Placement may still carry out the write. If ``settled`` is True, heal need not
    read the consumers again. ``untouched``: when heal last read the consumers, none had changed.
    """

    result: Result
    words: str
    settled: bool
    untouched: bool = False


def not_now(
    task: AuditTask,
    allocations: AllocationWriter,
    changes: Sequence[ConsumerChange],
    tree: TreeFingerprint | TreeShape | None,
) -> WriteAttempt | None:
    """Return why the write must not be done: a consumer or the tree changed since the decision. Else return None.

    ``tree`` is None if the write does not depend on the tree.
    """
    try:
        # Another client may write between the read of the tree and the read of the consumers. Only the second
        # read can detect this write. A TreeFingerprint detects every write, because it contains generations: the tree
        # is read second. A TreeShape contains no generations: the consumers are read second, and their records show the
        # write.
        if isinstance(tree, TreeShape) and has_moved(task, tree):
            return refused(TREE_CHANGED)
        for change in changes:
            now = allocations.consumer(change.before.consumer_uuid)
            if now != change.before or _is_rewritten(now, change.before):
                return refused(_moved_words(now, change.before))
        if isinstance(tree, TreeFingerprint) and has_moved(task, tree):
            return refused(TREE_CHANGED)
    except PlacementError as error:
        return out_of_reach(error)
    return None


def _is_rewritten(now: ConsumerRecord, before: ConsumerRecord) -> bool:
    """Return whether Placement may have written the consumer's record after ``before`` was read.

    The two records have equal content. A write is possible if ``before`` shows the time of the last write, but ``now``
    shows another time or no time.
    """
    return before.written is not None and (now.written is None or now.written.at != before.written.at)


def is_settled(before: ConsumerRecord) -> bool:
    """Return whether a later write is sure to change the record's time ``written``.

    Placement's servers set this time, and their clocks may differ. So a later write may set the same time again, unless
    the record is older than the largest possible difference between the clocks.
    """
    return before.is_older_than(0.0)


def fate_of(
    clock: Clock, allocations: AllocationWriter, changes: Sequence[ConsumerChange], lost: PlacementError
) -> Fate:
    """Return the Fate of the write whose response was lost (``lost``): whether Placement did the write.

    Reads the consumers up to three times, because Placement may still be writing.
    """
    for attempt in range(1, READ_ATTEMPTS + 1):
        clock.wait(0.2 * attempt)
        fate = _fate(allocations, changes, lost)
        if fate.settled:
            break
    return fate


def _fate(allocations: AllocationWriter, changes: Sequence[ConsumerChange], lost: PlacementError) -> Fate:
    """Read the consumers once; return DONE if all have their planned allocations, otherwise UNKNOWN.

    Placement's answer to the write was lost, so Placement may carry out the write while the agent reads the consumers
    one by one. Then only some of them have their planned allocations, and the result is UNKNOWN.
    """
    try:
        pairs = [(allocations.consumer(change.before.consumer_uuid), change) for change in changes]
    except PlacementError as error:
        words = f"Placement's answer was lost ({lost}), and the check afterwards failed too: {error}"
        return Fate(result=Result.UNKNOWN, words=words, settled=False)
    undone = [(now, change) for now, change in pairs if not is_as(now, after_json(change.before, change.write))]
    if not undone:
        words = f"Placement's answer was lost ({lost}); heal checked afterwards: the change was done"
        return Fate(result=Result.DONE, words=words, settled=True)
    if strange := ", ".join(now.consumer_uuid for now, change in undone if now != change.before):
        other = f"consumer {strange} has neither the earlier nor the planned allocations now"
        words = f"Placement's answer was lost ({lost}); heal checked afterwards: {other}"
        return Fate(result=Result.UNKNOWN, words=words, settled=True)
    # The result is not final: Placement may still carry out the write, even after the last read of the consumers.
    words = f"Placement's answer was lost ({lost}); heal checked afterwards: Placement had not done the change yet"
    return Fate(result=Result.UNKNOWN, words=words, settled=False, untouched=len(undone) == len(pairs))


def _moved_words(now: ConsumerRecord, before: ConsumerRecord) -> str:
    changed = f"nothing was changed: consumer {now.consumer_uuid} changed since it was read"
    if now.generation is None:
        return f"{changed}, and has no allocations now"
    if now.generation == before.generation:
        return f"{changed}: another client deleted and recreated the consumer"
    return f"{changed} (generation {now.generation} now, {before.generation} when heal read the consumer)"
