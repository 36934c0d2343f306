"""Throttle requests to Placement as rate_control.py decides: pause before each read, and measure each answer's time.

This session works below keystoneauth, so a read that keystoneauth repeats pauses as well. A pause does not count
towards the time limit of a request. Token requests go to Keystone and are neither delayed, measured nor counted.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import requests

from agent.placement.http import rate_control, transport
from agent.placement.http.bounds import TOKEN
from agent.placement.http.question_time import QuestionTime
from agent.placement.http.rate_control import Answer, Manners, Pace
from agent.placement.http.request_counts import RequestCounts
from agent.placement.http.unanswered_time import UnansweredTime
from agent.text.urls import origin

# The time limit of one question (token, request, answer and retries together), as a multiple of the request's time-out.
# A time-out alone is not a limit, because the library ``requests`` restarts the time-out with each received byte.
TIMEOUTS_A_QUESTION = 3
# Every request to Placement has this header, and no token request to Keystone has it. So the header tells them apart.
MICROVERSION_HEADER = "OpenStack-API-Version"

#: A function that returns a context manager; the session enters the context manager while a request waits for its
#: answer. The arguments are a text that names the server, and the maximum number of seconds of the wait.
Watch = Callable[[str, float], AbstractContextManager[object]]


def unwatched(_server: str, _at_most_s: float) -> AbstractContextManager[object]:
    """Return a context manager that does nothing while a request waits for its answer. This is the default."""
    return nullcontext()


def _place(request: requests.PreparedRequest) -> str:
    """Return the server of the request in words: ``placement (https://placement.example.org)``."""
    service = "placement" if MICROVERSION_HEADER in request.headers else "keystone"
    return f"{service} ({origin(str(request.url))})"


class PacedSession(requests.Session):
    """A session that pauses before each read and limits the time of a request with its retries. Not thread-safe.

    ``wait`` sleeps for some seconds, or less if a stop is requested. ``monotonic`` is the clock for the time until an
    answer comes. ``sent`` counts the requests to Placement, repeated requests included; ``sent_to`` is the URL of the
    last such request. ``sent_at`` is when the last request (to Placement or Keystone) was sent or ended, in monotonic
    seconds. ``unanswered`` limits the time of requests without an answer. While a request waits for its answer, a
    context manager from ``watch`` is active. ``counts`` are for the metrics.
    """

    def __init__(
        self,
        manners: Manners,
        wait: Callable[[float], None] = time.sleep,
        random01: Callable[[], float] = random.random,
        monotonic: Callable[[], float] = time.monotonic,
        *,
        unanswered: UnansweredTime | None = None,
        watch: Watch | None = None,
    ) -> None:
        super().__init__()
        self.unanswered = unanswered or UnansweredTime()
        self._watch = watch or unwatched
        self._manners = manners
        self._wait = wait
        self._random01 = random01
        self._monotonic = monotonic
        self.pace = Pace()
        self.sent = 0
        self.sent_to = ""
        self.sent_at = 0.0
        self.time = QuestionTime(self.unanswered)
        self.counts = RequestCounts()

    def begin(self) -> None:
        """Begin an audit or a command: the sum of its pauses starts at 0."""
        self.pace = rate_control.of_a_new_audit(self.pace)

    def close(self) -> None:
        """Close the session as the library ``requests`` does, and stop the thread that sends."""
        self.time.close()
        super().close()

    def send(self, request: requests.PreparedRequest, **options: Any) -> requests.Response:  # noqa: ANN401 (its own)
        """Send as ``requests`` does. Before a GET to Placement, pause as long as rate_control.py decides."""
        if MICROVERSION_HEADER not in request.headers:
            return self._timed(request, options)
        if request.method == "GET":
            self._keep_quiet()
        began = self._monotonic()
        try:
            response = self._timed(request, options)
        except requests.RequestException:
            self._seen(request, began, None)
            raise
        self._seen(request, began, response.status_code)
        return response

    def _keep_quiet(self) -> None:
        delay_s = rate_control.delay_s(self.pace, self._monotonic())
        if delay_s > 0:
            began = self._monotonic()
            self._wait(delay_s)
            self.time.paused(self._monotonic() - began)
            self.pace = rate_control.after_pause(self.pace, delay_s)
            self.counts = self.counts.paused(delay_s)

    def _seen(self, request: requests.PreparedRequest, began: float, status: int | None) -> None:
        now = self._monotonic()
        self.counts = self.counts.answered(request.method or "", status, now - began)
        answer = Answer(at=now, latency_s=now - began, status=status)
        self.pace = rate_control.after_answer(self.pace, answer, self._manners, self._random01())

    def _timed(self, request: requests.PreparedRequest, options: Mapping[str, Any]) -> requests.Response:
        """Send the request within a time limit. A request and its retries share one limit (see question_time.py).

        After this time, raises a plain RequestException, not a Timeout, because keystoneauth retries after a Timeout.
        """
        self.sent_at = time.monotonic()
        timeout_s = options.get("timeout")
        bound_s = TIMEOUTS_A_QUESTION * timeout_s if isinstance(timeout_s, int | float) else None
        try:
            with self._watch(_place(request), self.time.left_s(bound_s)):
                return self.time.sent(lambda: self._sent(request, options), bound_s)
        finally:
            # The end of a request is progress, so the health check counts the seconds from here.
            self.sent_at = time.monotonic()

    def _sent(self, request: requests.PreparedRequest, options: Mapping[str, Any]) -> requests.Response:
        is_to_placement = MICROVERSION_HEADER in request.headers
        self.sent += is_to_placement
        if is_to_placement:
            self.sent_to = request.url or ""
        try:
            # keystoneauth may request a token before it sends a request to Placement. TOKEN limits the size of
            # Keystone's answer to the token request.
            with nullcontext() if is_to_placement else transport.bounded(TOKEN):
                return super().send(request, **options)
        except requests.RequestException:
            raise
        except ValueError as error:
            # The library ``requests`` parses the Location header of every redirect, and raises ValueError if the header
            # has no URL.
            raise requests.RequestException(f"the target of a redirect is not a URL: {error}") from error

    def get_redirect_target(self, resp: requests.Response) -> str | None:
        """Return the target of the redirect as ``requests`` does.

        If the Location header is not UTF-8, ``requests`` raises ValueError and leaves the connection open. This method
        closes the connection and raises the same error.
        """
        try:
            return super().get_redirect_target(resp)
        except ValueError:
            resp.close()
            raise
