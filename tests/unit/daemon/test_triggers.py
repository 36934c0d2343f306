"""The first audit and the interval, on the real timers."""

import threading
import time

import hypothesis.strategies as st
import pytest
from hypothesis import given

from agent.daemon.triggers import IntervalTrigger, StartTrigger, first_delay_s, next_due, start_delay_s
from tests.rigs.facts import uuid
from tests.rigs.wait import until

HOSTS = [f"cmp{number}.example.org" for number in range(1000)]


@pytest.fixture
def asked() -> list[str]:
    return []


@pytest.fixture
def trigger(asked):
    trigger = IntervalTrigger(asked.append, "cmp1")
    yield trigger
    trigger.stop()


@given(st.text(), st.floats(0.1, 1e6), st.floats(0, 4e9))
def test_the_first_periodic_audit_is_neither_early_nor_late(identity, interval_s, now):
    """The first periodic audit is due after at least half an interval and at most one and a half intervals."""
    assert 0.5 * interval_s <= first_delay_s(identity, interval_s, now) <= 1.5 * interval_s


@given(st.integers(0, 4_000_000_000), st.integers(0, 100_000))
def test_a_restart_does_not_shift_the_periodic_audits(now, later):
    """With an interval of 60 s, a host audits at the same second of each minute, before and after a restart."""
    one = now + first_delay_s("cmp1", 60, now)
    other = now + later + first_delay_s("cmp1", 60, now + later)
    assert (other - one + 30) % 60 == pytest.approx(30, abs=1e-3)


@given(st.floats(0, 1e6), st.floats(0.1, 1e4), st.floats(0, 1e6))
def test_a_host_keeps_its_audit_schedule_after_a_suspend(due, interval_s, late_s):
    """After a suspend of any length, the next periodic audit comes within one interval, at a scheduled time."""
    after = next_due(due, interval_s, due + late_s)
    assert -1e-6 < after - (due + late_s) <= interval_s + 1e-6
    assert (after - due) / interval_s == pytest.approx(round((after - due) / interval_s), abs=1e-5)


@pytest.mark.parametrize("now", [0, 1_800_000_000])
def test_first_audits_of_many_hosts_are_spread_out(now):
    """If 1,000 hosts start at once, their first periodic audits are spread over the interval of 60 s."""
    turns = [int(now + first_delay_s(host, 60, now)) % 60 for host in HOSTS]
    busiest = max(turns.count(second) for second in range(60))
    # Poisson with mean 16.7: more than 40 in one of the 60 seconds is less likely than 1 in 10,000.
    assert busiest <= 40


def test_start_delays_of_many_hosts_are_spread_out():
    """Each host waits before its start-up audit; the delays of 1,000 hosts are spread over the configured 30 s."""
    delays = [start_delay_s(host, 30.0) for host in HOSTS]
    assert all(0 <= delay < 30 for delay in delays)
    assert max(sum(second <= delay < second + 1 for delay in delays) for second in range(30)) <= 65
    assert {start_delay_s(uuid(host), 0.0) for host in HOSTS} == {0.0}


def test_a_start_up_audit_without_a_delay_is_requested_at_once(asked):
    StartTrigger(asked.append, 0.0).start()
    assert asked == ["start-up"]


def test_one_start_up_audit_is_requested_after_the_delay(asked):
    """After the configured delay, the agent requests exactly one start-up audit."""
    has_returned, waited = threading.Event(), []

    def ask(reason: str) -> None:
        waited.append(has_returned.wait(30))
        asked.append(reason)

    start = StartTrigger(ask, 0.05)
    began = time.monotonic()
    start.start()
    has_returned.set()
    until(lambda: asked == ["start-up"], 60, "the first audit")
    assert time.monotonic() - began >= 0.05
    start.stop()
    assert (asked, waited) == (["start-up"], [True])


def test_a_stop_during_the_start_delay_cancels_the_audit(asked):
    """If the agent stops while it waits before its start-up audit, it stops at once and requests no audit."""
    start = StartTrigger(asked.append, 20.0)
    start.start()
    timer = start._timer
    start.stop()
    # stop() neither waited for the delay nor left a timer that could still request an audit.
    assert (asked, timer.is_alive()) == ([], False)


def test_the_interval_timer_requests_audits_repeatedly(trigger, asked):
    trigger.start(0.02)
    until(lambda: len(asked) >= 3, 60, "three requests")
    assert set(asked) == {"interval"}


def test_periodic_audits_follow_a_changed_interval(trigger, asked):
    """Periodic audits begin when an interval is set in the running agent, and end when the interval is removed."""
    trigger.start(None)
    trigger.replace(0.02)
    until(lambda: len(asked) >= 2, 60, "two requests")
    trigger.replace(None)
    assert trigger.interval_s is None
    count = len(asked)
    with pytest.raises(AssertionError):
        until(lambda: len(asked) > count, 0.2, "a request after the end")


def test_the_interval_timer_restarts_only_for_a_new_interval(trigger):
    """The timer of the periodic audits starts a new thread only if the interval has changed."""
    trigger.start(60)
    thread = trigger._thread
    trigger.replace(60)
    assert trigger._thread is thread
    trigger.replace(61)
    assert trigger._thread is not thread


def test_the_interval_timer_survives_an_exception(asked):
    """The timer goes on to request periodic audits even if each request raises an exception."""

    def fail(reason: str) -> None:
        asked.append(reason)
        raise RuntimeError(reason)

    trigger = IntervalTrigger(fail, "cmp1")
    trigger.start(0.02)
    until(lambda: len(asked) >= 3, 60, "three requests")
    trigger.stop()
