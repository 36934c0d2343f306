"""Throttle requests to Placement as rate_control.py decides: wait before each read, and measure each answer.

This session works below keystoneauth, so a read that keystoneauth repeats waits as well. A pause does not count towards
the time limit of a request. Token requests go to Keystone and are neither delayed nor measured.
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
    """A CountingSession that pauses before reads. For one thread.

    ``wait`` sleeps for the given seconds, or less if a stop comes. ``monotonic`` is the clock that measures answers.
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
        """Note that an audit or a command begins: its budget of pauses is full."""
        self.pace = rate_control.of_a_new_audit(self.pace)

    def send(self, request: requests.PreparedRequest, **options: Any) -> requests.Response:  # noqa: ANN401 (its own)
        """Send as requests does. A GET to Placement first waits as long as rate_control.py decides."""
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
