"""Decide what heal does: each requested finding gets an action, or a refusal with a reason.

There are two steps. First, some checks (guards) judge each finding. ``candidates`` returns the consumers of the
findings that pass these checks, and heal reads these consumers' records from Placement. Second, ``heal_plan`` makes the
plan.

If a finding causes other findings (agent/books/causes.py), heal repairs the cause, and the other findings end with it.
Pure: no clock, no I/O.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

from agent.guards import AFTER, BEFORE
from agent.guards.base import Guard, GuardedFinding
from agent.model.finding import SeenFinding
from agent.model.heal import AnyAction, HealPlan, HealRefusal
from agent.repairs import BUILTIN as REPAIRS
from agent.repairs import BY_CODE
from agent.repairs.base import Declined, Scene, TreeRepair

#: The value of ``HealRefusal.guard`` if no guard refused, but the repair itself declined.
REPAIR = "repair"
_ORDER = {repair.code: number for number, repair in enumerate(REPAIRS)}


def asked_for(findings: tuple[SeenFinding, ...], codes: frozenset[str], ids: frozenset[str]) -> tuple[SeenFinding, ...]:
    """Return the findings with these ``ids``, or with these ``codes`` if ``ids`` is empty.

    If an id names a symptom (a finding that other findings cause), the causes of the symptom take its place. The
    findings are sorted by code, in the order in which heal makes the repairs, and then by age.
    """
    roots = {root for s in findings if s.finding.id in ids for root in (s.caused_by or (s.finding.id,))}
    wanted = [s for s in findings if (s.finding.id in roots if ids else s.finding.code in codes)]
    return tuple(sorted(wanted, key=lambda s: (_ORDER.get(s.finding.code, len(_ORDER)), s.first_seen_at, s.finding.id)))


def candidates(scene: Scene, asked: tuple[SeenFinding, ...], most: int) -> tuple[str, ...]:
    """Return the consumers to read from Placement before the plan is made.

    A repair that reshapes the provider tree needs the records of all its consumers, so none of them is left out. All
    other repairs together get at most ``most`` consumers, in the order of ``asked``.
    """
    passed = [guarded for seen in _causes(asked) if _refusal(guarded := _guarded(scene, seen, ()), BEFORE) is None]
    single = [c for each in passed if not isinstance(each.repair, TreeRepair) for c in each.consumer_uuids]
    together = [c for each in passed if isinstance(each.repair, TreeRepair) for c in each.consumer_uuids]
    return tuple(dict.fromkeys((*tuple(dict.fromkeys(single))[:most], *together)))


def heal_plan(scene: Scene, asked: tuple[SeenFinding, ...]) -> HealPlan:
    """Return an action or a refusal for each finding in ``asked``.

    A finding gets neither if another finding in ``asked`` is its cause or needs the same change.
    """
    actions: list[AnyAction] = []
    refusals: list[HealRefusal] = []
    for seen in _causes(asked):
        judged = _judged(scene, seen, tuple(actions))
        if isinstance(judged, HealRefusal):
            refusals.append(judged)
        elif judged is not None:
            actions.append(judged)
    return HealPlan(actions=_with_symptoms(actions, scene.findings), refusals=tuple(refusals))


def _causes(asked: tuple[SeenFinding, ...]) -> tuple[SeenFinding, ...]:
    """Return ``asked`` without each finding that is caused by another finding in ``asked``."""
    ids = {seen.finding.id for seen in asked}
    return tuple(seen for seen in asked if ids.isdisjoint(seen.caused_by))


def _with_symptoms(actions: list[AnyAction], findings: tuple[SeenFinding, ...]) -> tuple[AnyAction, ...]:
    """Fill ``also_ends`` of each action: the ids of the symptoms that the action ends too.

    A symptom is a finding that other findings cause. A symptom ends when the last of its causes is repaired.
    """
    place = {action.finding_id: number for number, action in enumerate(actions)}
    ends: dict[int, list[str]] = defaultdict(list)
    for seen in findings:
        if seen.caused_by and place.keys() >= set(seen.caused_by):
            ends[max(place[root] for root in seen.caused_by)].append(seen.finding.id)
    return tuple(replace(action, also_ends=tuple(ends[number])) for number, action in enumerate(actions))


def _judged(scene: Scene, seen: SeenFinding, chosen: tuple[AnyAction, ...]) -> AnyAction | HealRefusal | None:
    guarded = _guarded(scene, seen, chosen)
    refusal = _refusal(guarded, BEFORE)
    if refusal is not None or guarded.repair is None:
        return refusal
    if any(scene.record(consumer) is None for consumer in guarded.consumer_uuids):
        return _refusal(guarded, AFTER)
    action = guarded.repair.proposed(scene, seen)
    if isinstance(action, Declined):
        return _refused(seen, REPAIR, action.why)
    if any(action.changes == other.changes for other in chosen):
        return None
    return _refusal(replace(guarded, action=action), AFTER) or action


def _guarded(scene: Scene, seen: SeenFinding, chosen: tuple[AnyAction, ...]) -> GuardedFinding:
    return GuardedFinding(scene=scene, seen=seen, repair=BY_CODE.get(seen.finding.code), chosen=chosen)


def _refusal(guarded: GuardedFinding, guards: tuple[Guard, ...]) -> HealRefusal | None:
    for guard in guards:
        if (why := guard.refuses(guarded)) is not None:
            wait = guard.waits(guarded)
            refusal = _refused(guarded.seen, guard.name, why)
            return replace(refusal, waits=wait is not None, wait_s=wait.seconds if wait else None)
    return None


def _refused(seen: SeenFinding, guard: str, why: str) -> HealRefusal:
    found = seen.finding
    return HealRefusal(finding_id=found.id, code=found.code, consumer_uuid=found.consumer_uuid, guard=guard, why=why)
