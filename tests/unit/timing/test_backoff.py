"""Waits between conflict rounds: short at first, spread wide later, never endless, and longer for a slow server."""

from hypothesis import given
from hypothesis import strategies as st

from agent.timing.backoff import hold_s, wait_s

ALMOST_1 = 1.0 - 2**-53
DRAWS = st.floats(0.0, ALMOST_1)
ROUNDS = st.floats(0.0, 600.0)


@given(st.integers(0, 10**6), DRAWS, ROUNDS)
def test_the_wait_after_a_write_conflict_is_between_zero_and_five_seconds(conflict, random01, round_s):
    assert 0.0 <= wait_s(conflict, random01, round_s) <= 5.0


@given(st.integers(1, 100), DRAWS, ROUNDS)
def test_the_wait_never_gets_shorter_with_more_conflicts_or_a_longer_write(conflict, random01, round_s):
    assert wait_s(conflict, random01, round_s) <= wait_s(conflict + 1, random01, round_s)
    assert wait_s(conflict, random01, round_s) <= wait_s(conflict, random01, round_s + 0.1)


def test_the_maximum_wait_after_a_conflict_grows_from_50_ms_to_5_s():
    longest = [round(wait_s(conflict, ALMOST_1), 6) for conflict in range(1, 6)]
    assert longest == [0.05, 0.2, 0.8, 3.2, 5.0]


def test_the_maximum_wait_after_a_conflict_is_longer_if_the_write_took_longer():
    assert [round(wait_s(conflict, ALMOST_1, 0.1), 6) for conflict in range(1, 4)] == [1.6, 5.0, 5.0]


def test_the_wait_after_a_conflict_is_a_random_part_of_the_maximum_wait():
    assert wait_s(2, 0.0) == 0.0
    assert wait_s(2, 0.5) == 0.1


def test_periodic_audits_delay_their_writes_only_after_a_write_conflict():
    assert hold_s(0.0, 0, 0.1, 0.5) == 0.0
    assert hold_s(0.0, 1, 3.7, 0.5) == 3.7


def test_the_delay_before_the_first_write_is_kept_until_the_next_write_conflict():
    assert hold_s(1.6, 0, 1.6, 0.25) == 1.6
    assert hold_s(1.6, 3, 4.4, 0.25) == 4.4


def test_a_write_delay_above_ten_seconds_is_replaced_by_a_random_shorter_delay():
    assert hold_s(1.6, 3, 200.0, 0.25) == 2.5


@given(st.floats(0.0, 10.0), st.integers(0, 100), ROUNDS, DRAWS)
def test_a_periodic_audit_waits_at_most_ten_seconds_before_its_first_write(before, conflicts, well_after_s, random01):
    assert 0.0 <= hold_s(before, conflicts, well_after_s, random01) <= 10.0
