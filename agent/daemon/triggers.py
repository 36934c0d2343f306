"""Ask for audits by the clock: the first one, and then the resync that makes up for every event that was lost.

Whose turn is when comes from the host's name, which is known before anything is
read: hosts that one command started do not ask Placement in step, and a host's turn
is the same after a restart (agent/timing/splay.py). oslo.service's looping call ends
for ever after one exception unless told otherwise, so its body is one call that cannot fail.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from oslo_service import loopingcall

from agent.model.audit import PERIODIC
from agent.timing.splay import phase, until_turn

REASON = PERIODIC
START_REASON = "start-up"
# The start has just audited: a turn nearer than this part of the interval is left out.
_TOO_SOON = 0.5


def first_delay_s(identity: str, interval_s: float, now: float) -> float:
    """Seconds from a start at ``now`` (since the epoch) to its first periodic audit: 0.5 to 1.5 intervals."""
    delay_s = until_turn(now, interval_s, phase(identity, REASON))
    return delay_s if delay_s >= _TOO_SOON * interval_s else delay_s + interval_s


def start_delay_s(identity: str, splay_s: float) -> float:
    """How long a start waits before its first audit, where starts are spread over ``splay_s``."""
    return splay_s * phase(identity, START_REASON)


class StartTrigger:
    """Calls ``request`` once with a reason, ``delay_s`` after the start; without a delay before ``start`` returns."""

    def __init__(self, request: Callable[[str], None], delay_s: float) -> None:
        self._request = request
        self._delay_s = delay_s
        self._timer: threading.Timer | None = None

    def start(self) -> None:
        """Begin to wait, where there is something to wait for."""
        if self._delay_s <= 0:
            self._request(START_REASON)
            return
        self._timer = threading.Timer(self._delay_s, self._request, (START_REASON,))
        self._timer.daemon = True
        self._timer.start()

    def stop(self) -> None:
        """End; no request comes after this returns."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer.join()
            self._timer = None


class IntervalTrigger:
    """Calls ``request`` with a reason every so often, from a thread of its own; None means off.

    ``identity`` decides at which moments of the interval.
    """

    def __init__(self, request: Callable[[str], None], identity: str) -> None:
        self._request = request
        self._identity = identity
        self._interval_s: float | None = None
        self._call: loopingcall.FixedIntervalLoopingCall | None = None

    @property
    def interval_s(self) -> float | None:
        """The interval that is in force."""
        return self._interval_s

    def start(self, interval_s: float | None) -> None:
        """Begin; the first request comes at the host's turn, half an interval away at least."""
        self._interval_s = interval_s
        if interval_s is None:
            return
        delay_s = first_delay_s(self._identity, interval_s, time.time())
        self._call = loopingcall.FixedIntervalLoopingCall(self._request, REASON)
        self._call.start(interval_s, initial_delay=delay_s, stop_on_exception=False)

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
