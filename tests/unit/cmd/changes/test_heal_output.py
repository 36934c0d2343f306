"""What heal prints: changes, waits and refusals, and at the end what the operator can do."""

from __future__ import annotations

from typing import Any

import pytest

from agent.cmd.changes.heal_output import nothing_because, try_again_s
from agent.cmd.changes.heal_text import Scenery, heal_blocks
from agent.model.heal import HealRefusal
from agent.render.draw import drawn
from agent.render.layout import PLAIN

ACTION = {
    "finding_id": "87897f25-105f-50a2-8adc-94d2fb184baa",
    "consumer_uuid": "6f0d",
    "code": "allocation-leaked",
    "why": "it is deleted",
    "also_ends": ["1c2d77aa-0000-4000-8000-000000000001"],
}


def refusal(guard: str = "role", **changes: Any) -> HealRefusal:
    about = {"finding_id": "99999999-1", "code": "allocation-leaked", "consumer_uuid": "6f0d"}
    return HealRefusal(guard=guard, why="because", **about, **changes)


def young(wait_s: float) -> HealRefusal:
    return refusal("minimum-age", waits=True, wait_s=wait_s)


def document(*actions: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return {
        "node": "cmp1", "host": "cmp1", "digest": "4d1b0c9a7e55ffff", "stale": False, "undecided": False, "unread": [],
        "actions": list(actions), "refusals": [], "results": [], "nothing_because": None, "try_again_s": None,
        "command": None, **changes,
    }  # fmt: skip


def printed(document: dict[str, Any], scenery: Scenery = Scenery()) -> list[str]:  # noqa: B008 - a frozen value
    return drawn(heal_blocks(document, scenery), PLAIN).splitlines()


def test_heal_does_nothing_if_the_plan_has_changed() -> None:
    """If the plan has changed since its approval, `stocktake heal` does nothing and prints the new digest."""
    *_, last = printed(document(ACTION, stale=True))
    assert last == "nothing done: the plan has changed; the current plan is 4d1b0c9a7e55"


def test_heal_says_that_there_is_nothing_left_to_change() -> None:
    """The plan that the operator approved is out of date, and `stocktake heal` has nothing to change any more."""
    assert printed(document(stale=True, nothing_because=nothing_because([], 300.0))) == [
        "plan for cmp1: 0 to change, 0 waiting, 0 refused",
        "nothing done: there is nothing to change any more",
    ]


def test_a_heal_plan_lists_changes_waits_and_refusals() -> None:
    """`stocktake heal` prints what it would change, then what must wait, and last what it refuses."""
    waits = {**ACTION, "guard": "max-percent", "why": "this run has changed 1 of 10", "waits": True, "wait_s": None}
    refused = {**ACTION, "guard": "role", "why": "role observer changes nothing", "waits": False, "wait_s": None}
    command = "stocktake heal --plan 4d1b0c9a7e55 --yes"
    assert printed(document(ACTION, refusals=[refused, waits], command=command)) == [
        "plan for cmp1: 1 to change, 1 waiting, 1 refused",
        "change  allocation-leaked  6f0d  [87897f25]",
        "        it is deleted",
        "        ends also: 1c2d77aa",
        "wait    allocation-leaked  6f0d  [87897f25]",
        "        waiting: this run has changed 1 of 10 (guard rail: max-percent)",
        "refuse  allocation-leaked  6f0d  [87897f25]",
        "        refused: role observer changes nothing (guard rail: role)",
        "        what else the operator can do:",
        "inspect: stocktake explain 87897f25",
        "to carry out the plan:",
        f"  fix: {command}",
    ]


@pytest.mark.parametrize(
    ("kinds", "is_named", "said"),
    [
        (["hand"], False, ["1 finding has no automatic repair on this host: stocktake findings"]),
        (["hand", "heal", "inspect"], False, ["2 findings have no automatic repair on this host: stocktake findings"]),
        (["heal"], False, []),
        (["hand"], True, []),
    ],
)
def test_a_heal_plan_says_how_many_findings_heal_cannot_repair(kinds, is_named, said) -> None:
    """The plan says how many findings have no automatic repair. With --finding or --code, it does not say so."""
    findings = {
        str(number): {"severity": "error", "remedies": [{"kind": kind, "words": "", "command": "x"}]}
        for number, kind in enumerate(kinds)
    }
    shown = printed(document(), Scenery(findings=findings, is_named=is_named))
    assert [text for text in shown if "no automatic repair" in text] == said


def test_a_heal_plan_shows_the_instance_and_age_of_a_finding() -> None:
    """A line of the plan has the finding's code, instance name, state and age, such as "web-3, confirmed, 60 min"."""
    finding = {"id": ACTION["finding_id"], "consumer_uuid": "6f0d", "confirmed": True, "state": "confirmed"}
    finding |= {"first_seen_at": "2026-11-21T09:00:00Z", "stands_since": "2026-11-21T09:56:00Z"}
    scenery = Scenery(findings={finding["id"]: finding}, names={"6f0d": "web-3"}, now="2026-11-21T10:00:00Z")
    heading = printed(document(ACTION), scenery)[1]
    assert (
        heading == "change  allocation-leaked  web-3 6f0d  confirmed, 60 min, evidence unchanged for 4 min  [87897f25]"
    )


@pytest.mark.parametrize(
    ("refusals", "words"),
    [
        ([], "there is nothing to change any more"),
        ([refusal()], "heal repairs none of these findings"),
        ([young(115.2)], "the finding is younger than [heal] min_age (300 s); try again in 116 s"),
        ([young(10), young(115.2)], "both findings are younger than [heal] min_age (300 s); try again in 116 s"),
        ([young(1)] * 3, "all 3 findings are younger than [heal] min_age (300 s); try again in 1 s"),
        ([young(1), refusal()], "1 of 2 findings are younger than [heal] min_age (300 s); try again in 1 s"),
        ([refusal("max-percent", waits=True)], "the finding must wait"),
        ([young(9), refusal("confirmed", waits=True)], "both findings must wait; try again in 9 s"),
    ],
)
def test_a_heal_plan_without_changes_gives_the_reason(refusals: list[HealRefusal], words: str) -> None:
    """`stocktake heal` says, for example, "the finding is younger than [heal] min_age (300 s); try again in 116 s"."""
    assert nothing_because(refusals, 300.0) == words


def test_heal_suggests_a_retry_after_the_longest_wait() -> None:
    """Two findings must wait 10 s and 115.2 s, so `stocktake heal` tells the operator to try again in 116 s."""
    assert try_again_s([young(10), young(115.2), refusal("confirmed", waits=True)]) == 116
    assert try_again_s([refusal("confirmed", waits=True), refusal(wait_s=7.0)]) is None


@pytest.mark.parametrize(("now", "age"), [("10:00:00.400Z", "new"), ("10:00:01.000Z", "1 s")])
def test_a_finding_less_than_one_second_old_is_shown_as_new(now: str, age: str) -> None:
    finding = {"state": "confirmed", "confirmed": True, "first_seen_at": "2026-11-21T10:00:00.000Z",
               "consumer_uuid": "6f0d", "id": ACTION["finding_id"]}  # fmt: skip
    scenery = Scenery(findings={ACTION["finding_id"]: finding}, now=f"2026-11-21T{now}")
    assert f"  confirmed, {age}  [87897f25]" in printed(document(ACTION), scenery)[1]


def test_a_heal_plan_shows_how_long_a_finding_is_unchanged() -> None:
    """`stocktake heal` repairs a finding only if it has not changed for some time, so the plan shows this time."""
    finding = {"state": "confirmed", "confirmed": True, "first_seen_at": "2026-11-21T10:00:00.000Z",
               "stands_since": "2026-11-21T10:05:22.000Z", "consumer_uuid": "6f0d", "id": "1"}  # fmt: skip
    scenery = Scenery(findings={ACTION["finding_id"]: finding}, now="2026-11-21T10:06:00.000Z")
    assert "  confirmed, 6 min, evidence unchanged for 38 s  [87897f25]" in printed(document(ACTION), scenery)[1]


def test_a_heal_plan_gives_a_common_reason_once() -> None:
    """Six findings cannot be repaired yet, all for one reason; the plan prints the reason once."""
    waits = [
        {"finding_id": f"{n}0000000-1", "code": "allocation-leaked", "consumer_uuid": f"c{n}", "guard": "max-percent",
         "why": "this run has changed 1 of 10", "waits": True, "wait_s": None} for n in range(6)
    ]  # fmt: skip
    said = printed(document(ACTION, refusals=waits))
    assert said.count("        waiting: this run has changed 1 of 10 (guard rail: max-percent)") == 1
    assert "wait    allocation-leaked  6 findings" in said
    assert [line for line in said if line.startswith("        [")] == [f"        [{n}0000000] c{n}" for n in range(6)]


def test_heal_prints_the_command_for_the_remaining_findings() -> None:
    """A plan has a limited number of changes, so `stocktake heal` also prints how to repair the remaining findings."""
    said = printed(document(ACTION, command="stocktake heal --plan 4d1b --yes", repeat="stocktake heal --code X"))
    assert said[-4:] == [
        "to carry out the plan:",
        "  fix: stocktake heal --plan 4d1b --yes",
        "the plan is limited to a few changes; to repair the remaining findings afterwards:",
        "  fix: stocktake heal --code X",
    ]


def test_heal_prints_how_to_undo_a_finished_plan() -> None:
    """After all changes of a plan are made, `stocktake heal` prints the `stocktake undo` command for each change."""
    done = {"finding_id": "87897f25", "consumer_uuid": "6f0d", "result": "done", "words": "changed as planned"}
    said = printed(document(ACTION, results=[{**done, "entry_id": "2337b54e0001"}]))
    assert said[-2:] == ["the whole plan was carried out; to take a change back:", " undo: stocktake undo 2337b54e0001"]
    mixed = [{**done, "entry_id": "a"}, {**done, "entry_id": "b", "result": "unknown"}]
    assert not any("undo" in text for text in printed(document(ACTION, results=mixed)))


def test_heal_prints_commands_for_a_repair_by_hand() -> None:
    """`stocktake heal` cannot remove a leftover image folder, so it prints the commands that the operator can run."""
    about = {"finding_id": "99999999-1", "code": "image-leftover", "consumer_uuid": None, "waits": False}
    refused = {**about, "guard": "repairable", "why": "heal has no repair for image-leftover", "wait_s": None}
    by_hand = {"kind": "hand", "words": "remove the folder", "command": "rm -r /i/6f0d"}
    finding = {"id": "99999999-1", "consumer_uuid": None, "subject": "/i/6f0d", "resource_class": None}
    finding |= {"confirmed": True, "first_seen_at": "2026-11-21T09:00:00Z", "remedies": [by_hand]}
    said = printed(document(refusals=[refused]), Scenery(findings={"99999999-1": finding}, now="2026-11-21T10:00:00Z"))
    assert [text.strip() for text in said[3:6]] == [
        "remove the folder.",
        "hand: rm -r /i/6f0d",
        "then: stocktake audit",
    ]
