"""Lives of the model cloud: nothing rightful is ever taken away, every leak is found (a million steps: run.py)."""

from tests.cloud.episode import Event, events_of
from tests.cloud.lives import LENGTH, play_until, shrunk

STEPS = 20_000


def test_no_life_of_the_cloud_has_a_wrong_removal_or_a_missed_leak():
    tally = play_until(STEPS, 20261121, LENGTH, lambda life: None).tally
    # A run in which nothing happens proves nothing.
    assert tally.steps >= STEPS
    assert min(tally.operations, tally.audits) > STEPS / 20
    assert min(tally.failures, tally.crashes, tally.mishaps, tally.leaks, tally.heals) > 50


def test_a_life_drawn_from_a_seed_is_the_same_again():
    assert events_of(7, 50) == events_of(7, 50)
    assert events_of(7, 50)[-1].verb == "quiet"


def test_a_failing_life_is_cut_down_to_what_it_needs():
    events = [Event("step", number) for number in range(40)]
    needed = {events[3], events[17]}
    assert shrunk(events, lambda some: needed <= set(some)) == [events[3], events[17]]
