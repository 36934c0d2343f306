"""Heal findings after an audit: make a plan from the audit's result, then change consumers in Placement by that plan.

The command and the daemon use the same two functions. ``prepared`` reads what the guard rails need and decides on a
plan; ``run_heal`` takes the write lock and carries out exactly that plan.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from agent.audit.parts import AuditTask
from agent.errors import ConfigError, FolderUnavailable, LockHeld, PlacementError
from agent.healing.consumer_json import after_json, record_json, whereabouts
from agent.healing.plan import asked_for, candidates, heal_plan
from agent.healing.preconditions import NotNow
from agent.healing.recheck import Proven, not_as_planned, proven
from agent.healing.reshape import Order, reshape
from agent.healing.reshape_journal import KIND as RESHAPE_KIND
from agent.healing.reshape_journal import after_document, before_json
from agent.healing.tree_fingerprint import TreeFingerprint, after_own_write, has_moved, tree_of
from agent.healing.write import Rewrite, WriteAttempt, rewrite
from agent.host_files.journal import Change, Journal, Result
from agent.model.audit import AuditResult, Identity
from agent.model.finding import SeenFinding
from agent.model.heal import AnyAction, HealAction, HealPlan, ReshapeAction
from agent.model.nova import NovaState
from agent.model.placement import ConsumerRecord, PlacementView
from agent.repairs.base import Scene

KIND = "allocations"


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A plan, the findings that it covers (``asked``), and the facts that it rests on.

    ``tree`` is None if Placement was not read. ``consumers`` are those whose rows the audit read from the state source.
    """

    asked: tuple[SeenFinding, ...]
    plan: HealPlan
    audit_id: str
    state: NovaState | None
    tree: TreeFingerprint | None = None
    consumers: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Healed:
    """One action of a plan and its outcome."""

    action: AnyAction
    outcome: WriteAttempt


def prepared(
    task: AuditTask,
    result: AuditResult,
    codes: frozenset[str],
    ids: frozenset[str] = frozenset(),
    undone: frozenset[str] = frozenset(),
) -> Prepared | None:
    """Return the plan for the findings with these ``ids``, else ``codes``; None if the audit has no comparison.

    ``undone`` are findings that the daemon must leave alone.
    """
    compared, snapshot = result.memory.compared, result.snapshot
    if compared is None or snapshot is None:
        return None
    asked = asked_for(result.report.findings, codes, ids)
    identity, persisted = _identities(task, result)
    scene = Scene(
        snapshot=snapshot,
        settings=task.settings,
        subject=compared.basis.subject,
        rows=compared.rows,
        findings=result.report.findings,
        identity=identity,
        persisted=persisted,
        records=(),
        now=task.parts.clock.now(),
        undone=undone,
    )
    records = _records(task, candidates(scene, asked, max(1, task.settings.consumer_reads)))
    tree = tree_of(scene.view, scene.subject.node or "") if scene.view else None
    moved = bool(records) and (tree is None or _may_have_moved(task, tree))
    plan = heal_plan(dataclasses.replace(scene, records=records, has_moved=moved), asked)
    return Prepared(
        asked=asked,
        plan=plan,
        audit_id=result.report.audit_id,
        state=snapshot.nova.value,
        tree=tree,
        consumers=_asked_about(scene.view, result),
    )


def _asked_about(view: PlacementView | None, result: AuditResult) -> frozenset[str]:
    recorded = view.consumer_uuids | view.shared_consumer_uuids if view else frozenset()
    return recorded | result.memory.guests


def _may_have_moved(task: AuditTask, tree: TreeFingerprint) -> bool:
    try:
        return has_moved(task, tree)
    except PlacementError:
        return True


def run_heal(task: AuditTask, wanted: Prepared) -> tuple[Healed, ...]:
    """Carry out the plan, one action after the other, under the write lock.

    Raises AuditCancelled between two actions if a stop was requested. If another process has the lock or a service is
    out of reach, the outcomes have the error.
    """
    journal, actions = task.parts.journal, wanted.plan.actions
    if journal is None or not actions:
        return ()
    # Before taking the lock: this may wait for a heartbeat, and other writers should not wait too. Without a state no
    # action rests on the state: only a reshape can be planned then.
    proof = proven(task, wanted.state) if wanted.state else Proven(None)
    if isinstance(proof, NotNow):
        return tuple(Healed(action=action, outcome=_refused(proof)) for action in actions)
    try:
        with task.parts.lock.hold():
            return _one_by_one(task, journal, wanted, proof)
    except LockHeld as error:
        held = WriteAttempt(result=Result.REFUSED, words=f"nothing was changed: {error}", unread=True)
        return tuple(Healed(action=action, outcome=held) for action in actions)


