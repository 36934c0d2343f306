"""Whether the cloud's state is current, by the age of its newest heartbeat and by whether that heartbeat moves."""

from __future__ import annotations

import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.audit.freshness import behind_s, standing, why_stale
from agent.model.audit import Standing
from agent.model.nova import NovaState, Pulse, StateKind
from agent.sources.nova.rows import pulse_from
from tests.rigs.facts import NOW, settings, state

SETTINGS = settings()


def old(seconds, kind=StateKind.SQL):
    return state(kind=kind, heartbeat=NOW - datetime.timedelta(seconds=seconds))


# (state, seconds since the agent first read this heartbeat, start of the reason, or None if the state is current).
READS = {
    "a heartbeat of this second": (old(0), 0, None),
    "59 s old": (old(59), 0, None),
    "a minute old": (old(60), 0, "the newest heartbeat of this cell's services is at least 60 s old according"),
    "an hour old": (old(3600), 0, "the newest heartbeat of this cell's services is at least 60 s old"),
    "59 s ahead": (old(-59), 0, None),
    "a minute ahead": (old(-60), 0, "the newest heartbeat of this cell's services is 60 s or more ahead of the data"),
    "conductor, by this host's clock": (old(90, StateKind.CONDUCTOR), 0, "the newest heartbeat of this cell's ser"),
    "it has not moved for 59 s": (old(5), 59, None),
    "it has not moved for a minute": (
        old(5),
        60,
        "the newest heartbeat of this cell's services has not changed for 60",
    ),
    "nobody ever reported": (state(heartbeat=None), 0, "no service of this cell has reported, or all heartbeats are"),
    "the source has no clock": (state(now=None), 0, "the newest heartbeat of this cell's services is at least 60 s"),
    "no cloud at all": (NovaState(kind=StateKind.NONE, host="h"), 9999, None),
}


@pytest.mark.parametrize(("read", "stood_s", "words"), READS.values(), ids=READS.keys())
def test_nova_data_is_stale_without_a_recent_heartbeat(read, stood_s, words):
    """The newest heartbeat of nova's services must be less than 60 s in the past or in the future."""
    before = Standing(read.heartbeat, 1000.0) if read.heartbeat else None
    why = why_stale(read, before, 1000.0 + stood_s, SETTINGS)
    assert (why is None) if words is None else why.startswith(words)


def test_a_longer_service_down_time_allows_older_heartbeats():
    """With service_down_time = 300 the agent accepts a heartbeat that is 200 s old, but not one of 300 s."""
    assert why_stale(old(200), None, 0.0, settings(service_down_time_s=300)) is None
    assert why_stale(old(300), None, 0.0, settings(service_down_time_s=300)) is not None
    # A shorter service_down_time says how soon a service counts as down; it says nothing about a replica's lag.
    assert why_stale(old(30), None, 0.0, settings(service_down_time_s=20)) is None


def test_the_agent_remembers_when_it_saw_the_newest_heartbeat():
    """The agent remembers the time at which it first saw the newest heartbeat of nova's services."""
    first = standing(None, NOW, 10.0)
    assert standing(first, NOW, 50.0) == first == Standing(NOW, 10.0)
    later = NOW + datetime.timedelta(seconds=10)
    assert standing(first, later, 50.0) == Standing(later, 50.0)
    assert standing(first, None, 50.0) == first
    earlier = NOW - datetime.timedelta(seconds=5)
    assert standing(first, earlier, 50.0) == first


@given(lag=st.integers(0, 20_000), age=st.integers(0, 9))
def test_a_database_replica_is_stale_if_it_lags_60_seconds(lag, age):
    """The agent never accepts nova data from a database replica that is 60 seconds or more behind."""
    is_current = why_stale(old(lag + age), None, 0.0, SETTINGS) is None
    assert not (lag >= 60 and is_current)
    assert is_current or lag + age >= 60


@given(offset=st.integers(-10_000, 10_000))
def test_a_heartbeats_age_is_measured_in_seconds(offset):
    """The age of nova's newest heartbeat is the number of seconds from the heartbeat to the read."""
    assert behind_s(Pulse(now=NOW + datetime.timedelta(seconds=offset), heartbeat=NOW)) == offset


def ago(*seconds):
    return tuple(NOW - datetime.timedelta(seconds=second) for second in seconds)


# Heartbeats of the cell's services -> age of the heartbeat that the agent uses.
SERVICES = {
    "one service": (ago(3), 3),
    "the newest but one": (ago(3, 8), 8),
    "one clock is 45 s ahead, beside a copy that is 30 s late": (ago(-15, 30, 35), 30),
    "the others are dead": (ago(3, 400, 500), 3),
    "a row of a clock that was wrong long ago": (ago(-86_400, 900, 905), 900),
    "nothing but such a row": (ago(-86_400), None),
    "nobody reported": ((), None),
}


@pytest.mark.parametrize(("seen", "age_s"), SERVICES.values(), ids=SERVICES.keys())
def test_a_wrong_clock_does_not_hide_old_heartbeats(seen, age_s):
    """If one nova service's clock is wrong, the agent still sees that the other services' heartbeats are old."""
    pulse = pulse_from(NOW, seen)
    assert behind_s(pulse) == age_s
