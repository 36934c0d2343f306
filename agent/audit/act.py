"""Decide what to write to Placement and to nova's database, and write it if the agent may.

The agent's role and the request for the audit decide whether the agent may write. If Placement reports a conflict, the
agent waits, reads Placement again and decides again, so it never sends a stale write twice. The waits grow
exponentially, with a maximum and jitter. If Placement rejects a write permanently, the agent skips only the writes that
depend on the rejected write, and a finding reports the rejection.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from agent.audit.checked import checks_of
from agent.audit.current_state import deadline_of
from agent.audit.decide import Decision, decide, with_refusals
from agent.audit.light_or_full import why_not_enough
from agent.audit.parts import AuditTask
from agent.audit.read import read_placement, with_full_state, with_orphans, with_storage
from agent.books.confirm import AuditReads
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
from agent.model.audit import AuditMemory
from agent.model.compared import Compared, Subject
from agent.model.placement import PlacementView
from agent.model.plan import AnyWrite, Applied, Plan, PutAllocations, PutInventories, RecordWrite, RefusedWrite
from agent.model.settings import Role
from agent.model.snapshot import Snapshot
from agent.timing.backoff import hold_s, wait_s
from agent.timing.full_read_schedule import Turn


@dataclass(frozen=True, slots=True, kw_only=True)
class Acted:
    """What an audit decided and wrote.

    After a conflict (HTTP 409) an audit reads, decides and writes again. These fields are about the last round:

    - ``snapshot`` and ``decision``: what the audit read and decided;
    - ``refused``: the writes that Placement rejected;
    - ``tried_at``: when the writes began, in monotonic seconds;
    - ``round_s``: how many seconds the writes took.

    ``done`` has the acknowledged writes of the whole audit, ``conflicts`` the kinds of all its conflicts in order.
    ``hold_s``: how many seconds the next periodic audit waits before its first write.
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


def decide_and_act(task: AuditTask, memory: AuditMemory, snapshot: Snapshot) -> Acted:
    """Decide what to write. If a write is allowed and necessary, send it, up to ``conflict_rounds`` times."""
    snapshot, decision = _decided(task, memory, snapshot)
    acted = Acted(
        snapshot=snapshot,
        decision=decision,
        requests=snapshot.placement.value.requests if snapshot.placement.value else 0,
        unknown_traits=memory.unknown_traits,
        hold_s=memory.hold_s,
    )
    if not task.may_publish():
        return acted
    if not task.request.is_periodic:
        return _rounds(task, memory, acted)
    due = task.parts.clock.monotonic()
    if memory.hold_s and not acted.decision.plan.is_empty:
        _pause(task, memory.hold_s)
        acted = _read_again(task, memory, acted)
    acted = _rounds(task, memory, acted)
    lost = acted.conflicts.count(ConflictKind.PROVIDER_GENERATION)
    hold = hold_s(acted.hold_s, lost, acted.tried_at - due, task.parts.random())
    return dataclasses.replace(acted, hold_s=hold)


def _decided(task: AuditTask, memory: AuditMemory, snapshot: Snapshot) -> tuple[Snapshot, Decision]:
    """Return the snapshot and the decision.

    The snapshot may have only a light read, which says whether nova's rows may have changed. If the decision then has
    new findings or a write, read nova's rows in full and decide again.
    """
    decision = _decide(task, memory, snapshot, memory.compared)
    if not snapshot.state_read.is_light:
        return snapshot, decision
    is_writing = task.may_publish() and not decision.plan.is_empty
    why = why_not_enough(decision.findings, memory, is_writing=is_writing)
    if not why:
        return snapshot, decision
    snapshot = with_storage(task, with_full_state(task, memory, snapshot, why))
    task = dataclasses.replace(task, read_by=task.parts.clock.monotonic())
    return snapshot, _decide(task, memory, snapshot, decision.compared)