def _one_by_one(task: AuditTask, journal: Journal, wanted: Prepared, proof: Proven) -> tuple[Healed, ...]:
    """Carry out the actions. Each one expects the tree of the decision plus the changes of the actions before it."""
    healed: list[Healed] = []
    tree = wanted.tree
    for action in wanted.plan.actions:
        task.stop_if_cancelled()
        if (problem := _changed_since(task, wanted, proof, action)) is not None:
            healed.append(Healed(action=action, outcome=_refused(problem)))
            continue
        if isinstance(action, ReshapeAction):
            # A reshape is the last action of a run (agent/repairs), so no later action depends on the tree after it.
            healed.append(Healed(action=action, outcome=_reshaped(task, journal, wanted, action, tree)))
            continue
        change = _change(wanted, action)
        outcome = rewrite(task, journal, Rewrite(before=action.before, write=action.write, change=change, tree=tree))
        healed.append(Healed(action=action, outcome=outcome))
        if tree is not None and outcome.result is Result.DONE:
            tree = after_own_write(tree, action.before, action.write)
    return tuple(healed)


def _changed_since(task: AuditTask, wanted: Prepared, proof: Proven, action: AnyAction) -> NotNow | None:
    """Return why the action no longer fits the cloud's rows, None if it does.

    Placement is read after the rows, directly before the write. An audit reads in the opposite order, so that the later
    read of the rows covers every consumer that Placement listed. Here Placement must be read last, because every
    rightful use of an allocation begins with a write of that allocation.
    """
    if wanted.state is None:
        return None
    consumers = frozenset(change.before.consumer_uuid for change in action.changes)
    return not_as_planned(task, wanted.state, proof, wanted.consumers, consumers)


def _refused(problem: NotNow) -> WriteAttempt:
    return WriteAttempt(result=Result.REFUSED, words=problem.words, unread=problem.unread, unproven=problem.unproven)


def _reshaped(
    task: AuditTask, journal: Journal, wanted: Prepared, action: ReshapeAction, tree: TreeFingerprint | None
) -> WriteAttempt:
    assert tree is not None, "a reshape is made from a view"
    state, reshaping = wanted.state, action.reshaping
    change = Change(
        kind=RESHAPE_KIND,
        why=action.why,
        before=before_json(reshaping, lambda consumer: whereabouts(state, consumer) if state else None),
        after=after_document(reshaping),
        finding_id=action.finding_id,
        code=action.code,
        provider_uuid=tree.root_uuid,
        audit_id=wanted.audit_id,
        plan_digest=wanted.plan.digest,
    )
    return reshape(task, journal, Order(reshaping=reshaping, tree=tree, change=change))


def _change(wanted: Prepared, action: HealAction) -> Change:
    consumer = action.before.consumer_uuid
    where = whereabouts(wanted.state, consumer) if wanted.state else None
    providers = {a.provider_uuid for a in (*action.before.allocations, *action.write.allocations)}
    kept = {a.provider_uuid for a in action.write.allocations} & {a.provider_uuid for a in action.before.allocations}
    changed = sorted(providers - kept)
    return Change(
        kind=KIND,
        why=action.why,
        before={"consumer": record_json(action.before), "instance": where},
        after={"consumer": after_json(action.before, action.write)},
        finding_id=action.finding_id,
        code=action.code,
        consumer_uuid=consumer,
        provider_uuid=changed[0] if changed else None,
        audit_id=wanted.audit_id,
        plan_digest=wanted.plan.digest,
    )


def _identities(task: AuditTask, result: AuditResult) -> tuple[Identity | None, Identity | None]:
    """Return the audit's identity and the files' identity now; (None, None) if files differ or cannot be read."""
    try:
        return result.memory.identity, task.parts.identity_files.find()
    except (ConfigError, FolderUnavailable):
        return None, None


def _records(task: AuditTask, consumers: tuple[str, ...]) -> tuple[ConsumerRecord, ...]:
    """Read whole records up to the first error. Heal does not change consumers without a record."""
    allocations = task.parts.allocations
    found: list[ConsumerRecord] = []
    if allocations is None:
        return ()
    for consumer in consumers:
        try:
            found.append(allocations.consumer(consumer))
        except PlacementError:
            break
    return tuple(found)
