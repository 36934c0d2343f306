"""Decide whether the cloud's state is current: an answer that is complete may still be an hour old.

A database replica that lags, or has stopped, answers at once and in full. What shows its age
is the newest heartbeat of any service of the cell: conductors, schedulers and nova-computes
each write one every ``report_interval`` (10 s), so rows are at most that much newer than the
newest heartbeat beside them. What a newcomer would get wrong: ``SHOW REPLICA STATUS``
says nothing where a middle tier answers, and the age needs a clock that is not the
hypervisor's own wherever there is another. Pure.
"""

from __future__ import annotations

import datetime

from agent.model.audit import Standing
from agent.model.nova import NovaState, Pulse, StateKind
from agent.model.settings import Settings

#: nova's default ``service_down_time``: a cell of which nobody has reported for so long is down, or read late.
OLDEST_S = 60.0


def oldest_s(settings: Settings) -> float:
    """How old the newest heartbeat may be; clouds whose services report less often have a longer service_down_time."""
    return max(OLDEST_S, settings.service_down_time_s)


def standing(before: Standing | None, heartbeat: datetime.datetime | None, monotonic: float) -> Standing | None:
    """What to remember of a read: the same heartbeat stands since it was first read. None: none was read."""
    if heartbeat is None:
        return before
    if before is not None and before.heartbeat == heartbeat:
        return before
    return Standing(heartbeat, monotonic)


def why_stale(state: NovaState, before: Standing | None, monotonic: float, settings: Settings) -> str | None:
    """Why that state proves nothing about now, None where it is current.

    The same words from audit to audit: a finding is confirmed by equal words. How far
    behind the rows are is in ``behind_s``.
    """
    if state.kind is StateKind.NONE:
        return None
    limit = oldest_s(settings)
    if state.heartbeat is None:
        return "no service of this cell has reported, or all heartbeats are a minute or more ahead of the clock"
    age = behind_s(state.pulse)
    if age is None or abs(age) >= limit:
        return _old(state.kind, age, limit)
    stands = standing(before, state.heartbeat, monotonic)
    if stands is not None and monotonic - stands.since >= limit:
        return f"the newest heartbeat of this cell's services has not moved for {limit:.0f} s: its rows are old"
    return None


def behind_s(pulse: Pulse) -> float | None:
    """How old the newest heartbeat is by the source's clock, in seconds, negative where it is ahead of that clock."""
    if pulse.now is None or pulse.heartbeat is None:
        return None
    return (pulse.now - pulse.heartbeat).total_seconds()


def _old(kind: StateKind, age: float | None, limit: float) -> str:
    clock = "the database's clock" if kind is StateKind.SQL else "this host's clock"
    if age is not None and age < 0:
        return f"the newest heartbeat of this cell's services is {limit:.0f} s or more ahead of {clock}"
    return f"the newest heartbeat of this cell's services is {limit:.0f} s old or older by {clock}: its rows are old"