def _rounds(task: AuditTask, memory: AuditMemory, acted: Acted) -> Acted:
    """Send the planned writes. After each conflict: wait, read Placement and plan anew."""
    while not acted.decision.plan.is_empty:
        task.stop_if_cancelled()
        began = task.parts.clock.monotonic()
        acted = _apply(task, acted)
        acted = dataclasses.replace(acted, round_s=task.parts.clock.monotonic() - began, tried_at=began)
        is_moved = isinstance(acted.error, GenerationConflict | AllocationRefused)
        if not is_moved or acted.attempts >= task.settings.conflict_rounds:
            break
        _pause(task, wait_s(acted.attempts, task.parts.random(), acted.round_s))
        memory = dataclasses.replace(memory, unknown_traits=acted.unknown_traits)
        tried, acted = acted, _read_again(task, memory, acted)
        if isinstance(tried.error, AllocationRefused) and acted.decision.plan.digest == tried.decision.plan.digest:
            # The new plan equals the plan that Placement has just refused, so Placement would refuse the new plan too.
            return _with_refusals(dataclasses.replace(acted, error=tried.error))
    return _with_refusals(acted)


def _pause(task: AuditTask, seconds: float) -> None:
    """Wait. Raise AuditCancelled if a stop was requested, so that the agent sends no further request to Placement."""
    task.parts.clock.wait(seconds)
    task.stop_if_cancelled()


def _with_refusals(acted: Acted) -> Acted:
    """Return ``acted`` with findings about rejected writes and unknown traits added.

    ``_decide`` could not make these findings: the agent learns of the rejections and the traits only when it writes.
    """
    if not acted.refused and acted.unknown_traits == acted.decision.facts.unknown_traits:
        return acted
    decision = with_refusals(acted.decision, acted.refused, acted.unknown_traits)
    return dataclasses.replace(acted, decision=decision)


def _decide(task: AuditTask, memory: AuditMemory, snapshot: Snapshot, before: Compared | None) -> Decision:
    return decide(
        snapshot,
        task.settings,
        _subject(memory),
        # Only an audit that may write the tree compares the tree with the agent's last write, to find other writers.
        memory.written if task.owns() else None,
        before,
        history=memory.history,
        unknown_traits=memory.unknown_traits,
        reads=_reads_of(task, memory, snapshot),
    )


def _reads_of(task: AuditTask, memory: AuditMemory, snapshot: Snapshot) -> AuditReads:
    """Return the times at which this audit read its sources, and what it could check.

    The times and the checks decide which findings of earlier audits still exist.
    """
    clock, settings, view = task.parts.clock, task.settings, snapshot.placement.value
    return AuditReads(
        now=clock.now(),
        confirm_audits=settings.confirm_audits,
        checks=checks_of(task, memory, snapshot),
        at=int(task.began),
        ended=int(task.read_by),
        boot=clock.boot(),
        apart_s=settings.confirm_spacing_s,
        within_s=settings.confirm_within_s,
        generations=_generations(view) if settings.role is Role.COMPANION else None,
    )


def _generations(view: PlacementView | None) -> dict[str, int | None]:
    """Return the generation of each consumer with an allocation on this host.

    Beside a running nova-compute, heal repairs a finding only if the consumer's generation stayed the same in several
    audits in a row.
    """
    allocations = view.allocations if view is not None else ()
    return {allocation.consumer_uuid: allocation.consumer_generation for allocation in allocations}


def _subject(memory: AuditMemory) -> Subject:
    identity = memory.identity
    return Subject(
        root_uuid=identity.uuid if identity else None,
        node=memory.node_name,
        identity_origin=identity.origin if identity else "",
    )


def _apply(task: AuditTask, acted: Acted) -> Acted:
    acted = dataclasses.replace(acted, attempts=acted.attempts + 1)
    try:
        with task.parts.lock.hold():
            applied = task.parts.reporter.apply(acted.decision.plan, task.cancelled)
            acted = dataclasses.replace(_counted(acted, applied), published=not applied.refused)
            acted = _beside_the_tree(task, dataclasses.replace(acted, error=_refusal(applied)))
    except LockHeld as error:
        return dataclasses.replace(acted, error=error)
    except PlacementError as error:
        return _failed(_counted(acted, error.applied), error)
    return acted


