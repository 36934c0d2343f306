"""Limit the total time of one question to Placement, and do not let a request that hangs block the audit's thread.

A question is one request to Placement and all requests that it causes: the requests to Keystone for versions and a
token, the requests to redirect targets, and the retries. One time limit covers all of them. Only the client's own
pauses extend the limit.

A socket's time-out applies only to the socket: nothing limits how long the host's resolver takes to look up a name. So
each client sends its requests on one separate thread. While that thread hangs, the client sends nothing else, because
the outcome of the first request is unknown.
"""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Iterator
from typing import TypeVar

import requests

from agent.deadlines.reader_thread import LAST_WORDS_S, ReaderThread, Unanswered
from agent.model.snapshot import PLACEMENT
from agent.placement.http import transport
from agent.placement.http.unanswered_time import UnansweredTime
from agent.ports import Deadline

T = TypeVar("T")


class QuestionTime:
    """Limits the time of each question of one client. A question is a request and the requests that it causes.

    A separate thread sends the requests. ``unanswered`` adds up the times of all questions without an answer, and has
    a limit for the sum. Not thread-safe.
    """

    def __init__(self, unanswered: UnansweredTime) -> None:
        self._thread = ReaderThread(PLACEMENT)
        self._unanswered = unanswered
        self._asking = False
        self._began = 0.0
        self._deadline: Deadline | None = None

    @contextlib.contextmanager
    def question(self) -> Iterator[None]:
        """Apply one time limit to all requests of the block together.

        Outside of a block, each request has its own time limit.
        """
        before, self._asking, self._deadline = self._asking, True, None
        try:
            yield
        finally:
            self._asking, self._deadline = before, None

    def paused(self, seconds: float) -> None:
        """Extend the limit by a deliberate pause of ``seconds``."""
        if self._deadline is not None:
            self._deadline = self._deadline.plus(seconds)
            self._began += seconds

    def left_s(self, bound_s: float | None) -> float:
        """Return how many seconds a request that starts now may take; math.inf if there is no limit."""
        return math.inf if bound_s is None else self._limit(bound_s).left_s()

    def sent(self, send: Callable[[], T], bound_s: float | None) -> T:
        """Send one request by calling ``send``, and return its result.

        The request and its retries together may take ``bound_s`` seconds; None: no limit. After the limit, raises a
        plain requests.RequestException, so that keystoneauth does not retry.
        """
        if bound_s is None:
            return send()
        deadline = self._limit(bound_s)
        if self._asking and self._deadline is None:
            self._began, self._deadline = time.monotonic(), deadline
        if deadline.left_s() <= 0:
            raise requests.RequestException(_late(deadline.allowed_s))
        try:
            return self._thread.call(lambda: _within(deadline, send), deadline.plus(LAST_WORDS_S))
        except Unanswered as error:
            raise requests.RequestException(_late(deadline.allowed_s)) from error

    def close(self) -> None:
        """Stop the thread, but do not wait for it if it hangs. A later request starts a new thread."""
        self._thread.stop()
        self._thread = ReaderThread(PLACEMENT)

    def lost(self) -> None:
        """Add the time of the running question to ``unanswered``. The client's own pauses are not part of this time."""
        if self._deadline is not None:
            self._unanswered.used(time.monotonic() - self._began)

    def _limit(self, bound_s: float) -> Deadline:
        """Return the common deadline of all requests in the ``question`` block. Outside a block, return a new one."""
        if self._deadline is not None:
            return self._deadline
        bound_s = min(bound_s, self._unanswered.limit_s)
        return Deadline(time.monotonic() + min(bound_s, self._unanswered.left_s), bound_s)


def _within(deadline: Deadline, send: Callable[[], T]) -> T:
    """Call ``send`` within the time that is left of ``deadline``. This function runs on the thread that sends."""
    with transport.within(deadline.left_s()):
        try:
            return send()
        except requests.RequestException as error:
            if transport.is_over():
                raise requests.RequestException(_late(deadline.allowed_s)) from error
            raise


def _late(bound_s: float) -> str:
    return f"no complete answer within {bound_s:g} s"
