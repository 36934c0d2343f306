"""heal plans the cause of several findings once, and says which other findings end with it."""

from __future__ import annotations

import dataclasses

import pytest

from agent.books.causes import with_causes
from agent.guards.base import GuardedFinding
from agent.guards.undone import GUARD
from agent.healing.plan import asked_for, heal_plan
from agent.model.heal import HealPlan, Undone
from agent.model.settings import Role
from agent.repairs import BY_CODE, DAEMON_CODES
from agent.repairs.base import Scene
from tests.rigs.finding_worlds import PLANTED

SEVERAL, STALE, COUNTED = (
    "consumer-on-several-providers",
    "allocation-stale-move",
    "migration-finished-but-counted",
)


@pytest.fixture
def scene() -> Scene:
    """Return heal's scene of an evacuated instance that Placement still counts here."""
    (make,) = PLANTED[COUNTED]
    plain = make().scene(Role.OWNER)
    return dataclasses.replace(plain, findings=with_causes(plain.findings))


def ids(scene: Scene) -> dict[str, str]:
    return {seen.finding.code: seen.finding.id for seen in scene.findings}


def planned(scene: Scene, *wanted: str) -> HealPlan:
    return heal_plan(scene, asked_for(scene.findings, DAEMON_CODES, frozenset(ids(scene)[code] for code in wanted)))


def test_a_plan_for_all_findings_repairs_the_cause_and_omits_its_symptoms(scene):
    plan = planned(scene)
    (action,) = plan.actions
    assert (action.code, action.finding_id) == (STALE, ids(scene)[STALE])
    assert set(action.also_ends) == {ids(scene)[SEVERAL], ids(scene)[COUNTED]}
    assert plan.refusals == ()


@pytest.mark.parametrize("code", [SEVERAL, COUNTED])
def test_heal_repairs_the_cause_if_asked_to_repair_its_symptom(scene, code):
    plan = planned(scene, code)
    assert [action.code for action in plan.actions] == [STALE]
    assert plan.refusals == ()


def test_heal_repairs_a_confirmed_cause_even_if_its_symptoms_are_unconfirmed(scene):
    later = tuple(dataclasses.replace(s, times=0) if s.caused_by else s for s in scene.findings)
    plan = planned(dataclasses.replace(scene, findings=later))
    assert [action.code for action in plan.actions] == [STALE]
    assert plan.refusals == ()


def test_heal_refuses_to_repair_a_cause_that_is_not_confirmed_yet(scene):
    """The plan lists only the refusal of the cause, not of its symptom."""
    later = tuple(dataclasses.replace(s, times=0) for s in scene.findings)
    plan = planned(dataclasses.replace(scene, findings=later))
    assert plan.actions == ()
    assert [(refusal.code, refusal.guard) for refusal in plan.refusals] == [(STALE, "confirmed")]


def test_the_hash_of_a_repair_plan_ignores_findings_that_are_only_symptoms(scene):
    alone = dataclasses.replace(scene, findings=tuple(s for s in scene.findings if s.finding.code == STALE))
    assert planned(alone).actions[0].also_ends == ()
    assert planned(alone).digest == planned(scene).digest


def test_the_daemon_repairs_a_symptom_if_repairs_of_its_cause_are_disabled(scene):
    plan = heal_plan(scene, asked_for(scene.findings, frozenset({COUNTED}), frozenset()))
    assert [action.code for action in plan.actions] == [COUNTED]
    assert plan.actions[0].also_ends == ()


def test_repairing_one_of_several_causes_does_not_end_their_common_symptom(scene):
    stale, several = (next(s for s in scene.findings if s.finding.code == code) for code in (STALE, SEVERAL))
    unplanned = dataclasses.replace(several, caused_by=(*several.caused_by, "another cause"))
    plan = heal_plan(dataclasses.replace(scene, findings=(stale, unplanned)), (stale,))
    assert plan.actions[0].also_ends == ()


@pytest.mark.parametrize("undone", [STALE, SEVERAL, COUNTED])
@pytest.mark.parametrize("code", [STALE, SEVERAL])
def test_undoing_a_repair_blocks_repairs_of_related_causes_and_symptoms(scene, code, undone):
    """Two symptoms of the same cause do not block each other."""
    seen = next(s for s in scene.findings if s.finding.code == code)
    refusing = dataclasses.replace(scene, undone=Undone(findings=frozenset({ids(scene)[undone]})))
    guarded = GuardedFinding(scene=refusing, seen=seen, repair=BY_CODE[code], chosen=())
    expected = {code, undone} != {SEVERAL, COUNTED}
    assert (GUARD.refuses(guarded) is not None) == expected


def test_the_daemon_does_not_repair_a_consumer_again_after_an_undo(scene):
    """An operator undid the repair of the symptom. Today only the cause is there, so no finding names the symptom."""
    (cause,) = (dataclasses.replace(s, symptoms=()) for s in scene.findings if s.finding.code == STALE)
    undone = Undone(findings=frozenset({"the symptom"}), consumers=frozenset({cause.finding.consumer_uuid or ""}))
    plan = planned(dataclasses.replace(scene, findings=(cause,), undone=undone))
    assert (plan.actions, [refusal.guard for refusal in plan.refusals]) == ((), ["undone"])
    others = dataclasses.replace(undone, consumers=frozenset({"another consumer"}))
    assert planned(dataclasses.replace(scene, findings=(cause,), undone=others)).actions != ()
