"""Turn the signals that end the demo into an exception, raised only where nothing is half made.

A signal that arrives while something is being made, or unmade, waits; so what is
made is always noted before anything can be raised. Deferred in Python and not
masked: children inherit a mask, and a Placement with SIGTERM masked could not be
ended. Only the first signal counts: an impatient second must not cut the cleaning short.
"""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator
from types import FrameType
from typing import Any

ENDINGS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupted(BaseException):
    """A signal asked for the end. Like KeyboardInterrupt no Exception, so that nobody takes it for a failed read."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


class Interruptions:
    """A context manager that takes the signals over; one that was ignored before (nohup) stays ignored."""

    def __init__(self) -> None:
        self._before: dict[int, Any] = {}
        self._first: int | None = None
        self._raising = False

    def __enter__(self) -> Interruptions:
        for number in ENDINGS:
            if signal.getsignal(number) is not signal.SIG_IGN:
                self._before[number] = signal.signal(number, self._hear)
        return self

    def __exit__(self, *_exc: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    @contextlib.contextmanager
    def allowed(self) -> Iterator[None]:
        """Within this block a signal raises Interrupted, one that had to wait too. Such blocks may be nested."""
        outside, self._raising = self._raising, True
        try:
            if self._first is not None:
                raise Interrupted(self._first)
            yield
        finally:
            self._raising = outside

    def _hear(self, number: int, _frame: FrameType | None) -> None:
        if self._first is None:
            self._first = number
            if self._raising:
                raise Interrupted(number)
