"""How bad a host is by its message, and on which conditions ``--fail-on`` fails."""

import pytest

from agent.fleet.conditions import GLYPHS, RANKS, Condition, told_condition
from agent.fleet.fail_on import FAIL_ON, holding
from tests.rigs.fleet_hosts import broken, cell, clean, expected, seen, view


@pytest.mark.parametrize(
    ("outcome", "severities", "condition"),
    [
        ("clean", {}, Condition.CLEAN),
        ("findings", {"info": 1}, Condition.INFO),
        ("findings", {"info": 9, "warning": 1}, Condition.WARNING),
        ("findings", {"warning": 9, "error": 1}, Condition.ERROR),
        ("findings", {"error": 0}, Condition.CLEAN),
        ("partial", {"warning": 1}, Condition.PARTIAL),
        ("partial", {"error": 1}, Condition.ERROR),
        ("unreadable", {}, Condition.UNREADABLE),
        ("refused", {"error": 1}, Condition.REFUSED),
        ("crashed", {}, Condition.CRASHED),
        ("an outcome of a newer agent", {}, Condition.UNRATED),
    ],
)
def test_the_outcome_and_worst_finding_decide_the_condition(outcome, severities, condition):
    """The condition of a host follows from its audit's outcome and its worst finding; the worse of them counts."""
    assert told_condition(outcome, tuple(severities.items()), ()) is condition


@pytest.mark.parametrize(("findings", "condition"), [((), Condition.CLEAN), ((("x", 2),), Condition.UNRATED)])
def test_a_host_with_findings_but_no_severities_is_unrated(findings, condition):
    """`stocktake watch` shows a host as unrated if its agent reports findings without their severities."""
    assert told_condition("findings", None, findings) is condition


def test_a_host_that_never_sent_a_message_ranks_worst():
    """`stocktake watch` ranks hosts from worst to best: a host without any message comes first, a clean host last."""
    ranked = [condition.value for condition in sorted(Condition, key=RANKS.__getitem__)]
    assert ranked == [
        "never", "silent", "crashed", "refused", "error", "unreadable", "partial", "unrated", "warning", "info",
        "awaited", "clean",
    ]  # fmt: skip
    assert RANKS[Condition.UNREADABLE] == RANKS[Condition.PARTIAL]
    assert GLYPHS.keys() == set(Condition)


@pytest.mark.parametrize(
    ("document", "age_s", "words"),
    [
        (clean(), 0, set()),
        (clean(), 999, {"silent"}),
        (broken(), 0, {"error"}),
        (broken(), 999, {"error", "silent"}),
        (broken(severities={"error": 1, "warning": 1}), 0, {"error", "warning"}),
        (broken(severity="info"), 0, set()),
        (clean(outcome="crashed"), 0, {"error"}),
        (clean(outcome="refused"), 0, {"error"}),
        (clean(outcome="partial", sources_lost=["placement"]), 0, {"partial"}),
        (clean(outcome="unreadable"), 0, {"partial"}),
        (clean(held_back=2), 0, {"held-back"}),
        (broken(severities=None), 0, {"warning"}),
    ],
)
def test_fail_on_checks_the_last_message_of_each_host(document, age_s, words):
    """`stocktake watch --fail-on` checks the content and the age of each host's last message."""
    held = holding(view(cell(seen(document, age_s))).rows)
    assert held == words
    assert held <= set(FAIL_ON)


def test_watch_fails_if_an_expected_host_never_sent_a_message():
    """With `--fail-on never`, `stocktake watch` fails if an expected host has never sent a message."""
    assert holding(view(cell(expected=expected("compute-9"))).rows) == {"never"}


def test_a_host_has_not_failed_before_its_first_message_is_due():
    """`stocktake watch --fail-on` does not count an expected host as failed in the first seconds of the watch."""
    just_begun = cell(expected=expected("compute-9"), began_at=9_999.0)
    assert holding(view(just_begun).rows) == frozenset()
