"""Turn the signals that end the demo into an exception that is raised only at safe points.

If a signal arrives while the demo creates or removes a part of its cloud, the exception is raised only afterwards. So
the demo has registered each created part for removal before the exception. The demo cannot mask the signals instead,
because child processes inherit the mask. Placement's server would then mask SIGTERM too, and SIGTERM could not end the
server. Only the first signal counts: a second signal must not interrupt the clean-up.
"""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator
from types import FrameType
from typing import Any

ENDINGS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupted(BaseException):
    """A signal ended the demo.

    Like KeyboardInterrupt, the class derives from BaseException, so that no ``except Exception`` treats it as a failed
    read.
    """

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


class Interruptions:
    """A context manager that handles the signals in ENDINGS. A signal that is already ignored (nohup) stays ignored."""

    def __init__(self) -> None:
        self._before: dict[int, Any] = {}
        self._first: int | None = None
        self._raising = False

    def __enter__(self) -> Interruptions:
        for number in ENDINGS:
            if signal.getsignal(number) is not signal.SIG_IGN:
                self._before[number] = signal.signal(number, self._handle)
        return self

    def __exit__(self, *_exc: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    @contextlib.contextmanager
    def allowed(self) -> Iterator[None]:
        """Let signals raise Interrupted inside the ``with`` block. If a signal came earlier, raise at once.

        Such blocks may be nested.
        """
        outside, self._raising = self._raising, True
        try:
            if self._first is not None:
                raise Interrupted(self._first)
            yield
        finally:
            self._raising = outside

    def _handle(self, number: int, _frame: FrameType | None) -> None:
        if self._first is None:
            self._first = number
            if self._raising:
                raise Interrupted(number)
