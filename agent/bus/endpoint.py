"""Answer RPC calls on the bus: audit now, last report, publish now, ping.

A call can ask for an audit or return a report; the agent takes no data from a caller. The library's server blocks in
``start`` until the broker is reachable, so it starts in a separate thread. Once started, the server reconnects by
itself when the broker comes back.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from oslo_log import log as logging

from agent.bus.connection_backoff import Reach
from agent.bus.library import oslo_messaging
from agent.bus.names import AGENT_TOPIC, AUDIT_NOW, EXCHANGE, VERSION
from agent.bus.timeouts import ended_within
from agent.bus.transport import Bus, PlainSerializer
from agent.model.report import AuditReport
from agent.render.documents import Document, report_document
from agent.telemetry import events

LOG = logging.getLogger(__name__)

REASON = f"rpc: {AUDIT_NOW}"
STOP_S = 1.0


class BadCall(Exception):
    """A call with arguments that the method does not take."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RpcFunctions:
    """The functions that RPC callers reach.

    ``request_by_peer`` queues a reason to audit and returns in how many seconds the audit begins at the latest; None:
    no audit follows. ``publish_now`` requests a message with the host's state and returns False where the agent sends
    none. ``waiting`` returns the reasons that no audit has taken yet.
    """

    host: str
    agent_version: str
    request_by_peer: Callable[[str], float | None]
    waiting: Callable[[], tuple[str, ...]]
    last_report: Callable[[], AuditReport | None]
    publish_now: Callable[[], bool]


class AgentEndpoint:
    """The RPC methods.

    They reject all arguments, so that a caller's mistake raises an error and no argument is trusted.
    """

    target = oslo_messaging.Target(version=VERSION)

    def __init__(self, asked: RpcFunctions) -> None:
        self._asked = asked
        self._document: tuple[AuditReport, Document] | None = None

    @oslo_messaging.expected_exceptions(BadCall)  # type: ignore[untyped-decorator]  # the library has no types
    def ping(self, _context: object, /, **arguments: object) -> Document:
        """Return the host and the version of the agent that answers."""
        _refuse(arguments)
        return {"host": self._asked.host, "agent_version": self._asked.agent_version}

    @oslo_messaging.expected_exceptions(BadCall)  # type: ignore[untyped-decorator]
    def audit_now(self, _context: object, /, **arguments: object) -> Document:
        """Return ``accepted`` (false while the agent stops), the waiting reasons, and the seconds until the audit."""
        _refuse(arguments)
        due_s = self._asked.request_by_peer(REASON)
        return {
            "accepted": due_s is not None,
            "waiting": list(self._asked.waiting()),
            "audit_in_s": None if due_s is None else round(due_s, 3),
        }

    @oslo_messaging.expected_exceptions(BadCall)  # type: ignore[untyped-decorator]
    def last_report(self, _context: object, /, **arguments: object) -> Document | None:
        """Return the document of the report file, null before the first audit."""
        _refuse(arguments)
        report = self._asked.last_report()
        if report is None:
            return None
        kept = self._document
        # Built once per report: a report of a thousand guests takes 60 ms, and callers decide how often they call.
        if kept is None or kept[0] is not report:
            kept = self._document = (report, report_document(report))
        return kept[1]

    @oslo_messaging.expected_exceptions(BadCall)  # type: ignore[untyped-decorator]
    def publish_now(self, _context: object, /, **arguments: object) -> Document:
        """Request a message with the host's state to the fleet's topic; false if this host publishes none."""
        _refuse(arguments)
        return {"accepted": self._asked.publish_now()}


def _refuse(arguments: dict[str, object]) -> None:
    if arguments:
        raise BadCall(f"takes no arguments, got {', '.join(sorted(arguments))}")


class EndpointServer:
    """Runs AgentEndpoint as server ``host`` of the agents' topic."""

    def __init__(self, bus: Bus, asked: RpcFunctions) -> None:
        self._bus = bus
        self._asked = asked
        self._endpoint = AgentEndpoint(asked)
        self._stopping = threading.Event()
        self._server: Any = None
        self._thread = threading.Thread(target=self._live, name="bus-endpoint", daemon=True)

    def start(self) -> None:
        """Start the server's thread and return at once; the server comes up as soon as the broker accepts it."""
        self._thread.start()

    def stop(self) -> None:
        """Stop answering; abandon a server that still waits for its broker."""
        self._stopping.set()
        server = self._server
        if server is not None:
            ended_within(STOP_S, lambda: _end(server), "bus-endpoint-stop")

    def _live(self) -> None:
        reach, began = Reach(), time.monotonic()
        while not self._stopping.is_set():
            server = self._made()
            try:
                server.start()
            except Exception as error:  # noqa: BLE001 - whatever the broker refuses with: try again later
                reach = reach.after_failure()
                if reach.is_worth_logging:
                    LOG.warning(events.ENDPOINT_REFUSED, extra={"error": str(error), "times": reach.failures})
                self._stopping.wait(reach.pause_s)
                continue
            self._server = server
            LOG.info(events.ENDPOINT_UP, extra={"after_s": round(time.monotonic() - began, 1)})
            break
        if self._stopping.is_set() and self._server is not None:
            _end(self._server)

    def _made(self) -> Any:  # noqa: ANN401 - the library has no types
        target = oslo_messaging.Target(exchange=EXCHANGE, topic=AGENT_TOPIC, server=self._asked.host)
        return oslo_messaging.get_rpc_server(
            self._bus.rpc,
            target,
            [self._endpoint],
            serializer=PlainSerializer(),
            access_policy=oslo_messaging.DefaultRPCAccessPolicy,
        )


def _end(server: Any) -> None:  # noqa: ANN401 - the library has no types
    server.stop()
    server.wait()
