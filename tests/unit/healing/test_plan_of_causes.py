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


def test_heal_plans_one_repair_for_related_findings(scene):
    """If two findings follow from a third finding, heal plans only the repair of the third, which ends all three."""
    plan = planned(scene)
    (action,) = plan.actions
    assert (action.code, action.finding_id) == (STALE, ids(scene)[STALE])
    assert set(action.also_ends) == {ids(scene)[SEVERAL], ids(scene)[COUNTED]}
    assert plan.refusals == ()


@pytest.mark.parametrize("code", [SEVERAL, COUNTED])
def test_heal_repairs_the_finding_behind_a_symptom(scene, code):
    """If heal is asked to repair a finding that follows from another finding, heal repairs the other finding."""
    plan = planned(scene, code)
    assert [action.code for action in plan.actions] == [STALE]
    assert plan.refusals == ()


def test_unconfirmed_symptoms_do_not_delay_a_repair(scene):
    """The agent repairs a confirmed finding even if the findings that follow from it are not confirmed yet."""
    later = tuple(dataclasses.replace(s, times=0) if s.caused_by else s for s in scene.findings)
    plan = planned(dataclasses.replace(scene, findings=later))
    assert [action.code for action in plan.actions] == [STALE]
    assert plan.refusals == ()


def test_heal_lists_one_refusal_for_related_findings(scene):
    """If three related findings are not confirmed yet, heal lists a single refusal for all of them."""
    later = tuple(dataclasses.replace(s, times=0) for s in scene.findings)
    plan = planned(dataclasses.replace(scene, findings=later))
    assert plan.actions == ()
    assert [(refusal.code, refusal.guard) for refusal in plan.refusals] == [(STALE, "confirmed")]


def test_the_plan_digest_ignores_symptoms(scene):
    """The digest of a heal plan ignores findings that only follow from the repaired finding."""
    alone = dataclasses.replace(scene, findings=tuple(s for s in scene.findings if s.finding.code == STALE))
    assert planned(alone).actions[0].also_ends == ()
    assert planned(alone).digest == planned(scene).digest


def test_the_daemon_can_repair_a_symptom_without_its_cause(scene):
    """The daemon repairs a symptom without its cause if only the symptom's repair is enabled.

    A symptom is a finding that follows from another finding.
    """
    plan = heal_plan(scene, asked_for(scene.findings, frozenset({COUNTED}), frozenset()))
    assert [action.code for action in plan.actions] == [COUNTED]
    assert plan.actions[0].also_ends == ()


def test_a_symptom_of_two_findings_outlasts_one_repair(scene):
    """If a symptom follows from two findings, the repair of only one of these findings does not end the symptom."""
    stale, several = (next(s for s in scene.findings if s.finding.code == code) for code in (STALE, SEVERAL))
    unplanned = dataclasses.replace(several, caused_by=(*several.caused_by, "another cause"))
    plan = heal_plan(dataclasses.replace(scene, findings=(stale, unplanned)), (stale,))
    assert plan.actions[0].also_ends == ()


@pytest.mark.parametrize("undone", [STALE, SEVERAL, COUNTED])
@pytest.mark.parametrize("code", [STALE, SEVERAL])
def test_an_undo_also_stops_the_repair_of_the_cause(scene, code, undone):
    """If an operator undid the repair of a finding, the agent does not repair the finding's cause either."""
    seen = next(s for s in scene.findings if s.finding.code == code)
    refusing = dataclasses.replace(scene, undone=Undone(findings=frozenset({ids(scene)[undone]})))
    guarded = GuardedFinding(scene=refusing, seen=seen, repair=BY_CODE[code], chosen=())
    expected = {code, undone} != {SEVERAL, COUNTED}
    assert (GUARD.refuses(guarded) is not None) == expected


def test_the_daemon_repairs_no_consumer_again_after_an_undo(scene):
    """If an operator undid a repair of a consumer, the daemon plans no other repair of this consumer."""
    (cause,) = (dataclasses.replace(s, symptoms=()) for s in scene.findings if s.finding.code == STALE)
    undone = Undone(findings=frozenset({"the symptom"}), consumers=frozenset({cause.finding.consumer_uuid or ""}))
    plan = planned(dataclasses.replace(scene, findings=(cause,), undone=undone))
    assert (plan.actions, [refusal.guard for refusal in plan.refusals]) == ((), ["undone"])
    others = dataclasses.replace(undone, consumers=frozenset({"another consumer"}))
    assert planned(dataclasses.replace(scene, findings=(cause,), undone=others)).actions != ()
