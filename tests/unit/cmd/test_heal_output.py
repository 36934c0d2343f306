"""What heal prints at its end when its plan is not the plan whose digest the operator passed."""

from __future__ import annotations

from typing import Any

from agent.cmd.heal_output import heal_lines


def stale(*actions: dict[str, str]) -> dict[str, Any]:
    return {
        "node": "cmp1", "host": "cmp1", "digest": "4d1b", "stale": True, "undecided": False, "unread": [],
        "actions": list(actions), "refusals": [], "results": [],
    }  # fmt: skip


def test_if_the_repair_plan_changed_heal_does_nothing_and_prints_the_new_digest() -> None:
    *_, last = heal_lines(
        stale({"consumer_uuid": "6f0d", "code": "allocation-leaked", "why": "it is deleted", "also_ends": []})
    )
    assert last == "nothing was done: the plan has changed, its digest is now 4d1b"


def test_if_the_repair_plan_is_now_empty_heal_prints_no_digest() -> None:
    assert list(heal_lines(stale())) == [
        "plan for cmp1: repairs: 0, refused findings: 0",
        "nothing was done: the plan is empty now, because the findings are gone or cannot be healed yet",
    ]
