"""How long a call takes that may never end: it runs beside the test, which says so and goes on."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

#: Whoever has not ended by then is taken for one that never does.
FOR_EVER_S = 40.0
#: What a call may take beyond its deadline.
SLACK_S = 1.0


@dataclass(frozen=True, slots=True)
class Lap:
    """What a call gave or raised, and its seconds."""

    took_s: float
    answer: Any = None
    error: BaseException | None = None


def lap(call: Callable[[], Any]) -> Lap:
    """One call. AssertionError where it has not ended in FOR_EVER_S."""
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
    """How many there are now."""
    return sum(thread.name == name for thread in threading.enumerate())
