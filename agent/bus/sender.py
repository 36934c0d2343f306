"""Send messages from one thread: the host's state at each change and each interval, and notifications in order.

If the broker hangs, a send blocks for a minute, until the AMQP heartbeat times out. So only this thread may send, and a
stop does not wait for a blocked message.

The thread builds a message with the state just before it sends the message. While the broker is unreachable, the outbox
stores only the newest audit report, and notifications up to a maximum number.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from agent.bus.host_state import Sending, host_state, state_of
from agent.bus.notices import Notice, notices
from agent.bus.outbox import Outbox
from agent.bus.timeouts import pause_s
from agent.errors import SourceUnavailable
from agent.model.report import AuditReport
from agent.telemetry import events
from agent.telemetry.event_log import log_bug, log_event
from agent.telemetry.finding_changes import FindingChange, worth_reporting

#: The minimum time between two messages with the host's state, even if many watchers ask or the state changes often.
SMALLEST_GAP_S = 1.0
#: Seconds that a stop waits for the last messages.
STOP_S = 1.0
_NEVER = float("inf")


@dataclass(frozen=True, slots=True, kw_only=True)
class Channels:
    """The functions that send messages: ``send_state`` sends the host's state, ``send_notice`` sends a notification.

    A function is None if the agent sends no such messages. It raises SourceUnavailable if the broker does not accept
    the message. ``interval_s`` is the time between two messages with the state. ``broker`` is the broker's name in the
    log.
    """

    send_state: Callable[[dict[str, Any]], None] | None
    send_notice: Callable[[Notice], None] | None
    interval_s: float
    agent_version: str
    broker: str


class Sender:
    """The sending thread. Any thread may call ``publish`` and ``ask``, which never block."""

    def __init__(self, channels: Channels, outbox: Outbox, now: Callable[[], str]) -> None:
        self._channels = channels
        self._outbox = outbox
        self._now = now
        self._thread = threading.Thread(target=self._live, name="bus-sender", daemon=True)
        self._failures = 0
        self._retry_at = 0.0
        self._sent: dict[str, Any] | None = None
        self._sent_at = -_NEVER
        self._due_at = -_NEVER
        self._asked = False
        self._bugs = 0

    def start(self) -> None:
        """Start the thread; the thread connects when it sends the first message."""
        self._thread.start()

    def stop(self) -> None:
        """Send the waiting messages that the broker accepts within a second; abandon all others."""
        self._outbox.close()
        if self._thread.ident is not None:
            self._thread.join(STOP_S)

    def publish(self, report: AuditReport, changed: tuple[FindingChange, ...]) -> None:
        """Queue an audit's report and its notifications. ``changed``: how findings changed since the last report."""
        self._outbox.put(report, notices(report, changed) if self._channels.send_notice else ())

    def counts(self) -> tuple[int, int, int]:
        """Return three numbers: consecutive failed sends, waiting notifications, and dropped notifications."""
        return self._failures, self._outbox.waiting, self._outbox.dropped

    def ask(self) -> None:
        """Send the host's state soon, because an RPC caller requests it."""
        self._outbox.ask()

    def _live(self) -> None:
        while not self._outbox.closed:
            self._outbox.wait(self._pause_s(time.monotonic()))
            self._asked = self._outbox.asked() or self._asked
            if time.monotonic() >= self._retry_at:
                self._try_all()
        if not self._failures:
            self._try_all()

    def _pause_s(self, now: float) -> float:
        """Return the seconds until the next message or retry. The thread may wake earlier because of a new report."""
        if self._failures:
            return max(0.0, self._retry_at - now)
        if self._outbox.report is None or self._channels.send_state is None:
            return threading.TIMEOUT_MAX
        at = self._sent_at + SMALLEST_GAP_S if self._is_news() else self._due_at
        return max(0.0, at - now)

    def _is_news(self) -> bool:
        report = self._outbox.report
        return self._asked or (report is not None and state_of(report) != self._sent)

    def _try_all(self) -> None:
        try:
            is_sent = self._send_state(time.monotonic())
            is_sent = self._send_notices() or is_sent
        except SourceUnavailable as error:
            self._lost(error)
        except Exception as error:  # noqa: BLE001 - see below
            # A message that cannot be built is a bug of the agent and must not end the thread.
            self._bugs += 1
            self._sent_at = time.monotonic()
            if worth_reporting(self._bugs):
                log_bug(events.MESSAGE_NOT_BUILT, error, times=self._bugs)
        else:
            if is_sent and self._failures:
                self._failures = 0
                log_event(events.BROKER_BACK, **self._fields())

    def _send_state(self, now: float) -> bool:
        report, send = self._outbox.report, self._channels.send_state
        if report is None or send is None or now - self._sent_at < SMALLEST_GAP_S:
            return False
        if now < self._due_at and not self._is_news():
            return False
        interval_s = self._channels.interval_s
        sending = Sending(at=self._now(), interval_s=interval_s, agent_version=self._channels.agent_version)
        send(host_state(report, sending))
        self._sent, self._asked = state_of(report), False
        self._sent_at = time.monotonic()
        # The next message is due after a random 90 to 100 % of the interval, so that hosts that started together do
        # not go on sending together.
        self._due_at = self._sent_at + interval_s * random.uniform(0.9, 1.0)
        return True

    def _send_notices(self) -> bool:
        send, is_sent = self._channels.send_notice, False
        while send is not None and (notice := self._outbox.first()) is not None:
            try:
                send(notice)
            except SourceUnavailable:
                raise
            except Exception:
                self._outbox.done(notice)
                raise
            self._outbox.done(notice)
            is_sent = True
        return is_sent

    def _lost(self, error: SourceUnavailable) -> None:
        event = events.BROKER_STILL_LOST if self._failures else events.BROKER_LOST
        self._failures += 1
        self._retry_at = time.monotonic() + pause_s(self._failures)
        # Do not log a failure after a stop: the stop closes the connection even while a message is being sent.
        if worth_reporting(self._failures) and not self._outbox.closed:
            log_event(event, **self._fields(), error=error.message, times=self._failures)

    def _fields(self) -> dict[str, Any]:
        return {"broker": self._channels.broker, "waiting": self._outbox.waiting, "dropped": self._outbox.dropped}
