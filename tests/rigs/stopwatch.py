"""The duration of a call that may never return: the call runs in a thread, so the test can report it and continue."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

#: A call that has not returned after this time counts as one that never returns.
FOR_EVER_S = 40.0
#: The time that a call may take beyond its deadline.
SLACK_S = 1.0


@dataclass(frozen=True, slots=True)
class Lap:
    """A call's duration in seconds, and its return value or exception."""

    took_s: float
    answer: Any = None
    error: BaseException | None = None


def lap(call: Callable[[], Any]) -> Lap:
    """Run one call and measure it. Raise AssertionError if it has not returned in FOR_EVER_S."""
    laps: list[Lap] = []
    began = time.monotonic()

    def run() -> None:
        answer, raised = None, None
        try:
            answer = call()
        except BaseException as error:  # noqa: BLE001 - it is the caller's to look at
            raised = error
        laps.append(Lap(time.monotonic() - began, answer, raised))

    runner = threading.Thread(target=run, name="stopwatch", daemon=True)
    runner.start()
    runner.join(FOR_EVER_S)
    assert laps, f"still under way after {FOR_EVER_S:g} s"
    return laps[0]


def threads_named(name: str) -> int:
    """Return how many threads have that name now."""
    return sum(thread.name == name for thread in threading.enumerate())
