"""Request audits by the clock: the first audit, and then periodic audits, which find changes whose event was lost.

The times of a host's audits depend on the host's name, which is known before any read. So hosts that start at the same
moment query Placement at different times, and a host's times stay the same after a restart (agent/timing/splay.py).
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable

from agent.model.audit import PERIODIC
from agent.telemetry import events
from agent.telemetry.event_log import log_bug
from agent.timing.splay import phase, until_turn

START_REASON = "start-up"
# The agent audits at its start. A periodic audit closer to the start than this fraction of the interval is skipped.
_TOO_SOON = 0.5


def first_delay_s(identity: str, interval_s: float, now: float) -> float:
    """Return the seconds from a start at ``now`` to the first periodic audit: 0.5 to 1.5 intervals.

    ``now`` is in seconds since the epoch.
    """
    delay_s = until_turn(now, interval_s, phase(identity, PERIODIC))
    return delay_s if delay_s >= _TOO_SOON * interval_s else delay_s + interval_s


def start_delay_s(identity: str, splay_s: float) -> float:
    """Return the seconds from the agent's start to its first audit, which differ by host: from 0 to ``splay_s``."""
    return splay_s * phase(identity, START_REASON)


def next_due(due: float, interval_s: float, now: float) -> float:
    """Return the next audit time after ``now``. Audit times are one or more whole intervals after ``due``.

    A host that was suspended misses some audit times. It runs one audit afterwards and none for the missed times.
    """
    return due + interval_s * max(1, math.floor((now - due) / interval_s) + 1)


class StartTrigger:
    """Requests the first audit: calls ``request`` once, ``delay_s`` seconds after ``start`` (0: at once)."""

    def __init__(self, request: Callable[[str], None], delay_s: float) -> None:
        self._request = request
        self._delay_s = delay_s
        self._timer: threading.Timer | None = None

    def start(self) -> None:
        """Start the delay, or call ``request`` at once if there is no delay."""
        if self._delay_s <= 0:
            self._request(START_REASON)
            return
        self._timer = threading.Timer(self._delay_s, self._request, (START_REASON,))
        self._timer.daemon = True
        self._timer.start()

    def stop(self) -> None:
        """Stop; after this method returns, ``request`` is not called any more."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer.join()
            self._timer = None


class IntervalTrigger:
    """Requests the periodic audits: a thread calls ``request`` once per interval, or never if the interval is None.

    ``identity`` (the host's name) decides at which moment of the interval the calls come.
    """

    def __init__(self, request: Callable[[str], None], identity: str) -> None:
        self._request = request
        self._identity = identity
        self.interval_s: float | None = None
        self._thread: threading.Thread | None = None
        self._stopped = threading.Event()

    def start(self, interval_s: float | None) -> None:
        """Start the thread, which calls ``request`` for the first time after 0.5 to 1.5 intervals."""
        self.interval_s = interval_s
        if interval_s is None:
            return
        delay_s = first_delay_s(self._identity, interval_s, time.time())
        self._stopped = threading.Event()
        self._thread = threading.Thread(
            target=self._run, args=(time.monotonic() + delay_s, interval_s, self._stopped), name="interval", daemon=True
        )
        self._thread.start()

    def replace(self, interval_s: float | None) -> None:
        """Continue with another interval. If the interval is unchanged, do nothing, so that no audit is delayed."""
        if interval_s != self.interval_s:
            self.stop()
            self.start(interval_s)

    def stop(self) -> None:
        """Stop; after this method returns, ``request`` is not called any more."""
        if self._thread is not None:
            self._stopped.set()
            self._thread.join()
            self._thread = None

    def _run(self, due: float, interval_s: float, stopped: threading.Event) -> None:
        """Call ``request`` at ``due`` (monotonic seconds) and then once per interval, until ``stopped`` is set."""
        while not stopped.wait(max(0.0, due - time.monotonic())):
            try:
                self._request(PERIODIC)
            except Exception as error:  # noqa: BLE001 - the thread must survive a bug, or no periodic audit ever runs again
                log_bug(events.INTERVAL_FAILED, error)
            due = next_due(due, interval_s, time.monotonic())
