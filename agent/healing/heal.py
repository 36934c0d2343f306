"""heal: from an audit's result to a plan, and from a plan to changed consumers. A step of its own, after an audit.

By hand and in the daemon it is the same: ``prepared`` reads what the guard rails need
and decides; ``run_heal`` takes the write lock and carries exactly that plan out.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from agent.audit.parts import Errand
from agent.errors import ConfigError, FolderUnavailable, LockHeld, PlacementError
from agent.healing.consumer_json import after_json, record_json, whereabouts
from agent.healing.plan import asked_for, candidates, heal_plan
from agent.healing.preconditions import NotNow
from agent.healing.recheck import Proven, not_as_planned, proven
from agent.healing.reshape import Order, reshape
from agent.healing.reshape_journal import KIND as RESHAPE_KIND
from agent.healing.reshape_journal import after_document, before_json
from agent.healing.tree_fingerprint import Tree, after_own_write, has_moved, tree_of
from agent.healing.write import Outcome, Rewrite, rewrite
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
    """A plan, the findings that it judges, and what it was decided on: ``tree`` is None where no view was read.

    ``consumers`` are those that the audit asked the state source about.
    """

    asked: tuple[SeenFinding, ...]
    plan: HealPlan
    audit_id: str
    state: NovaState | None
    tree: Tree | None = None
    consumers: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Healed:
    """One action of a plan and how it ended."""

    action: AnyAction
    outcome: Outcome


def prepared(
    errand: Errand,
    result: AuditResult,
    codes: frozenset[str],
    ids: frozenset[str] = frozenset(),
    undone: frozenset[str] = frozenset(),
) -> Prepared | None:
    """The plan for findings of ``ids``, else of ``codes``; None where the audit decided on nothing.

    ``undone`` are findings that the daemon must leave alone.
    """
    compared, snapshot = result.memory.compared, result.snapshot
    if compared is None or snapshot is None:
        return None
    asked = asked_for(result.report.findings, codes, ids)
    identity, persisted = _identities(errand, result)
    scene = Scene(
        snapshot=snapshot,
        settings=errand.settings,
        subject=compared.basis.subject,
        rows=compared.rows,
        findings=result.report.findings,
        identity=identity,
        persisted=persisted,
        records=(),
        now=errand.parts.clock.now(),
        undone=undone,
    )
    records = _records(errand, candidates(scene, asked, max(1, errand.settings.consumer_reads)))
    tree = tree_of(scene.view, scene.subject.node or "") if scene.view else None
    moved = bool(records) and (tree is None or _may_have_moved(errand, tree))
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


def _may_have_moved(errand: Errand, tree: Tree) -> bool:
    try:
        return has_moved(errand, tree)
    except PlacementError:
        return True


def run_heal(errand: Errand, wanted: Prepared) -> tuple[Healed, ...]:
    """Carry the plan out, one consumer after the other, under the write lock.

    Raises AuditCancelled between two of them when a stop was asked for. What was held
    by another writer, or could not be reached, is in the outcomes.
    """
    journal, actions = errand.parts.journal, wanted.plan.actions
    if journal is None or not actions:
        return ()
    # Before the lock: this may wait for a heartbeat, and nobody else should wait with it. A state that was not read has
    # no plan that rests on it: a reshape may be without.
    proof = proven(errand, wanted.state) if wanted.state else Proven(None)
    if isinstance(proof, NotNow):
        return tuple(Healed(action=action, outcome=_refused(proof)) for action in actions)
    try:
        with errand.parts.lock.hold():
            return _one_by_one(errand, journal, wanted, proof)
    except LockHeld as error:
        held = Outcome(result=Result.REFUSED, words=f"nothing was changed: {error}", unread=True)
        return tuple(Healed(action=action, outcome=held) for action in actions)


def _one_by_one(errand: Errand, journal: Journal, wanted: Prepared, proof: Proven) -> tuple[Healed, ...]:
    """Each change rests on the tree as it was decided on, with what the changes before it did to it."""
    healed: list[Healed] = []
    tree = wanted.tree
    for action in wanted.plan.actions:
        errand.stop_if_cancelled()
        if (problem := _changed_since(errand, wanted, proof, action)) is not None:
            healed.append(Healed(action=action, outcome=_refused(problem)))
            continue
        if isinstance(action, ReshapeAction):
            # The last of a run (agent/repairs), so nothing rests on the tree as it leaves it.
            healed.append(Healed(action=action, outcome=_reshaped(errand, journal, wanted, action, tree)))
            continue
        change = _change(wanted, action)
        outcome = rewrite(errand, journal, Rewrite(before=action.before, write=action.write, change=change, tree=tree))
        healed.append(Healed(action=action, outcome=outcome))
        if tree is not None and outcome.result is Result.DONE:
            tree = after_own_write(tree, action.before, action.write)
    return tuple(healed)


def _changed_since(errand: Errand, wanted: Prepared, proof: Proven, action: AnyAction) -> NotNow | None:
    """Whether the cloud's rows say something else by now. Placement is asked after them, directly before the write.

    An audit reads them in the other order: there the first look must not see a consumer that the second one misses.
    Here the last word is Placement's, because every rightful use of an allocation begins with a write of it.
    """
    if wanted.state is None:
        return None
    consumers = frozenset(change.before.consumer_uuid for change in action.changes)
    return not_as_planned(errand, wanted.state, proof, wanted.consumers, consumers)


def _refused(problem: NotNow) -> Outcome:
    return Outcome(result=Result.REFUSED, words=problem.words, unread=problem.unread, unproven=problem.unproven)


def _reshaped(errand: Errand, journal: Journal, wanted: Prepared, action: ReshapeAction, tree: Tree | None) -> Outcome:
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
    return reshape(errand, journal, Order(reshaping=reshaping, tree=tree, change=change))


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


def _identities(errand: Errand, result: AuditResult) -> tuple[Identity | None, Identity | None]:
    """What the audit went by, and what the files say now; one that files contradict, or cannot be read for, is none."""
    try:
        return result.memory.identity, errand.parts.identity_files.find()
    except (ConfigError, FolderUnavailable):
        return None, None


def _records(errand: Errand, consumers: tuple[str, ...]) -> tuple[ConsumerRecord, ...]:
    """Whole records; what could not be read is left out, and so left alone."""
    allocations = errand.parts.allocations
    found: list[ConsumerRecord] = []
    if allocations is None:
        return ()
    for consumer in consumers:
        try:
            found.append(allocations.consumer(consumer))
        except PlacementError:
            break
    return tuple(found)
