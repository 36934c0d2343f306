"""Heal findings after an audit: make a plan from the audit's result, then change consumers in Placement as planned.

The command and the daemon use the same two functions. ``prepared`` reads what the guard rails need and decides on a
plan; ``run_heal`` takes the write lock and carries out exactly that plan.
"""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Mapping
from dataclasses import dataclass, field

from agent.audit.parts import AuditTask
from agent.errors import ConfigError, FolderUnavailable, LockHeld, PlacementError, SourceError
from agent.healing.attempt import WriteAttempt, out_of_reach
from agent.healing.consumer_json import after_json, record_json, whereabouts
from agent.healing.plan import asked_for, candidates, heal_plan
from agent.healing.preconditions import is_settled
from agent.healing.recheck import Planned, Proven, all_migrations, instances_of, not_as_planned, proven
from agent.healing.reshape import reshape
from agent.healing.reshape_journal import KIND as RESHAPE_KIND
from agent.healing.reshape_journal import after_document, before_json
from agent.healing.tree_fingerprint import TreeFingerprint, TreeShape, after_own_write, has_moved, shape_of, tree_of
from agent.healing.write import rewrite
from agent.host_files.journal import Change, Journal, Result
from agent.model.audit import AuditResult, Identity
from agent.model.finding import SeenFinding
from agent.model.heal import NOTHING_UNDONE, AnyAction, HealAction, HealPlan, ReshapeAction, Undone
from agent.model.nova import Migration, NovaState
from agent.model.placement import ConsumerRecord
from agent.model.settings import Role
from agent.repairs.base import Scene

KIND = "allocations"


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A plan, the requested findings (``asked``), and the facts on which the plan is based.

    ``tree`` is None if Placement was not read. ``consumers`` are all consumers whose rows in nova's database the audit
    read. ``migrations`` are as in ``Scene`` (agent/repairs/base.py).
    """

    asked: tuple[SeenFinding, ...]
    plan: HealPlan
    audit_id: str
    state: NovaState | None
    tree: TreeFingerprint | None = None
    consumers: frozenset[str] = frozenset()
    migrations: Mapping[str, tuple[Migration, ...] | None] = field(default_factory=dict)

    def where(self, consumer_uuid: str) -> str | None:
        """Return where the consumer's instance is; None if the cloud's state was not read."""
        return whereabouts(self.state, consumer_uuid) if self.state else None


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
    undone: Undone = NOTHING_UNDONE,
) -> Prepared | None:
    """Return the plan for the findings with these ``ids``, or with these ``codes`` if ``ids`` is empty.

    Returns None if the audit compared no amounts. ``undone`` are the repairs that the daemon must not repeat.
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
        nova_alive_s=_nova_alive_s(result),
    )
    consumers = candidates(scene, asked, max(1, task.settings.consumer_reads))
    migrations = _migrations(task, snapshot.nova.value, consumers)
    records = _records(task, consumers)
    tree = tree_of(scene.view, scene.subject.node or "") if scene.view else None
    moved = bool(records) and (tree is None or _may_have_moved(task, tree))
    read_ago_s = seconds_since(result, task.parts.clock.now(), task.parts.clock.monotonic())
    scene = dataclasses.replace(scene, records=records, has_moved=moved, read_ago_s=read_ago_s, migrations=migrations)
    recorded = scene.view.consumer_uuids | scene.view.shared_consumer_uuids if scene.view else frozenset()
    return Prepared(
        asked=asked,
        plan=heal_plan(scene, asked),
        audit_id=result.report.audit_id,
        state=snapshot.nova.value,
        tree=tree,
        consumers=recorded | result.memory.guests,
        migrations=migrations,
    )


def _migrations(
    task: AuditTask, state: NovaState | None, consumers: tuple[str, ...]
) -> Mapping[str, tuple[Migration, ...] | None]:
    """Return all migrations of each consumer's instance; None for an instance whose migrations cannot be read.

    In roles other than companion, return nothing: only the guard nova-at-work uses the migrations, and only role
    companion needs this guard.
    """
    if task.settings.role is not Role.COMPANION or state is None or not state.kind.has_cloud:
        return {}
    instances = instances_of(state, consumers)
    try:
        return all_migrations(task, instances).of if instances else {}
    except SourceError:
        return dict.fromkeys(instances)


def seconds_since(result: AuditResult, now: str, monotonic: float) -> float:
    """Return the seconds since the audit began, by the wall clock or by the monotonic clock, whichever shows more.

    The wall clock may be set back, and the monotonic clock stands still while the machine sleeps.
    """
    moment, began = (datetime.datetime.fromisoformat(text) for text in (now, result.report.started_at))
    return max((moment - began).total_seconds(), monotonic - result.began)


def _nova_alive_s(result: AuditResult) -> int | None:
    """Return for how many seconds every audit has found nova-compute alive; None if the last audit did not."""
    history = result.memory.history
    if history is None or history.read_until is None or history.nova_alive_since is None:
        return None
    return history.read_until - history.nova_alive_since


def _may_have_moved(task: AuditTask, tree: TreeFingerprint) -> bool:
    try:
        return has_moved(task, tree)
    except PlacementError:
        return True


