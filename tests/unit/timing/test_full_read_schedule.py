"""Which audits read allocations or everything: the host's identity and the audit's number alone decide."""

import uuid
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.timing.full_read_schedule import EVERYTHING_AFTER, Turn, audits_to_turn, overdue, turn

HOSTS = [str(uuid.uuid5(uuid.NAMESPACE_DNS, f"host-{number}")) for number in range(2000)]


@given(st.uuids().map(str), st.integers(1, 12), st.integers(1, 1000))
def test_every_tenth_scheduled_placement_read_is_a_full_read(host, every, first):
    """The other nine reads cover only the allocations."""
    turns = Counter(turn(host, audit, every) for audit in range(first, first + every * EVERYTHING_AFTER))
    assert (turns[Turn.EVERYTHING], turns[Turn.ALLOCATIONS]) == (1, EVERYTHING_AFTER - 1)


@given(st.uuids().map(str), st.integers(1, 12), st.integers(1, 1000))
def test_exactly_one_audit_of_each_cycle_reads_the_allocations_again(host, every, first):
    turns = [turn(host, audit, every) for audit in range(first, first + every)]
    assert sum(its is not Turn.NOTHING for its in turns) == 1


@given(st.uuids().map(str), st.integers(1, 12), st.integers(1, 1000))
def test_the_agent_correctly_counts_the_audits_until_the_next_placement_read(host, every, audit):
    away = audits_to_turn(host, audit, every)
    between = [turn(host, number, every) for number in range(audit + 1, audit + away)]
    assert set(between) <= {Turn.NOTHING}
    assert turn(host, audit + away, every) is not Turn.NOTHING


@pytest.mark.parametrize("audit", [2, 7, 100, 4321])
def test_full_placement_reads_are_spread_over_audits_if_hosts_start_together(audit):
    """Of 2,000 hosts 180 ± 13 read allocations in one audit, and 20 ± 4.5 everything; five deviations are allowed."""
    turns = Counter(turn(host, audit, 10) for host in HOSTS)
    assert abs(turns[Turn.ALLOCATIONS] - 180) < 65
    assert abs(turns[Turn.EVERYTHING] - 20) < 23


def test_an_overdue_full_read_replaces_the_next_read_of_allocations():
    assert overdue(Turn.ALLOCATIONS, 100, 10) is Turn.EVERYTHING
    assert overdue(Turn.ALLOCATIONS, 99, 10) is Turn.ALLOCATIONS
    assert overdue(Turn.NOTHING, 1000, 10) is Turn.NOTHING
