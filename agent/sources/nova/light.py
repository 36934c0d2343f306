"""Turn rows into the result of a light read, for the sources ``sql`` and ``conductor``. Pure: no I/O.

A light read only finds out whether nova's rows have changed since the last full read. For this it compares signs: a
sign is a small value that differs if rows have changed. A sign may contain the newest ``updated_at`` of some rows. Such
a sign proves that no row has changed only if that time is 20 seconds old or more: it is then called settled. Times have
whole seconds, and each of nova's services uses its own clock. So a row that changes later might otherwise get the same
time or an older one.
"""

from __future__ import annotations

import dataclasses
import datetime

from agent.model.nova import LightState, Pulse, StateSign
from agent.sources.nova.documents import Cells, Row
from agent.sources.nova.rows import only_service

# The assumed greatest difference between the clocks of nova's services. If the clocks differ by a minute, nova marks
# services as down.
CLOCKS_DIFFER_BY = datetime.timedelta(seconds=20)
# The columns of a service row that change only if an operator or a restart of the service changes them. The heartbeat
# is not among them.
_OF_SERVICE = ("id", "version", "disabled", "forced_down", "deleted")


def light_state(host: str, services: tuple[Row, ...], pulse: Pulse, now: object, sign: StateSign) -> LightState:
    """Return the result of a light read, which only finds out whether nova's rows have changed since the last read.

    The sign of the result contains ``sign`` and the columns ``_OF_SERVICE`` of ``services``. ``now`` is the database's
    clock. Raises SourceInconsistent if a row of ``services`` or ``now`` cannot be parsed.
    """
    identity = tuple(tuple(row.get(name) for name in _OF_SERVICE) for row in services)
    return LightState(
        sign=dataclasses.replace(sign, parts=(("service", identity), *sign.parts)),
        service=only_service(host, services),
        now=Cells("the database", {"clock": now}).moment("clock"),
        pulse=pulse,
    )


def is_settled(newest: datetime.datetime | None, pulse: Pulse) -> bool:
    """Return whether any row that is saved from now on must get a newer time than ``newest``.

    ``newest`` is the newest ``updated_at`` of some rows.
    """
    if newest is None:
        return True
    clocks = [moment for moment in (pulse.now, pulse.heartbeat) if moment is not None]
    return bool(clocks) and newest <= min(clocks) - CLOCKS_DIFFER_BY
