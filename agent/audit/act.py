"""Decide, and carry the plan out where the role allows it; on a generation conflict look and decide again.

A stale write is never sent twice: every round starts from a fresh look at
Placement. Waits between rounds are capped, exponential and jittered. What Placement
refuses for good holds up nothing but what rests on it, and is told as a finding.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from agent.audit.current_state import deadline_of
from agent.audit.decide import Decision, decide, with_refusals
from agent.audit.parts import Errand
from agent.audit.read import read_placement, with_orphans
from agent.books.confirm import Look
from agent.errors import (
    Acknowledged,
    AgentError,
    AllocationRefused,
    ConflictKind,
    GenerationConflict,
    LockHeld,
    PlacementError,
    RecordRefused,
    SourceError,
    WritesRefused,
)
from agent.model.audit import AuditMemory, WrittenProvider
from agent.model.compared import Compared, Subject
from agent.model.finding import History
from agent.model.plan import AnyWrite, Applied, Plan, PutAllocations, PutInventories, RecordWrite, RefusedWrite
from agent.model.snapshot import Snapshot
from agent.timing.backoff import hold_s, wait_s
from agent.timing.full_read_schedule import Turn


@dataclass(frozen=True, slots=True, kw_only=True)
class Acted:
    """The last decision, the snapshot it rests on, and what became of its plan.

    ``done`` are the writes of all rounds that Placement acknowledged, ``refused`` what it refused in the last one.
    ``conflicts`` has every 409 that was met, in order. ``round_s`` is what the last round's writes took, and
    ``tried_at`` when they began, in monotonic seconds; ``hold_s`` is for the first ones of the next periodic audit.
    """

    snapshot: Snapshot
    decision: Decision
    published: bool = False
    done: tuple[AnyWrite, ...] = ()
    requests: int = 0
    conflicts: tuple[ConflictKind, ...] = ()
    attempts: int = 0
    error: AgentError | None = None
    refused: tuple[RefusedWrite, ...] = ()
    unknown_traits: frozenset[str] = frozenset()
    round_s: float = 0.0
    tried_at: float = 0.0
    hold_s: float = 0.0

    @property
    def writes_done(self) -> int:
        """How many writes Placement acknowledged."""
        return len(self.done)


def decide_and_act(errand: Errand, memory: AuditMemory, snapshot: Snapshot) -> Acted:
    """Rounds of decide and apply, at most ``conflict_rounds``; one round when there is nothing to write."""
    acted = Acted(
        snapshot=snapshot,
        decision=_decide(errand, memory, snapshot, memory.compared),
        requests=snapshot.placement.value.requests if snapshot.placement.value else 0,
        unknown_traits=memory.unknown_traits,
        hold_s=memory.hold_s,
    )
    if not errand.may_publish():
        return acted
    if not errand.request.is_periodic:
        return _rounds(errand, memory, acted)
    due = errand.parts.clock.monotonic()
    if memory.hold_s and not acted.decision.plan.is_empty:
        _pause(errand, memory.hold_s)
        acted = _look_again(errand, memory, acted)
    acted = _rounds(errand, memory, acted)
    lost = acted.conflicts.count(ConflictKind.PROVIDER_GENERATION)
    hold = hold_s(acted.hold_s, lost, acted.tried_at - due, errand.parts.random())
    return dataclasses.replace(acted, hold_s=hold)


def _rounds(errand: Errand, memory: AuditMemory, acted: Acted) -> Acted:
    """Apply, and after a conflict wait, look and decide again."""
    while not acted.decision.plan.is_empty:
        errand.stop_if_cancelled()
        began = errand.parts.clock.monotonic()
        acted = _apply(errand, acted)
        acted = dataclasses.replace(acted, round_s=errand.parts.clock.monotonic() - began, tried_at=began)
        is_moved = isinstance(acted.error, GenerationConflict | AllocationRefused)
        if not is_moved or acted.attempts >= errand.settings.conflict_rounds:
            break
        _pause(errand, wait_s(acted.attempts, errand.parts.random(), acted.round_s))
        memory = dataclasses.replace(memory, unknown_traits=acted.unknown_traits)
        tried, acted = acted, _look_again(errand, memory, acted)
        if isinstance(tried.error, AllocationRefused) and acted.decision.plan.digest == tried.decision.plan.digest:
            # Nobody took the room since we looked: Placement just does not agree that it is there.
            return _with_refusals(dataclasses.replace(acted, error=tried.error))
    return _with_refusals(acted)


def _pause(errand: Errand, seconds: float) -> None:
    """Wait, and ask Placement nothing more where a stop came meanwhile."""
    errand.parts.clock.wait(seconds)
    errand.stop_if_cancelled()


def _with_refusals(acted: Acted) -> Acted:
    """What Placement refuses is known only now, and is a finding of this audit."""
    if not acted.refused and acted.unknown_traits == acted.decision.world.unknown_traits:
        return acted
    told = with_refusals(acted.decision, acted.refused, acted.unknown_traits)
    return dataclasses.replace(acted, decision=told)


def _decide(errand: Errand, memory: AuditMemory, snapshot: Snapshot, before: Compared | None) -> Decision:
    history = memory.history or History()
    return decide(
        snapshot,
        errand.settings,
        _subject(memory),
        _written(errand, memory),
        before,
        added=history.added,
        history=history,
        unknown_traits=memory.unknown_traits,
        look=look_of(errand, snapshot),
    )


def look_of(errand: Errand, snapshot: Snapshot) -> Look:
    """When and how this audit looked, for what must be seen more than once."""
    clock, settings, view = errand.parts.clock, errand.settings, snapshot.placement.value
    return Look(
        now=clock.now(),
        confirm_audits=settings.confirm_audits,
        recorded_is_fresh=view is not None and view.allocations_fresh,
        all_read=all(reading.ok for reading in snapshot.readings),
        at=int(errand.began),
        ended=int(errand.read_by),
        boot=clock.boot(),
        apart_s=settings.confirm_spacing_s,
        within_s=settings.confirm_within_s,
    )


def _subject(memory: AuditMemory) -> Subject:
    identity = memory.identity
    return Subject(
        root_uuid=identity.uuid if identity else None,
        node=memory.node_name,
        identity_origin=identity.origin if identity else "",
    )


def _written(errand: Errand, memory: AuditMemory) -> WrittenProvider | None:
    """What to watch for a rival: nothing while we do not write, since nobody then writes over us."""
    return memory.written if errand.owns() else None


def _apply(errand: Errand, acted: Acted) -> Acted:
    acted = dataclasses.replace(acted, attempts=acted.attempts + 1)
    try:
        with errand.parts.lock.hold():
            applied = errand.parts.reporter.apply(acted.decision.plan, errand.cancelled)
            acted = dataclasses.replace(_counted(acted, applied), published=not applied.refused)
            acted = _beside_the_tree(errand, dataclasses.replace(acted, error=_refusal(applied)))
    except LockHeld as error:
        return dataclasses.replace(acted, error=error)
    except PlacementError as error:
        return _failed(_counted(acted, error.applied), error)
    return acted


def _beside_the_tree(errand: Errand, acted: Acted) -> Acted:
    """Consumers of our own, then nova's records, which say what Placement now has: nothing after one that failed.

    Where an inventory was refused for good consumers stay: what one that is emptied stands for is not in ``reserved``.
    """
    plan = acted.decision.plan
    has_inventory = not any(isinstance(refused.write, PutInventories) for refused in acted.refused)
    for write in (*(plan.allocations if has_inventory else ()), *plan.records):
        errand.stop_if_cancelled()
        try:
            acted = _carry_out(errand, acted, write)
        except (PlacementError, SourceError, RecordRefused) as error:
            return _failed(dataclasses.replace(acted, published=False), error)
    return _removed(errand, acted)


def _removed(errand: Errand, acted: Acted) -> Acted:
    """Providers of orphaned nodes, now that nova let their records go. One that came into use meanwhile stays."""
    if not acted.decision.plan.removals:
        return acted
    refused, published = acted.refused, acted.published
    try:
        applied = errand.parts.reporter.apply(Plan(writes=acted.decision.plan.removals), errand.cancelled)
    except PlacementError as error:
        return _failed(dataclasses.replace(_counted(acted, error.applied), refused=refused, published=False), error)
    acted = dataclasses.replace(_counted(acted, applied), refused=(*refused, *applied.refused))
    return dataclasses.replace(acted, published=published, error=acted.error or _refusal(applied))


def _carry_out(errand: Errand, acted: Acted, write: PutAllocations | RecordWrite) -> Acted:
    parts = errand.parts
    if isinstance(write, PutAllocations):
        if parts.allocations is None:
            return acted
        parts.allocations.put(write)
        return dataclasses.replace(acted, done=(*acted.done, write), requests=acted.requests + 1)
    if parts.records is None:
        return acted
    parts.records.apply(write, deadline_of(errand.settings))
    return dataclasses.replace(acted, done=(*acted.done, write))


def _failed(acted: Acted, error: AgentError) -> Acted:
    return dataclasses.replace(acted, error=error, conflicts=(*acted.conflicts, *_conflicts(error)))


def _conflicts(*errors: AgentError) -> tuple[ConflictKind, ...]:
    found = (error.conflict for error in errors if isinstance(error, PlacementError))
    return tuple(kind for kind in found if kind is not None)


def _refusal(applied: Applied) -> AgentError | None:
    """Why the plan was not done as a whole. Without a request id: it is the same sentence from audit to audit."""
    if not applied.refused:
        return None
    count = len(applied.refused)
    left = "one write and what rests on it" if count == 1 else f"{count} writes and what rests on them"
    return WritesRefused(f"refuses {left}; the others of the plan were done (see write-refused)")


def _counted(acted: Acted, applied: Acknowledged | None) -> Acted:
    if not isinstance(applied, Applied):
        return acted
    return dataclasses.replace(
        acted,
        done=(*acted.done, *applied.done),
        requests=acted.requests + applied.requests,
        refused=applied.refused,
        conflicts=(*acted.conflicts, *_conflicts(*(refused.error for refused in applied.refused))),
        unknown_traits=acted.unknown_traits | applied.unknown_traits,
    )


def _look_again(errand: Errand, memory: AuditMemory, acted: Acted) -> Acted:
    """Read 1 again and decide again; the other readings stand (they are later than the conflict's cause).

    Allocations too: a consumer that was deleted makes a conflict, and no provider's generation says so.
    """
    memory = dataclasses.replace(memory, recheck_recorded=True)
    read = read_placement(errand, memory, Turn.ALLOCATIONS)
    placement = with_orphans(errand, memory, read, acted.snapshot.nova.value)
    snapshot = dataclasses.replace(acted.snapshot, placement=placement)
    return dataclasses.replace(
        acted,
        snapshot=snapshot,
        decision=_decide(errand, memory, snapshot, acted.decision.compared),
        requests=acted.requests + (placement.value.requests if placement.value else 0),
        error=placement.error,
    )
