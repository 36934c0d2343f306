"""Waits between conflict rounds: short at first, spread wide later, never endless, and longer for a slow server."""

from hypothesis import given
from hypothesis import strategies as st

from agent.timing.backoff import hold_s, wait_s

ALMOST_1 = 1.0 - 2**-53
DRAWS = st.floats(0.0, ALMOST_1)
ROUNDS = st.floats(0.0, 600.0)


@given(st.integers(0, 10**6), DRAWS, ROUNDS)
def test_the_wait_after_a_write_conflict_is_at_most_5_seconds(conflict, random01, round_s):
    """The agent waits between 0 and 5 seconds after Placement refused a write because of a conflict."""
    assert 0.0 <= wait_s(conflict, random01, round_s) <= 5.0


@given(st.integers(1, 100), DRAWS, ROUNDS)
def test_the_wait_never_shrinks_after_more_write_conflicts(conflict, random01, round_s):
    """One more write conflict never makes the agent's wait shorter."""
    assert wait_s(conflict, random01, round_s) <= wait_s(conflict + 1, random01, round_s)
    assert wait_s(conflict, random01, round_s) <= wait_s(conflict, random01, round_s + 0.1)


def test_the_maximum_wait_grows_from_50_ms_to_5_seconds():
    """The maximum wait after a write conflict grows from 50 ms after the first to 5 seconds after the fifth."""
    longest = [round(wait_s(conflict, ALMOST_1), 6) for conflict in range(1, 6)]
    assert longest == [0.05, 0.2, 0.8, 3.2, 5.0]


def test_the_maximum_wait_is_longer_after_a_slow_write():
    """The maximum wait after a first write conflict is 1.6 seconds instead of 50 ms if the write took 0.1 seconds."""
    assert [round(wait_s(conflict, ALMOST_1, 0.1), 6) for conflict in range(1, 4)] == [1.6, 5.0, 5.0]


def test_the_wait_is_a_random_part_of_the_maximum_wait():
    """The agent waits a random part of the maximum wait after a write conflict."""
    assert wait_s(2, 0.0) == 0.0
    assert wait_s(2, 0.5) == 0.1


def test_periodic_audits_delay_writes_only_after_a_conflict():
    """A periodic audit delays its writes to Placement only after an earlier audit had a write conflict."""
    assert hold_s(0.0, 0, 0.1, 0.5) == 0.0
    assert hold_s(0.0, 1, 3.7, 0.5) == 3.7


def test_a_write_delay_is_kept_until_the_next_conflict():
    """Periodic audits keep their delay before the first write until a new write conflict sets another delay."""
    assert hold_s(1.6, 0, 1.6, 0.25) == 1.6
    assert hold_s(1.6, 3, 4.4, 0.25) == 4.4


def test_a_delay_above_ten_seconds_becomes_a_random_delay():
    """A periodic audit would wait 200 s before its first write. Instead it waits a random time of 0 to 10 s."""
    assert hold_s(1.6, 3, 200.0, 0.25) == 2.5


@given(st.floats(0.0, 10.0), st.integers(0, 100), ROUNDS, DRAWS)
def test_a_periodic_audit_delays_writes_at_most_ten_seconds(before, conflicts, well_after_s, random01):
    """A periodic audit waits at most ten seconds before its first write to Placement."""
    assert 0.0 <= hold_s(before, conflicts, well_after_s, random01) <= 10.0
