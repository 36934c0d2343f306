"""Lives of the model cloud: no rightful allocation is ever removed, every leak is found (a million steps: run.py)."""

from agent.model.settings import Role
from tests.cloud.episode import COMPUTES, LIES, VERBS, Event, events_of
from tests.cloud.lives import LENGTH, play_until, shrunk

STEPS = 15_000
STEPS_OF_LIARS = 15_000
STEPS_BESIDE_NOVA = 6_000


def test_the_agent_finds_each_leaked_allocation():
    """In 15,000 steps of a simulated cloud, the agent finds each leaked allocation and removes no valid one."""
    tally = play_until(STEPS, 20261121, LENGTH, lambda life: None).tally
    # A run without events would prove nothing.
    assert tally.steps >= STEPS
    assert min(tally.operations, tally.audits) > STEPS / 20
    assert min(tally.failures, tally.crashes, tally.mishaps, tally.leaks, tally.heals) > 50


def test_stale_database_reads_lead_to_no_wrong_writes():
    """In a simulated cloud, nova's database answers with old or missing rows.

    The agent writes nothing wrong to Placement.
    """
    tally = play_until(STEPS_OF_LIARS, 20261122, LENGTH, lambda life: None, VERBS | LIES).tally
    assert tally.steps >= STEPS_OF_LIARS
    # The agent detects half of the lies; the others lag by less than a minute, or are cut.
    assert min(tally.lies, tally.stale, tally.leaks, tally.heals) > STEPS_OF_LIARS / 400
    assert tally.computes > 5
    assert tally.stale < tally.lies


def test_equal_random_seeds_produce_equal_event_lists():
    """The simulation of a cloud repeats the same events for the same seed, so that a failure can be reproduced."""
    assert events_of(7, 50) == events_of(7, 50)
    assert events_of(7, 50)[-1].verb == "quiet"


def test_a_failing_event_list_is_reduced():
    """After a random test fails, the test rig reduces the list of events to those that the failure needs."""
    events = [Event("step", number) for number in range(40)]
    needed = {events[3], events[17]}
    assert shrunk(events, lambda some: needed <= set(some)) == [events[3], events[17]]


def test_heal_removes_only_leaked_allocations():
    """In a simulated cloud, heal removes only leaked allocations while nova-compute changes allocations."""
    chances = VERBS | LIES | COMPUTES
    tally = play_until(STEPS_BESIDE_NOVA, 20261123, LENGTH, lambda life: None, chances, Role.COMPANION).tally
    assert tally.steps >= STEPS_BESIDE_NOVA
    assert min(tally.leaks, tally.heals, tally.computes, tally.stale) > STEPS_BESIDE_NOVA / 400
    assert min(tally.undone, tally.clones) > 0
