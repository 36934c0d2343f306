"""Many agents in one thread: they answer a watcher's request and send their states again, over a real broker.

The messages are those of agents, byte for byte as oslo.messaging frames them, but encoded once: a real agent for each
of 800 hosts would need 800 connections.
"""

import contextlib
import json
import socket
import threading
import time
import uuid
from collections.abc import Iterator
from typing import Any

import kombu

from agent.bus.transport import AGENT_TOPIC, FLEET_TOPIC, HOST_STATE, VERSION

_REQUESTS = f"{AGENT_TOPIC}_fanout"
_STATES = f"{FLEET_TOPIC}_fanout"
#: Seconds between two looks for requests and due messages.
_TICK_S = 0.05


def framed(document: Any) -> bytes:
    """Return the body of a host state message as oslo.messaging sends it."""
    call = {
        "method": HOST_STATE, "args": {"state": document}, "version": VERSION, "namespace": None, "_timeout": None,
        "_unique_id": uuid.uuid4().hex,
    }  # fmt: skip
    return json.dumps({"oslo.version": "2.0", "oslo.message": json.dumps(call)}).encode()


class SyntheticFleet:
    """Agents that send ``documents``. ``requests`` counts the requests of watchers that the agents have answered."""

    def __init__(self, url: str, documents: list[dict[str, Any]], interval_s: float | None) -> None:
        self.requests = 0
        # In kombu's URLs, the virtual host "/" is the empty path after a second slash.
        self._url = url.replace("rabbit://", "amqp://") + ("/" if url.endswith("/") else "")
        self._lock = threading.Lock()
        self._documents = list(documents)
        self._interval_s = interval_s
        self._stopping = threading.Event()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._live, name="synthetic-fleet", daemon=True)

    def start(self) -> None:
        """Connect; return when the agents hear requests."""
        self._thread.start()
        assert self._ready.wait(60), "the synthetic agents did not connect"

    def stop(self) -> None:
        """Stop sending and close the connection."""
        self._stopping.set()
        self._thread.join(30)

    def send(self, *documents: Any) -> None:
        """Send these messages at once, in a connection of their own."""
        with kombu.Connection(self._url) as connection:
            _publish(connection.channel(), [framed(document) for document in documents])

    def _live(self) -> None:
        with kombu.Connection(self._url) as connection:
            channel = connection.channel()
            queue = kombu.Queue(f"synthetic.{uuid.uuid4().hex}", _exchange(_REQUESTS), durable=False, auto_delete=True)
            with kombu.Consumer(channel, [queue], callbacks=[self._asked], no_ack=True):
                self._ready.set()
                self._serve(connection, channel)

    def _asked(self, _body: Any, _message: Any) -> None:
        self.requests += 1

    def _serve(self, connection: kombu.Connection, channel: Any) -> None:
        bodies = [framed(document) for document in self._documents]
        answered, began, sent = 0, time.monotonic(), 0
        while not self._stopping.is_set():
            with contextlib.suppress(socket.timeout):
                connection.drain_events(timeout=_TICK_S)
            if self.requests > answered:
                answered = self.requests
                _publish(channel, bodies)
            if self._interval_s is not None:
                due = int((time.monotonic() - began) * len(bodies) / self._interval_s)
                _publish(channel, [bodies[number % len(bodies)] for number in range(sent, due)])
                sent = due


@contextlib.contextmanager
def synthetic_fleet(
    url: str, documents: list[dict[str, Any]], interval_s: float | None = None
) -> Iterator[SyntheticFleet]:
    """Yield agents that answer requests, and send their states every ``interval_s`` if it is given."""
    fleet = SyntheticFleet(url, documents, interval_s)
    fleet.start()
    try:
        yield fleet
    finally:
        fleet.stop()


def _exchange(name: str) -> kombu.Exchange:
    # As oslo.messaging declares the exchange of a fan-out.
    return kombu.Exchange(name, type="fanout", durable=False, auto_delete=True)


def _publish(channel: Any, bodies: list[bytes]) -> None:
    producer = kombu.Producer(channel, exchange=_exchange(_STATES), auto_declare=True)
    for body in bodies:
        producer.publish(body, content_type="application/json", content_encoding="utf-8")
