"""Receive the messages that all hosts' agents cast, in order of arrival.

If the broker is dead, oslo.messaging's server never finishes its start, and reports no error. So the server starts in a
separate thread. If the start takes too long, the listener sends a test message: a dead broker makes the sending fail
with an error that tells the reason.
"""

from __future__ import annotations

import contextlib
import queue
import threading
import time
from collections.abc import Callable
from typing import Any

from agent.bus.fanout import accepted_within
from agent.bus.timeouts import ended_within
from agent.bus.transport import (
    AGENT_TOPIC,
    BROKER,
    FLEET_TOPIC,
    PUBLISH_NOW,
    VERSION,
    WATCHER,
    Bus,
    end_server,
    oslo_messaging,
)
from agent.errors import SourceUnavailable

#: Seconds without a connection after which the listener sends a message to get the broker's error.
DOUBT_S = 2.0
REACH_S = 10.0
STOP_S = 1.0
#: The maximum number of messages that wait in a MessageQueue. The oldest messages are dropped first, because the next
#: message of the same host replaces them.
MOST_WAITING = 10_000

Message = tuple[float, Any]
#: A function that gets each message's time of arrival (in monotonic seconds) and the message. Several threads of
#: oslo.messaging call the function.
Receive = Callable[[float, Any], None]


class MessageQueue:
    """Keeps messages in the order of arrival until another thread takes them."""

    def __init__(self) -> None:
        self._waiting: queue.Queue[Message] = queue.Queue(MOST_WAITING)

    def put(self, received_at: float, message: Any) -> None:  # noqa: ANN401 - JSON values
        """Add a message; drop the oldest message if the queue is full."""
        while self._waiting.full():
            with contextlib.suppress(queue.Empty):
                self._waiting.get_nowait()
        # If another thread of oslo.messaging has filled the queue again in the meantime, drop the new message.
        with contextlib.suppress(queue.Full):
            self._waiting.put_nowait((received_at, message))

    def take(self, timeout_s: float) -> Message | None:
        """Return the next message with its time of arrival (monotonic seconds); None if no message comes in time."""
        try:
            return self._waiting.get(timeout=timeout_s) if timeout_s > 0 else self._waiting.get_nowait()
        except queue.Empty:
            return None


class FleetEndpoint:
    """Receives the messages that agents cast to the fleet's topic."""

    target = oslo_messaging.Target(version=VERSION)

    def __init__(self, receive: Receive) -> None:
        self._receive = receive

    def host_state(self, _context: object, /, state: object = None, **_newer: object) -> None:
        """Pass on one host's document unchecked; the receiver checks the document."""
        self._receive(time.monotonic(), state)


class FleetListener:
    """Passes the fleet's messages on to ``receive``. Use it as a context manager, or call ``close``."""

    def __init__(self, bus: Bus, receive: Receive) -> None:
        self._bus = bus
        self._server = bus.server(FLEET_TOPIC, WATCHER, FleetEndpoint(receive))
        self._up = threading.Event()
        self._refused: Exception | None = None

    @property
    def is_up(self) -> bool:
        """Whether the broker accepted the listener. After an outage, oslo.messaging reconnects by itself."""
        return self._up.is_set() and self._refused is None

    @property
    def is_refused(self) -> bool:
        """Whether the listener failed to start and never will start: the caller must make another listener."""
        return self._refused is not None

    def listen(self) -> None:
        """Start the server; return once it is ready to receive. Raises SourceUnavailable if the server cannot start."""
        threading.Thread(target=self._start, name="bus-listener", daemon=True).start()
        if not self._up.wait(DOUBT_S):
            self._find_out()
        if self._refused is not None:
            raise SourceUnavailable(BROKER, f"{self._bus.options.shown}: {self._refused}") from self._refused

    def ask(self) -> None:
        """Ask all agents to cast their state now.

        Raises SourceUnavailable if the broker does not accept the request in time.
        """
        if not self._asked():
            raise SourceUnavailable(BROKER, f"{self._bus.options.shown} did not answer within {REACH_S:g} s")

    def close(self) -> None:
        """Stop the server and close the connection; wait at most a second for each if the broker hangs."""
        if self._up.is_set() and self._refused is None:
            ended_within(STOP_S, lambda: end_server(self._server), "bus-listener-stop")
        ended_within(STOP_S, self._bus.close, "bus-close")

    def __enter__(self) -> FleetListener:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _start(self) -> None:
        try:
            self._server.start()
        except Exception as error:  # noqa: BLE001 - oslo.messaging also raises errors of three other libraries
            self._refused = error
        self._up.set()

    def _find_out(self) -> None:
        """Send a test message and wait once more for the message server's start.

        Raises SourceUnavailable, with the broker's error, if the server does not start.
        """
        try:
            self._asked()
        except SourceUnavailable:
            if not self._up.is_set():
                raise
        if not self._up.wait(DOUBT_S):
            waited_s = REACH_S + DOUBT_S
            raise SourceUnavailable(BROKER, f"{self._bus.options.shown} did not answer within {waited_s:g} s")

    def _asked(self) -> bool:
        """Send PUBLISH_NOW to all agents; return whether the broker accepted it within REACH_S.

        Raises SourceUnavailable if the broker refuses the message.
        """
        return accepted_within(REACH_S, self._bus, AGENT_TOPIC, PUBLISH_NOW)
