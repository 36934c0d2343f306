"""The exit code of heal is about the plan and its outcomes, never about other findings."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from agent.cmd.changes.heal_code import code_of
from agent.cmd.changes.heal_run import HealRun, Ordered
from agent.healing.attempt import WriteAttempt, out_of_reach, refused
from agent.healing.heal import Healed, Prepared
from agent.healing.plan import asked_for, heal_plan
from agent.host_files.journal import Result
from agent.model.finding import FindingState
from agent.model.heal import HealPlan, HealRefusal
from agent.model.report import Outcome
from agent.repairs import BY_CODE
from tests.rigs.heal import leaks, scene_of
from tests.rigs.reports import FINDING, REPORT

ALL_READ = dataclasses.replace(REPORT, sources=REPORT.sources[:1], findings=(FINDING,))
NAMED = frozenset({FINDING.finding.id})
DONE = WriteAttempt(result=Result.DONE, words="changed as planned", entry_id="3f9c")
LOST = WriteAttempt(result=Result.UNKNOWN, words="no answer", unread=True)


def _two_leaks() -> HealPlan:
    world, held = leaks("a", "b")
    scene = scene_of(world, *held)
    return heal_plan(scene, asked_for(scene.findings, frozenset(BY_CODE), frozenset()))


PLAN = dataclasses.replace(_two_leaks(), refusals=())
ACTION = PLAN.actions[0]
ABOUT = {"finding_id": FINDING.finding.id, "code": "volume-foreign", "consumer_uuid": None}
REFUSED = HealPlan(refusals=(HealRefusal(guard="role", why="no", **ABOUT),))
WAITS = HealPlan(refusals=(HealRefusal(guard="minimum-age", why="not yet", waits=True, wait_s=9.0, **ABOUT),))


def run(
    plan: HealPlan, *outcomes: WriteAttempt, named: bool = False, digest: str | None = None, **more: Any
) -> HealRun:
    healed = tuple(Healed(action=ACTION, outcome=outcome) for outcome in outcomes)
    ordered = Ordered(ids=NAMED if named else frozenset(), digest=digest or ("d" * 12 if outcomes else None))
    found = Prepared(asked=(), plan=plan, audit_id="a", state=None)
    return HealRun(**{"ordered": ordered, "report": ALL_READ, "prepared": found, "healed": healed, **more})


UNREAD = {"report": REPORT}
UNCHECKED = dataclasses.replace(FINDING, state=FindingState.UNKNOWN, unknown_because=("state",))


@pytest.mark.parametrize(
    ("found", "code"),
    [
        # a plan only
        (run(HealPlan()), 0),
        (run(WAITS), 0),
        (run(REFUSED), 0),
        (run(HealPlan(), **UNREAD), 2),
        (run(PLAN), 3),
        (run(dataclasses.replace(PLAN, refusals=WAITS.refusals), named=True), 3),
        (run(PLAN, **UNREAD), 2),
        (run(REFUSED, named=True), 5),
        (run(WAITS, named=True), 75),
        (run(HealPlan(refusals=(*WAITS.refusals, *REFUSED.refusals)), named=True), 5),
        (run(WAITS, named=True, **UNREAD), 2),
        (run(REFUSED, named=True, report=dataclasses.replace(REPORT, findings=(UNCHECKED,))), 2),
        # --yes
        (run(HealPlan(), digest="d"), 0),
        (run(WAITS, digest="d"), 0),
        (run(PLAN, DONE), 4),
        (run(PLAN, DONE, DONE), 4),
        (run(PLAN, DONE, **UNREAD), 2),
        (run(PLAN, DONE, LOST), 2),
        (run(PLAN, out_of_reach(OSError("x"))), 2),
        (run(PLAN, DONE, refused("changed meanwhile")), 5),
        (run(PLAN, digest="d", differs=True), 5),
        (run(PLAN, digest="d", differs=True, **UNREAD), 2),
        (run(HealPlan(), digest="d", differs=True), 5),
        (run(HealPlan(), report=dataclasses.replace(ALL_READ, outcome=Outcome.CRASHED)), 1),
        (run(HealPlan(), report=dataclasses.replace(ALL_READ, outcome=Outcome.REFUSED)), 0),
    ],
)
def test_each_outcome_of_a_heal_run_has_its_exit_code(found: HealRun, code: int) -> None:
    """`stocktake heal` exits with 4 after its changes, with 3 if it only shows a plan, and with 2 for unread data."""
    assert code_of(found) == code