def _beside_the_tree(task: AuditTask, acted: Acted) -> Acted:
    """Write the allocations of the agent's own consumers to Placement, then nova's compute node records.

    The compute node records come last, because they describe the result. Stop at the first failure.

    The agent has allocations of its own in Placement. Each counts some use of the host that nova does not know. The
    agent removes such an allocation when ``reserved`` in an inventory counts the same use. If Placement rejected an
    inventory, ``reserved`` may not count the use yet. The agent then leaves its allocations as they are.
    """
    plan = acted.decision.plan
    has_inventory = not any(isinstance(refused.write, PutInventories) for refused in acted.refused)
    for write in (*(plan.allocations if has_inventory else ()), *plan.records):
        task.stop_if_cancelled()
        try:
            acted = _carry_out(task, acted, write)
        except (PlacementError, SourceError, RecordRefused) as error:
            return _failed(dataclasses.replace(acted, published=False), error)
    return _removed(task, acted)


def _removed(task: AuditTask, acted: Acted) -> Acted:
    """Delete the providers of orphaned compute nodes; nova's records of these nodes are already deleted.

    Placement refuses to delete a provider that has got new allocations.
    """
    if not acted.decision.plan.removals:
        return acted
    refused, published = acted.refused, acted.published
    try:
        applied = task.parts.reporter.apply(Plan(writes=acted.decision.plan.removals), task.cancelled)
    except PlacementError as error:
        return _failed(dataclasses.replace(_counted(acted, error.applied), refused=refused, published=False), error)
    acted = dataclasses.replace(_counted(acted, applied), refused=(*refused, *applied.refused))
    return dataclasses.replace(acted, published=published, error=acted.error or _refusal(applied))


def _carry_out(task: AuditTask, acted: Acted, write: PutAllocations | RecordWrite) -> Acted:
    parts = task.parts
    if isinstance(write, PutAllocations):
        if parts.allocations is None:
            return acted
        parts.allocations.put(write)
        return dataclasses.replace(acted, done=(*acted.done, write), requests=acted.requests + 1)
    if parts.records is None:
        return acted
    parts.records.apply(write, deadline_of(task.settings))
    return dataclasses.replace(acted, done=(*acted.done, write))


def _failed(acted: Acted, error: AgentError) -> Acted:
    return dataclasses.replace(acted, error=error, conflicts=(*acted.conflicts, *_conflicts(error)))


def _conflicts(*errors: AgentError) -> tuple[ConflictKind, ...]:
    found = (error.conflict for error in errors if isinstance(error, PlacementError))
    return tuple(kind for kind in found if kind is not None)


def _refusal(applied: Applied) -> AgentError | None:
    """Return an error that says how many writes of the plan Placement refused; None if it refused none.

    The text contains no request ids, because equal refusals must yield equal texts in every audit.
    """
    if not applied.refused:
        return None
    count = len(applied.refused)
    refused = (
        "Placement refused one write, and the agent skipped the writes that depend on it"
        if count == 1
        else f"Placement refused {count} writes, and the agent skipped the writes that depend on them"
    )
    return WritesRefused(f"{refused}; all other writes of the plan were done (see finding write-refused)")


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


def _read_again(task: AuditTask, memory: AuditMemory, acted: Acted) -> Acted:
    """Read only Placement again, and decide again with this audit's earlier readings of the other sources.

    Read allocations even if no provider's generation changed. A client may have deleted a consumer: this can cause the
    conflict, but changes no provider's generation.
    """
    memory = dataclasses.replace(memory, recheck_recorded=True)
    read = read_placement(task, memory, Turn.ALLOCATIONS)
    placement = with_orphans(task, memory, read, acted.snapshot.nova.value)
    snapshot = dataclasses.replace(acted.snapshot, placement=placement)
    return dataclasses.replace(
        acted,
        snapshot=snapshot,
        decision=_decide(task, memory, snapshot, acted.decision.compared),
        requests=acted.requests + (placement.value.requests if placement.value else 0),
        error=placement.error,
    )
