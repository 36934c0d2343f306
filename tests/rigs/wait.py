"""Waiting for a condition, with a deadline, instead of sleeping."""

import threading
import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def until_moment(moment: float) -> None:
    """Wait until a moment (``time.time()``) of the schedule that a program plays; no test may wait like this."""
    left = moment - time.time()
    while left > 0:
        threading.Event().wait(left)
        left = moment - time.time()


def until(condition: Callable[[], T], timeout_s: float, what: str) -> T:
    """Return the first truthy result of ``condition``; raise AssertionError naming ``what`` after ``timeout_s``."""
    end = time.monotonic() + timeout_s
    pause = threading.Event()
    while not (answer := condition()):
        if time.monotonic() > end:
            raise AssertionError(f"not within {timeout_s} s: {what}")
        pause.wait(0.01)
    return answer
