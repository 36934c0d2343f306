"""Ask for an audit at regular intervals: the resync that makes up for every event that was lost.

The interval is taken once per start with up to 5 % of jitter, so that a fleet started
by one command does not ask Placement in step. oslo.service's looping call ends for
ever after one exception unless told otherwise, so its body is one call that cannot fail.
"""

from __future__ import annotations

import random
from collections.abc import Callable

from oslo_service import loopingcall

JITTER = 0.05
REASON = "interval"


def jittered(interval_s: float, uniform: Callable[[float, float], float] = random.uniform) -> float:
    """``interval_s`` within 5 % of itself."""
    return interval_s * uniform(1 - JITTER, 1 + JITTER)


class IntervalTrigger:
    """Calls ``request`` with a reason every so often, from a thread of its own; None means off."""

    def __init__(self, request: Callable[[str], None]) -> None:
        self._request = request
        self._interval_s: float | None = None
        self._call: loopingcall.FixedIntervalLoopingCall | None = None

    @property
    def interval_s(self) -> float | None:
        """The interval without its jitter."""
        return self._interval_s

    def start(self, interval_s: float | None) -> None:
        """Begin; the first request comes after one interval."""
        self._interval_s = interval_s
        if interval_s is None:
            return
        period_s = jittered(interval_s)
        self._call = loopingcall.FixedIntervalLoopingCall(self._request, REASON)
        self._call.start(period_s, initial_delay=period_s, stop_on_exception=False)

    def replace(self, interval_s: float | None) -> None:
        """Go on with another interval; the same one keeps its phase."""
        if interval_s != self._interval_s:
            self.stop()
            self.start(interval_s)

    def stop(self) -> None:
        """End; no request comes after this returns."""
        if self._call is not None:
            self._call.stop()
            self._call.wait()
            self._call = None
