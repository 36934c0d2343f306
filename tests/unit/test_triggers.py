"""The interval, on the real looping call."""

import hypothesis.strategies as st
import pytest
from hypothesis import given

from agent.triggers import IntervalTrigger, jittered
from tests.rigs.wait import until


@pytest.fixture
def asked() -> list[str]:
    return []


@pytest.fixture
def trigger(asked):
    trigger = IntervalTrigger(asked.append)
    yield trigger
    trigger.stop()


@given(st.floats(1, 1e6))
def test_jitter_stays_within_five_percent(interval_s):
    assert 0.949 * interval_s <= jittered(interval_s) <= 1.051 * interval_s


def test_it_asks_again_and_again(trigger, asked):
    trigger.start(0.02)
    until(lambda: len(asked) >= 3, 5, "three requests")
    assert set(asked) == {"interval"}


def test_off_asks_nothing_and_a_reload_turns_it_on_and_off(trigger, asked):
    trigger.start(None)
    trigger.replace(0.02)
    until(lambda: len(asked) >= 2, 5, "two requests")
    trigger.replace(None)
    assert trigger.interval_s is None
    count = len(asked)
    with pytest.raises(AssertionError):
        until(lambda: len(asked) > count, 0.2, "a request after the end")


def test_the_same_interval_keeps_its_phase(trigger):
    trigger.start(60)
    call = trigger._call
    trigger.replace(60)
    assert trigger._call is call
    trigger.replace(61)
    assert trigger._call is not call


def test_a_request_that_raises_does_not_end_it(asked):
    def fail(reason: str) -> None:
        asked.append(reason)
        raise RuntimeError(reason)

    trigger = IntervalTrigger(fail)
    trigger.start(0.02)
    until(lambda: len(asked) >= 3, 5, "three requests")
    trigger.stop()
