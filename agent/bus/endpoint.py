"""Answer the RPC calls ``audit_now``, ``last_report``, ``publish_now`` and ``ping`` on the bus.

A call can request an audit or return a report. The agent takes no data from a caller. oslo.messaging's server blocks in
``start`` until the broker is reachable, so a separate thread starts the server. A started server reconnects by itself
when the broker is reachable again.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from agent.bus.options import DaemonControl
from agent.bus.timeouts import ended_within, pause_s
from agent.bus.transport import AGENT_TOPIC, AUDIT_NOW, VERSION, Bus, end_server, oslo_messaging
from agent.model.report import AuditReport
from agent.render.documents import Document, report_document
from agent.telemetry import events
from agent.telemetry.event_log import log_event
from agent.telemetry.finding_changes import worth_reporting

REASON = f"rpc: {AUDIT_NOW}"
STOP_S = 1.0


class BadCall(Exception):
    """The error that a caller gets for a call with arguments, because no method takes arguments."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RpcFunctions:
    """The functions and texts that the RPC methods use.

    ``publish_now`` returns False if the agent sends no messages with the host's state.
    """

    host: str
    agent_version: str
    daemon: DaemonControl
    publish_now: Callable[[], bool]


class AgentEndpoint:
    """The RPC methods. They take no arguments: a call with arguments gets an error, so a caller cannot pass in data."""

    target = oslo_messaging.Target(version=VERSION)

    def __init__(self, reached: RpcFunctions) -> None:
        self._reached = reached
        self._document: tuple[AuditReport, Document] | None = None

    @oslo_messaging.expected_exceptions(BadCall)  # type: ignore[untyped-decorator]  # the library has no types
    def ping(self, _context: object, /, **arguments: object) -> Document:
        """Return the host and the version of the agent that answers."""
        _refuse(arguments)
        return {"host": self._reached.host, "agent_version": self._reached.agent_version}

    @oslo_messaging.expected_exceptions(BadCall)  # type: ignore[untyped-decorator]
    def audit_now(self, _context: object, /, **arguments: object) -> Document:
        """Request an audit.

        In the returned document, ``accepted`` is false if the agent is stopping. ``waiting`` lists the reasons for
        which the next audit was requested.
        """
        _refuse(arguments)
        due_s = self._reached.daemon.request_by_peer(REASON)
        return {
            "accepted": due_s is not None,
            "waiting": list(self._reached.daemon.waiting()),
            "audit_in_s": None if due_s is None else round(due_s, 3),
        }

    @oslo_messaging.expected_exceptions(BadCall)  # type: ignore[untyped-decorator]
    def last_report(self, _context: object, /, **arguments: object) -> Document | None:
        """Return the last audit's report in the format of the report file; None before the first audit."""
        _refuse(arguments)
        report = self._reached.daemon.last_report()
        if report is None:
            return None
        kept = self._document
        # Keep the document until the next report: building a document takes 60 ms for 1,000 guests, and callers may
        # call often.
        if kept is None or kept[0] is not report:
            version = {"agent_version": self._reached.agent_version}
            kept = self._document = (report, version | report_document(report))
        return kept[1]

    @oslo_messaging.expected_exceptions(BadCall)  # type: ignore[untyped-decorator]
    def publish_now(self, _context: object, /, **arguments: object) -> Document:
        """Request that the agent casts the host's state to all watchers.

        In the returned document, ``accepted`` is false if the agent sends no messages with the host's state.
        """
        _refuse(arguments)
        return {"accepted": self._reached.publish_now()}


def _refuse(arguments: dict[str, object]) -> None:
    if arguments:
        raise BadCall(f"this method takes no arguments, but got {', '.join(sorted(arguments))}")


class EndpointServer:
    """Runs AgentEndpoint as an RPC server on the agents' topic; the server's name is the host's name."""

    def __init__(self, bus: Bus, reached: RpcFunctions) -> None:
        self._bus = bus
        self._host = reached.host
        self._endpoint = AgentEndpoint(reached)
        self._stopping = threading.Event()
        self._server: Any = None
        self._thread = threading.Thread(target=self._live, name="bus-endpoint", daemon=True)

    def start(self) -> None:
        """Start the server's thread and return at once; the server answers as soon as the broker is reachable."""
        self._thread.start()

    def stop(self) -> None:
        """Stop the server; abandon a server that still waits for the broker."""
        self._stopping.set()
        server = self._server
        if server is not None:
            ended_within(STOP_S, lambda: end_server(server), "bus-endpoint-stop")

    def _live(self) -> None:
        failures, began = 0, time.monotonic()
        while not self._stopping.is_set():
            server = self._bus.server(AGENT_TOPIC, self._host, self._endpoint)
            try:
                server.start()
            except Exception as error:  # noqa: BLE001 - after any error of the broker, try again later
                failures += 1
                if worth_reporting(failures):
                    log_event(events.ENDPOINT_REFUSED, error=str(error), times=failures)
                self._stopping.wait(pause_s(failures))
                continue
            self._server = server
            log_event(events.ENDPOINT_UP, after_s=round(time.monotonic() - began, 1))
            break
        if self._stopping.is_set() and self._server is not None:
            end_server(self._server)