def run_heal(task: AuditTask, wanted: Prepared) -> tuple[Healed, ...]:
    """Carry out the plan, one action after the other, under the write lock.

    Raises AuditCancelled between two actions if a stop was requested. If another process has the lock, or if a service
    cannot be reached, nothing is raised: the outcomes contain the error.
    """
    journal, actions = task.parts.journal, wanted.plan.actions
    if journal is None or not actions:
        return ()
    # ``proven`` may wait until a heartbeat proves that nova's database shows all writes so far. The wait comes before
    # the lock is taken, so that other writers do not wait too. If nova's data was not read, no proof is needed: the
    # plan then has only reshapes, and a reshape does not depend on nova's data.
    proof = proven(task, wanted.state) if wanted.state else Proven(None)
    if isinstance(proof, WriteAttempt):
        return tuple(Healed(action=action, outcome=proof) for action in actions)
    try:
        with task.parts.lock.hold():
            return _one_by_one(task, journal, wanted, proof)
    except LockHeld as error:
        return tuple(Healed(action=action, outcome=out_of_reach(error)) for action in actions)


def _one_by_one(task: AuditTask, journal: Journal, wanted: Prepared, proof: Proven) -> tuple[Healed, ...]:
    """Carry out the plan's actions.

    An action is refused if another client has changed the provider tree since the plan was made. Changes by earlier
    actions of the plan do not count.
    """
    healed: list[Healed] = []
    tree = wanted.tree
    for action in wanted.plan.actions:
        task.stop_if_cancelled()
        expected = shape_of(tree) if tree is not None and _is_settled(action) else tree
        outcome = _changed_since(task, wanted, proof, action) or _carried_out(task, journal, wanted, action, expected)
        healed.append(Healed(action=action, outcome=outcome))
        # ``tree`` is the expected tree for the next action. A reshape needs no update of ``tree``, because a reshape
        # is always the last action of a run (agent/repairs).
        if isinstance(action, HealAction) and tree is not None and outcome.result is Result.DONE:
            tree = after_own_write(tree, action.before, action.write)
    return tuple(healed)


def _is_settled(action: AnyAction) -> bool:
    """Return whether every later write to the consumer is sure to change the time in the consumer's record.

    If a later write may leave the time unchanged, or the action is a reshape, heal also compares the providers'
    generations.
    """
    return isinstance(action, HealAction) and is_settled(action.before)


def _changed_since(task: AuditTask, wanted: Prepared, proof: Proven, action: AnyAction) -> WriteAttempt | None:
    """Return why the action no longer fits nova's database rows, None if the action still fits.

    Heal reads nova's rows first, and Placement last, directly before the write (recheck.py). An audit reads in the
    opposite order, because it reads the nova rows of those consumers that Placement listed.
    """
    if wanted.state is None:
        return None
    consumers = frozenset(change.before.consumer_uuid for change in action.changes)
    return not_as_planned(task, Planned(wanted.state, wanted.migrations), proof, wanted.consumers, consumers)


def _carried_out(
    task: AuditTask, journal: Journal, wanted: Prepared, action: AnyAction, tree: TreeFingerprint | TreeShape | None
) -> WriteAttempt:
    line = _change(wanted, action)
    if isinstance(action, HealAction):
        return rewrite(task, journal, line, action.changes[0], tree)
    assert isinstance(tree, TreeFingerprint), "a plan has a reshape only if Placement was read"
    return reshape(task, journal, line, action.reshaping, tree)


def _change(wanted: Prepared, action: AnyAction) -> Change:
    """Return the journal line of the action."""
    if isinstance(action, ReshapeAction):
        before, after = before_json(action.reshaping, wanted.where), after_document(action.reshaping)
        changed = {action.reshaping.providers[0].uuid}
    else:
        before = {"consumer": record_json(action.before), "instance": wanted.where(action.before.consumer_uuid)}
        after = {"consumer": after_json(action.before, action.write)}
        # The providers that have an allocation of the consumer either only before or only after the change.
        changed = {a.provider_uuid for a in action.before.allocations}
        changed ^= {a.provider_uuid for a in action.write.allocations}
    return Change(
        kind=RESHAPE_KIND if isinstance(action, ReshapeAction) else KIND,
        why=action.why,
        before=before,
        after=after,
        finding_id=action.finding_id,
        code=action.code,
        consumer_uuid=action.consumer_uuid,
        provider_uuid=min(changed, default=None),
        audit_id=wanted.audit_id,
        plan_digest=wanted.plan.digest,
    )


def _identities(task: AuditTask, result: AuditResult) -> tuple[Identity | None, Identity | None]:
    """Return (the identity that the audit used, the identity in the compute_id files now).

    Return (None, None) if the files cannot be read, are invalid or differ.
    """
    try:
        return result.memory.identity, task.parts.identity_files.find()
    except (ConfigError, FolderUnavailable):
        return None, None


def _records(task: AuditTask, consumers: tuple[str, ...]) -> tuple[ConsumerRecord, ...]:
    """Return the consumers' whole records; stop at the first error. Heal changes no consumer without a record."""
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
