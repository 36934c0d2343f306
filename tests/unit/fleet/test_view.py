"""Rows of hosts that sent messages, of hosts that are expected, and sums over all of them."""

from dataclasses import replace

import pytest

from agent.fleet.conditions import Condition
from agent.fleet.expected import ExpectedHost
from agent.fleet.view import ExpectedHosts
from tests.rigs.fleet_hosts import AT, NOW, broken, cell, clean, expected, seen, view


def conditions(of) -> dict[str, Condition]:
    return {row.host: row.condition for row in of.rows}


def test_an_expected_host_without_messages_gets_condition_never():
    """If an expected host has never sent a message, `stocktake watch` gives the host the condition "never"."""
    found = view(cell(seen(clean("a")), expected=expected("a", "b")))
    assert conditions(found) == {"a": Condition.CLEAN, "b": Condition.NEVER}
    assert found.counts[Condition.NEVER] == 1
    assert found.expected == 2


@pytest.mark.parametrize(
    ("began_s", "interval_s", "condition"),
    [(184, 60, Condition.AWAITED), (186, 60, Condition.NEVER), (12, 2, Condition.NEVER), (10, 2, Condition.AWAITED)],
)
def test_an_expected_host_is_awaited_for_three_intervals(began_s, interval_s, condition):
    """`stocktake watch` waits three audit intervals and 5 s for a host's first message, then marks it as never seen."""
    young = cell(seen(clean("a", interval_s=interval_s)), expected=expected("a", "b"), began_at=NOW - began_s)
    assert conditions(view(young))["b"] is condition


def test_a_host_without_messages_is_marked_as_never_seen():
    """After a wait, `stocktake watch` marks an expected host without messages as never seen."""
    young = cell(expected=expected("b"), began_at=NOW)
    assert conditions(view(young, waited=True)) == {"b": Condition.NEVER}


def test_the_last_condition_of_a_silent_host_is_remembered():
    """If a host with an error falls silent, `stocktake watch` remembers that the host had an error."""
    (row,) = view(cell(seen(broken("a"), age_s=300))).rows
    assert (row.condition, row.for_s) == (Condition.SILENT, 300)
    assert row.seen.told is Condition.ERROR


def test_the_age_of_a_finding_grows_after_the_message():
    """`stocktake watch` adds the time since a host's last message to the age of the host's finding."""
    (row,) = view(cell(seen(broken(), age_s=30))).rows
    assert (row.for_s, row.for_at_least) == (12 * 60 + 30, False)


def test_a_crash_in_the_first_message_has_a_minimum_age():
    """If a host's first message reports a crash, `stocktake watch` knows only the minimum age of the crash."""
    first = seen(clean(outcome="crashed", findings=None), age_s=90)
    (row,) = view(cell(seen(clean(outcome="crashed", findings=None), age_s=30).after(first))).rows
    assert (row.for_s, row.for_at_least) == (90, True)


def test_a_host_missing_from_the_list_is_unexpected():
    """`stocktake watch` marks a host as unexpected if it sends messages and is not in the list of expected hosts."""
    found = view(cell(seen(clean("a")), seen(clean("stranger")), expected=expected("a")))
    assert {row.host: row.is_expected for row in found.rows} == {"a": True, "stranger": False}


@pytest.mark.parametrize("hosts", [None, ExpectedHosts(hosts=None, problem="refused")])
def test_no_host_is_unexpected_without_a_host_list(hosts):
    """If the list of expected hosts is not given or not readable, `stocktake watch` marks no host as unexpected."""
    found = view(cell(seen(clean("a")), expected=hosts))
    assert [row.is_expected for row in found.rows] == [None]
    assert found.expected is None


def test_the_old_host_list_is_used_if_the_new_is_unreadable():
    """If a new list of expected hosts cannot be read, `stocktake watch` uses the old one and shows the problem."""
    old = replace(expected("a"), problem="refused")
    found = view(cell(expected=old))
    assert (conditions(found), found.problems) == ({"a": Condition.NEVER}, ("refused",))


def test_a_row_shows_the_group_and_disabled_state_of_a_host():
    """In `stocktake watch`, a host's row shows the host's group and whether nova-compute is disabled there."""
    listed = expected(ExpectedHost(host="a", group="rack-1"), ExpectedHost(host="b", disabled=True))
    found = view(cell(seen(clean("a")), expected=listed))
    assert [(row.host, row.group, row.disabled) for row in found.rows] == [("a", "rack-1", False), ("b", "", True)]


def test_hosts_of_the_same_name_in_two_cells_have_two_rows():
    one, other = (cell(seen(clean("a")), name=name) for name in ("cell-1", "cell-2"))
    assert [row.key for row in view(one, other).rows] == [("cell-1", "a"), ("cell-2", "a")]


def test_a_host_without_messages_in_any_cell_is_listed_once():
    """If all nova cells share one host list, a host without messages is listed once, without a cell name."""
    one, other = (cell(seen(clean(host)), name=name) for host, name in (("a", "cell-1"), ("b", "cell-2")))
    found = view(one, other, everywhere=expected("a", "b", "c"))
    assert [row.key for row in found.rows] == [("cell-1", "a"), ("cell-2", "b"), ("", "c")]
    assert found.expected == 3


def test_a_host_is_expected_only_in_its_own_cell():
    """With one host list for each nova cell, a host that sends messages in another cell is unexpected there."""
    one = cell(name="cell-1", expected=expected("a"))
    other = cell(seen(clean("a")), name="cell-2", expected=expected("b"))
    found = view(one, other)
    assert [(row.cell, row.host, row.is_expected) for row in found.rows] == [
        ("cell-1", "a", True),
        ("cell-2", "a", False),
        ("cell-2", "b", True),
    ]


def test_the_fleet_totals_count_hosts_with_unknown_amounts():
    """The totals of `stocktake watch` add up the known leaked amounts and count the hosts with unknown amounts."""
    found = view(
        cell(
            seen(broken("a", leaked={"VCPU": 8, "DISK_GB": 80}, missing={"VCPU": 1}, held_back=2)),
            seen(broken("b", leaked={"VCPU": 2}), age_s=999),
            seen(clean("c", leaked=None)),
            expected=expected("d"),
        )
    ).sums
    assert (found.leaked, found.missing, found.held_back) == ({"VCPU": 10, "DISK_GB": 80}, {"VCPU": 1}, 2)
    assert found.not_known == 2


def test_the_rows_of_the_fleet_view_are_sorted_by_host_name():
    found = view(cell(*(seen(clean(host)) for host in ("b", "a", "c")), expected=expected("aa")))
    assert [row.host for row in found.rows] == ["a", "aa", "b", "c"]


def test_the_row_of_an_unseen_host_has_the_start_of_the_wait():
    """The row of an unseen host contains the time when `stocktake watch` began to wait for the host's messages."""
    (row,) = view(cell(expected=expected("a"))).rows
    assert (AT - row.began).total_seconds() == 780
