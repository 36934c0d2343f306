"""The two ends of the bus around a private broker: an agent that publishes and answers, and clients that call it."""

import contextlib
import dataclasses
import os
import queue
import subprocess
from collections.abc import Iterator
from typing import Any

from agent.bus.listener import FleetListener, MessageQueue
from agent.bus.options import BusOptions, DaemonControl, PublishingOptions
from agent.bus.service import BusConnection, checked_bus
from agent.bus.transport import AGENT_TOPIC, EXCHANGE, VERSION, Bus, PlainSerializer, oslo_messaging
from agent.model.report import AuditReport
from tests.rigs.rabbitmq import CONTROL, RabbitMq
from tests.rigs.wait import until

# The time-out of each try of a call: an agent that is not on the bus yet will not answer later either.
TRY_S = 4
NOW = "2026-11-21T10:00:05.000Z"


class Agent:
    """The inside of an agent: the audit reasons that arrived over the bus, and the agent's last report."""

    def __init__(self, bus: BusConnection, reasons: list[str], last: list[AuditReport]) -> None:
        self.bus = bus
        self.reasons = reasons
        self._last = last

    def audited(self, report: AuditReport, changed: Any = ()) -> None:
        """Publish the report as the worker does after an audit."""
        self._last[:] = [report]
        self.bus.publish(report, changed)


@contextlib.contextmanager
def agent(url: str, host: str, **changes: Any) -> Iterator[Agent]:
    """Yield an agent's end of the bus."""
    reasons: list[str] = []
    last: list[AuditReport] = []
    options = dataclasses.replace(PublishingOptions(topics=(), interval_s=3600.0, answers=True), **changes)

    def request_by_peer(reason: str) -> float:
        reasons.append(reason)
        return 7.25

    control = DaemonControl(
        request_by_peer=request_by_peer, waiting=lambda: tuple(reasons), last_report=lambda: last[0] if last else None
    )
    bus = BusConnection(
        checked_bus(BusOptions(url=url)), options, control, host=host, agent_version="1.2.3", now=lambda: NOW
    )
    bus.start()
    bus.listen()
    try:
        yield Agent(bus, reasons, last)
    finally:
        bus.deafen()
        bus.stop()


@contextlib.contextmanager
def bus(url: str) -> Iterator[Bus]:
    """Yield a connection of another bus client."""
    opened = Bus(BusOptions(url=url, response_timeout_s=10))
    try:
        yield opened
    finally:
        opened.close()


class Watcher:
    """A fleet listener with the messages that it received."""

    def __init__(self, opened: FleetListener, received: MessageQueue) -> None:
        self.ask = opened.ask
        self.take = received.take


@contextlib.contextmanager
def listener(url: str) -> Iterator[Watcher]:
    """Yield a fleet listener that is already subscribed."""
    received = MessageQueue()
    with FleetListener(Bus(BusOptions(url=url)), received.put) as made:
        made.listen()
        yield Watcher(made, received)


def heard(watcher: Watcher, timeout_s: float = 60) -> Any:
    """Return the next document that the listener receives."""
    return until(lambda: watcher.take(0.1), timeout_s, "a host's state")[1]


def caller(opened: Bus, host: str, **target: Any) -> Any:
    """Return a client for calls to one agent; repeat the first call until the agent is on the bus."""
    where = oslo_messaging.Target(
        **{"exchange": EXCHANGE, "topic": AGENT_TOPIC, "server": host, "version": VERSION, **target}
    )
    return oslo_messaging.get_rpc_client(opened.rpc, where, serializer=PlainSerializer(), timeout=30, retry=1)


class Notified:
    """A notification endpoint such as a telemetry service registers."""

    def __init__(self) -> None:
        self.found: queue.Queue[tuple[str, str, str, Any]] = queue.Queue()

    def info(self, _context: Any, publisher: str, event_type: str, payload: Any, _metadata: Any) -> None:
        """Record a notification of priority info."""
        self.found.put(("info", publisher, event_type, payload))

    def warn(self, _context: Any, publisher: str, event_type: str, payload: Any, _metadata: Any) -> None:
        """Record a notification of priority warn."""
        self.found.put(("warn", publisher, event_type, payload))

    def error(self, _context: Any, publisher: str, event_type: str, payload: Any, _metadata: Any) -> None:
        """Record a notification of priority error."""
        self.found.put(("error", publisher, event_type, payload))


@contextlib.contextmanager
def notified(url: str, topic: str) -> Iterator[Notified]:
    """Yield the endpoint of a real notification listener."""
    endpoint = Notified()
    with bus(url) as opened:
        server = oslo_messaging.get_notification_listener(
            opened.notification, [oslo_messaging.Target(topic=topic)], [endpoint]
        )
        server.start()
        try:
            yield endpoint
        finally:
            server.stop()
            server.wait()


def queues(broker: RabbitMq) -> dict[str, int]:
    """Return the names of the broker's queues, each with the number of messages in the queue."""
    done = subprocess.run(
        [CONTROL, "-q", "list_queues", "name", "messages", "--no-table-headers"],
        env={**os.environ, **broker.environment()}, capture_output=True, text=True, check=True, timeout=180,
    )  # fmt: skip
    return {name: int(count) for name, count in (line.split("\t") for line in done.stdout.splitlines() if line)}


def answered(client: Any, method: str, **arguments: Any) -> Any:
    """Return the answer to a call; repeat the call until the agent is on the bus."""

    def call() -> tuple[Any, ...]:
        try:
            return (client.prepare(timeout=TRY_S).call({}, method, **arguments),)
        except (oslo_messaging.MessagingTimeout, oslo_messaging.MessageDeliveryFailure):
            return ()

    return until(call, 120, f"an answer to {method}")[0]
