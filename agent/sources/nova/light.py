"""Turn rows into the result of a light read, for the sources ``sql`` and ``conductor``. Pure: no I/O.

A light read only finds out whether nova's rows have changed since the last full read. For this it compares signs: a
sign is a small value that differs if rows have changed. A sign may contain the newest ``updated_at`` of some rows.

A sign with a time less than 20 seconds old can miss a change. Times have whole seconds, and each of nova's services
uses its own clock, so a row that changes a moment later may get the same time or an older one. After 20 seconds, every
later change gets a newer time. The sign is then called settled: an equal sign proves that no row has changed.
"""

from __future__ import annotations

import dataclasses
import datetime

from agent.model.nova import LightState, Pulse, StateSign
from agent.sources.nova.documents import Cells, Row
from agent.sources.nova.rows import only_service

# The greatest difference between the clocks of nova's services that the agent expects. A much larger difference cannot
# last unnoticed: if clocks differ by a minute, nova marks services as down.
CLOCKS_DIFFER_BY = datetime.timedelta(seconds=20)
# The columns of a service row that change only if an operator or a restart of the service changes them. The heartbeat
# is not among them.
_OF_SERVICE = ("id", "version", "disabled", "forced_down", "deleted")


def light_state(host: str, services: tuple[Row, ...], pulse: Pulse, now: object, sign: StateSign) -> LightState:
    """Return the result of a light read: a sign (a small value that differs if rows have changed), and heartbeats.

    The returned sign is ``sign`` plus the columns ``_OF_SERVICE`` of ``services``. ``now`` is the database's clock.
    Raises SourceInconsistent if a row of ``services`` or ``now`` cannot be parsed.
    """
    identity = tuple(tuple(row.get(name) for name in _OF_SERVICE) for row in services)
    return LightState(
        sign=dataclasses.replace(sign, parts=(("service", identity), *sign.parts)),
        service=only_service(host, services),
        now=Cells("the database", {"clock": now}).moment("clock"),
        pulse=pulse,
    )


def is_settled(newest: datetime.datetime | None, pulse: Pulse) -> bool:
    """Return whether every row that nova saves from now on is sure to get a later ``updated_at`` than ``newest``.

    ``newest`` is the newest ``updated_at`` of the rows that were read; None if no row has such a time.
    """
    if newest is None:
        return True
    clocks = [moment for moment in (pulse.now, pulse.heartbeat) if moment is not None]
    return bool(clocks) and newest <= min(clocks) - CLOCKS_DIFFER_BY
