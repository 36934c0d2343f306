"""Decide whether the cloud's state is current: even complete rows may be an hour old.

A database replica whose replication lags or has stopped still answers at once and completely. The newest heartbeat of
the cell's services shows the age of the rows: each conductor, scheduler and nova-compute writes a heartbeat every
``report_interval`` (10 s). So the newest heartbeat among the rows is at most 10 s older than the rows.

``SHOW REPLICA STATUS`` would not help: through a database proxy, the statement shows nothing. The age is measured with
the state source's clock if the state source has one, otherwise with the hypervisor's clock. Pure.
"""

from __future__ import annotations

import datetime

from agent.model.audit import Standing
from agent.model.nova import NovaState, Pulse
from agent.model.settings import Settings

#: nova's default ``service_down_time``. If no service has reported in this time, the cell is down or the rows are old.
OLDEST_S = 60.0


def oldest_s(settings: Settings) -> float:
    """Return the age at which the newest heartbeat is too old: ``service_down_time``, but at least OLDEST_S."""
    return max(OLDEST_S, settings.service_down_time_s)


def standing(before: Standing | None, heartbeat: datetime.datetime | None, monotonic: float) -> Standing | None:
    """Return the newest heartbeat so far, and the time (in monotonic seconds) at which the agent first read it.

    If ``heartbeat`` is newer than the one in ``before``, return it with the current time, ``monotonic``. Otherwise
    return ``before``.
    An older heartbeat is normal: reads may return heartbeats of different services.
    """
    if heartbeat is None:
        return before
    if before is not None and before.heartbeat >= heartbeat:
        return before
    return Standing(heartbeat, monotonic)


def why_stale(state: NovaState, before: Standing | None, monotonic: float, settings: Settings) -> str | None:
    """Return why nova's rows in ``state`` may be old; None if the rows are current.

    A finding is confirmed only if its text stays the same, so the returned text does not contain the age of the rows
    (``behind_s``).
    """
    if not state.kind.has_cloud:
        return None
    limit = oldest_s(settings)
    if state.heartbeat is None:
        return f"no service of this cell has reported, or all heartbeats are at least 60 s ahead of {state.kind.clock}"
    age = behind_s(state.pulse)
    if age is None or abs(age) >= limit:
        return _old(state.kind.clock, age, limit)
    stands = standing(before, state.heartbeat, monotonic)
    if stands is not None and monotonic - stands.since >= limit:
        return (
            f"the newest heartbeat of this cell's services has not changed for {limit:.0f} s: nova's rows "
            "may be old, because all services are down or the agent reads an old copy of nova's database"
        )
    return None


def behind_s(pulse: Pulse) -> float | None:
    """Return the heartbeat's age in seconds by the source's clock, negative if the heartbeat is ahead of that clock."""
    if pulse.now is None or pulse.heartbeat is None:
        return None
    return (pulse.now - pulse.heartbeat).total_seconds()


def _old(clock: str, age: float | None, limit: float) -> str:
    if age is not None and age < 0:
        return f"the newest heartbeat of this cell's services is {limit:.0f} s or more ahead of {clock}"
    how_old = f"at least {limit:.0f} s old according to {clock}"
    return f"the newest heartbeat of this cell's services is {how_old}, so nova's rows are old"
