"""Receive the messages that the fleet's agents cast, from now on and in order of arrival.

The library waits for a dead broker forever, so it is started in a thread. The listener finds out what is wrong by
sending a message, because sending has a bound.
"""

from __future__ import annotations

import contextlib
import queue
import threading
import time
from typing import Any

from agent.bus.fanout import Agents
from agent.bus.library import oslo_messaging
from agent.bus.names import EXCHANGE, FLEET_TOPIC, VERSION, WATCHER
from agent.bus.notify import BROKER
from agent.bus.timeouts import ended_within
from agent.bus.transport import Bus, PlainSerializer
from agent.errors import SourceUnavailable

#: Seconds without a connection after which the listener sends a message to learn the reason.
DOUBT_S = 2.0
REACH_S = 10.0
STOP_S = 1.0
#: Most messages that wait in this process. The oldest are dropped first: each host's next message says the same or
#: more.
MOST_WAITING = 10_000

Message = tuple[float, Any]


class FleetEndpoint:
    """Receives the messages that agents cast to the fleet's topic."""

    target = oslo_messaging.Target(version=VERSION)

    def __init__(self, heard: queue.Queue[Message]) -> None:
        self._heard = heard

    def host_state(self, _context: object, /, state: object = None, **_newer: object) -> None:
        """Queue one host's document unchecked; the code that shows the document checks it."""
        while self._heard.full():
            with contextlib.suppress(queue.Empty):
                self._heard.get_nowait()
        # Another thread of the library may have filled the queue meanwhile; then this message is dropped.
        with contextlib.suppress(queue.Full):
            self._heard.put_nowait((time.monotonic(), state))


class FleetListener:
    """Receives the fleet's messages. Use it as a context manager, or call ``close``."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus
        self._heard: queue.Queue[Message] = queue.Queue(MOST_WAITING)
        self._server = self._made()
        self._up = threading.Event()
        self._refused: Exception | None = None

    def listen(self) -> None:
        """Return when every later message will be received. Raises SourceUnavailable with the reason."""
        threading.Thread(target=self._start, name="bus-listener", daemon=True).start()
        if not self._up.wait(DOUBT_S):
            self._find_out()
        if self._refused is not None:
            raise SourceUnavailable(BROKER, f"{self._bus.options.shown}: {self._refused}") from self._refused

    def ask(self) -> None:
        """Ask every agent that answers calls to cast its state now. Raises SourceUnavailable."""
        Agents(self._bus).publish_now()

    def take(self, timeout_s: float) -> Message | None:
        """Return the next message and its arrival in monotonic seconds; None if none comes within ``timeout_s``."""
        try:
            return self._heard.get(timeout=timeout_s)
        except queue.Empty:
            return None

    def close(self) -> None:
        """Stop listening and close the connection; abandon what a frozen broker does not acknowledge."""
        if self._up.is_set() and self._refused is None:
            ended_within(STOP_S, self._stop, "bus-listener-stop")
        ended_within(STOP_S, self._bus.close, "bus-close")

    def __enter__(self) -> FleetListener:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _start(self) -> None:
        try:
            self._server.start()
        except Exception as error:  # noqa: BLE001 - the library lets errors of three others through
            self._refused = error
        self._up.set()

    def _find_out(self) -> None:
        """Raise SourceUnavailable unless the connection comes up after all."""
        told: list[SourceUnavailable] = []

        def probe() -> None:
            try:
                self.ask()
            except SourceUnavailable as error:
                told.append(error)

        ended_within(REACH_S, probe, "bus-probe")
        if told and not self._up.is_set():
            raise SourceUnavailable(BROKER, f"{self._bus.options.shown}: {told[0].message}") from told[0]
        if not self._up.wait(DOUBT_S):
            waited_s = REACH_S + DOUBT_S
            raise SourceUnavailable(BROKER, f"{self._bus.options.shown} does not answer within {waited_s:g} s")

    def _stop(self) -> None:
        self._server.stop()
        self._server.wait()

    def _made(self) -> Any:  # noqa: ANN401 - the library has no types
        return oslo_messaging.get_rpc_server(
            self._bus.rpc,
            oslo_messaging.Target(exchange=EXCHANGE, topic=FLEET_TOPIC, server=WATCHER),
            [FleetEndpoint(self._heard)],
            serializer=PlainSerializer(),
            access_policy=oslo_messaging.DefaultRPCAccessPolicy,
        )
