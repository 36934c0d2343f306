"""Limit the wait for a call that cannot be cancelled, and decide the pause before a new try to reach a lost broker.

oslo.messaging's start, stop and cleanup wait for the broker, forever if the broker hangs.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from agent.timing.backoff import grown_s

FIRST_PAUSE_S = 1.0
LONGEST_PAUSE_S = 30.0


def ended_within(seconds: float, call: Callable[[], object], name: str) -> bool:
    """Run ``call`` in a daemon thread ``name``; return whether ``call`` ended within ``seconds``.

    If ``call`` did not end in time, the thread continues to run.
    """
    ended = threading.Event()

    def run() -> None:
        try:
            call()
        finally:
            ended.set()

    threading.Thread(target=run, name=name, daemon=True).start()
    return ended.wait(seconds)


def pause_s(failures: int) -> float:
    """Return the seconds from the end of the last try to the next try, after ``failures`` failed tries in a row."""
    return grown_s(FIRST_PAUSE_S, LONGEST_PAUSE_S, failures - 1) if failures else 0.0
