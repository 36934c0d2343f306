"""Waits between conflict rounds: short at first, spread wide later, never endless."""

from hypothesis import given
from hypothesis import strategies as st

from agent.stages.backoff import wait_s

ALMOST_1 = 1.0 - 2**-53


@given(st.integers(0, 10**6), st.floats(0.0, ALMOST_1))
def test_a_wait_is_between_nothing_and_two_seconds(conflict, random01):
    assert 0.0 <= wait_s(conflict, random01) <= 2.0


@given(st.integers(1, 100), st.floats(0.0, ALMOST_1))
def test_it_never_gets_shorter_for_the_same_draw(conflict, random01):
    assert wait_s(conflict, random01) <= wait_s(conflict + 1, random01)


def test_the_longest_waits_grow_from_50_ms_to_the_cap():
    longest = [round(wait_s(conflict, ALMOST_1), 6) for conflict in range(1, 6)]
    assert longest == [0.05, 0.2, 0.8, 2.0, 2.0]


def test_the_draw_spreads_over_the_whole_range():
    assert wait_s(2, 0.0) == 0.0
    assert wait_s(2, 0.5) == 0.1
