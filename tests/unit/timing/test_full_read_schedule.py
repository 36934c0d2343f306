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
    """Of ten scheduled reads of Placement, one reads everything, and nine read only the allocations."""
    turns = Counter(turn(host, audit, every) for audit in range(first, first + every * EVERYTHING_AFTER))
    assert (turns[Turn.EVERYTHING], turns[Turn.ALLOCATIONS]) == (1, EVERYTHING_AFTER - 1)


@given(st.uuids().map(str), st.integers(1, 12), st.integers(1, 1000))
def test_each_cycle_has_one_scheduled_read_of_placement(host, every, first):
    """In each cycle of a configured number of audits, exactly one audit makes a scheduled read of Placement."""
    turns = [turn(host, audit, every) for audit in range(first, first + every)]
    assert sum(its is not Turn.NOTHING for its in turns) == 1


@given(st.uuids().map(str), st.integers(1, 12), st.integers(1, 1000))
def test_the_agent_counts_the_audits_until_the_next_read(host, every, audit):
    """The agent computes how many audits remain until the next scheduled read of Placement."""
    away = audits_to_turn(host, audit, every)
    between = [turn(host, number, every) for number in range(audit + 1, audit + away)]
    assert set(between) <= {Turn.NOTHING}
    assert turn(host, audit + away, every) is not Turn.NOTHING


@pytest.mark.parametrize("audit", [2, 7, 100, 4321])
def test_full_reads_of_many_hosts_are_spread_over_audits(audit):
    """Full reads of Placement by 2,000 hosts that start together are spread over many audits.

    About 20 hosts read everything in the same audit.
    """
    turns = Counter(turn(host, audit, 10) for host in HOSTS)
    assert abs(turns[Turn.ALLOCATIONS] - 180) < 65
    assert abs(turns[Turn.EVERYTHING] - 20) < 23


def test_an_overdue_full_read_replaces_a_read_of_allocations():
    """A scheduled read of allocations becomes a full read of Placement if the last full read is 100 audits ago."""
    assert overdue(Turn.ALLOCATIONS, 100, 10) is Turn.EVERYTHING
    assert overdue(Turn.ALLOCATIONS, 99, 10) is Turn.ALLOCATIONS
    assert overdue(Turn.NOTHING, 1000, 10) is Turn.NOTHING
