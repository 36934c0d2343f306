"""Give one question to Placement a time within which it is over, whatever it waits for, and keep what hangs apart.

What a newcomer would get wrong: a question is more than a request. It may ask Keystone for its versions and for a
token first, follow redirects, and be tried again; all of that has one bound together. Only pauses, which we make
ourselves, are added to it. And a socket's time-out reaches sockets alone: what the host's resolver takes to look a
name up is bounded by nobody. So each request goes out on a thread of its own kind, one for each client. While that
one hangs nothing else is sent: a request whose outcome is not known has no second one beside it.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from typing import TypeVar

import requests

from agent.deadlines.reader_thread import LAST_WORDS_S, ReaderThread, Unanswered
from agent.model.snapshot import PLACEMENT
from agent.placement.http import transport
from agent.ports import Deadline

T = TypeVar("T")


class QuestionTime:
    """The time of one client's questions. For one thread, which asks; another one sends."""

    def __init__(self) -> None:
        self._thread = ReaderThread(PLACEMENT)
        self._asking = False
        self._ends_at: float | None = None

    @contextlib.contextmanager
    def question(self) -> Iterator[None]:
        """What is sent in the block has one bound together; outside of all blocks each request has its own."""
        before, self._asking, self._ends_at = self._asking, True, None
        try:
            yield
        finally:
            self._asking, self._ends_at = before, None

    def paused(self, seconds: float) -> None:
        """Nothing was sent for so long, on purpose."""
        if self._ends_at is not None:
            self._ends_at += seconds

    def sent(self, send: Callable[[], T], bound_s: float | None) -> T:
        """What ``send`` gives, within what is left of the question's ``bound_s``; None: no bound.

        Raises requests.RequestException, which nobody takes for worth repeating, where the time is over.
        """
        if bound_s is None:
            return send()
        deadline = self._deadline(bound_s)
        if deadline.left_s() <= 0:
            raise requests.RequestException(_late(bound_s))
        try:
            return self._thread.call(lambda: _within(deadline, send), deadline.plus(LAST_WORDS_S))
        except Unanswered as error:
            raise requests.RequestException(_late(bound_s)) from error

    def close(self) -> None:
        """End the thread; a later request starts one anew. One that hangs is left behind."""
        self._thread.stop()
        self._thread = ReaderThread(PLACEMENT)

    def _deadline(self, bound_s: float) -> Deadline:
        ends_at = self._ends_at if self._ends_at is not None else time.monotonic() + bound_s
        if self._asking:
            self._ends_at = ends_at
        return Deadline(ends_at, bound_s)


def _within(deadline: Deadline, send: Callable[[], T]) -> T:
    """On the thread, which may have had to wait for its turn."""
    with transport.within(deadline.left_s()):
        try:
            return send()
        except requests.RequestException as error:
            if transport.is_over():
                raise requests.RequestException(_late(deadline.allowed_s)) from error
            raise


def _late(bound_s: float) -> str:
    return f"no whole answer within {bound_s:g} s"
