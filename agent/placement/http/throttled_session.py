"""The session that keeps the pace of rate_control.py: it waits before a read, and watches every answer.

It is below keystoneauth, which sends a read again by itself: those wait as well. A
pause is no part of the time that a request may take. Requests for a token are
Keystone's, and none of this.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import Any

import requests

from agent.placement.http import rate_control
from agent.placement.http.client import MICROVERSION_HEADER, CountingSession
from agent.placement.http.rate_control import Answer, Manners, Pace


class PacedSession(CountingSession):
    """A CountingSession with manners. For one thread.

    ``wait`` waits so many seconds, or less where a stop came; ``monotonic`` is the clock by which an answer is late.
    """

    def __init__(
        self,
        manners: Manners,
        wait: Callable[[float], None] = time.sleep,
        random01: Callable[[], float] = random.random,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__()
        self._manners = manners
        self._wait = wait
        self._random01 = random01
        self._monotonic = monotonic
        self.pace = Pace()

    def begin(self) -> None:
        """An audit or a command begins: it has its pauses before it."""
        self.pace = rate_control.of_a_new_audit(self.pace)

    def send(self, request: requests.PreparedRequest, **options: Any) -> requests.Response:  # noqa: ANN401 (its own)
        """As requests does, in good time."""
        if MICROVERSION_HEADER not in request.headers:
            return super().send(request, **options)
        if request.method == "GET":
            self._keep_quiet()
        began = self._monotonic()
        try:
            response = super().send(request, **options)
        except requests.RequestException:
            self._seen(began, None)
            raise
        self._seen(began, response.status_code)
        return response

    def _keep_quiet(self) -> None:
        delay_s = rate_control.delay_s(self.pace, self._monotonic())
        if delay_s > 0:
            began = self._monotonic()
            self._wait(delay_s)
            self.time.paused(self._monotonic() - began)
            self.pace = rate_control.after_pause(self.pace, delay_s)

    def _seen(self, began: float, status: int | None) -> None:
        now = self._monotonic()
        answer = Answer(at=now, latency_s=now - began, status=status)
        self.pace = rate_control.after_answer(self.pace, answer, self._manners, self._random01())
