"""Run the monitoring servers of the daemon: bind their addresses, keep the values of the last audit, answer requests.

For an address that cannot be used, the agent logs a warning and tries again each minute: monitoring never stops the
audits.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from agent.errors import SourceError
from agent.host_files.reports import MODE, read_report_text
from agent.model.report import AuditReport
from agent.monitoring.address import Address
from agent.monitoring.health import BusState, HealthState, Loop, Moment, Status, after_audit, document, without_checks
from agent.monitoring.options import HealthOptions
from agent.monitoring.server import Answer, HttpServer, Page
from agent.telemetry import events
from agent.telemetry.finding_changes import FindingChange
from agent.telemetry.lasting_problem import LastingProblem

RETRY_S = 60.0
# The mode of a unix socket. A user who may read the report may connect. To connect, a user needs the right to write, so
# the socket has mode 0660 if the report has mode 0640.
_SOCKET_MODE = MODE | (MODE & 0o444) >> 1


@dataclass(frozen=True, slots=True, kw_only=True)
class MonitorControl:
    """Functions that the monitoring servers call at each request, from any thread.

    ``loop`` returns the state of the worker. ``bus`` returns the state of the message bus; None: no bus is configured.
    ``interval_s`` returns the present audit interval, None without periodic audits. ``now`` returns the time as ISO
    8601 UTC.
    """

    loop: Callable[[], Loop]
    bus: Callable[[], BusState | None]
    interval_s: Callable[[], float | None]
    now: Callable[[], str]


class Metrics(Protocol):
    """The interface of the daemon's metrics (``MetricsPage``), which the HTTP servers publish at /metrics."""

    def audited(self, report: AuditReport, changed: tuple[FindingChange, ...]) -> None:
        """Update the metrics from an audit's report."""

    def reloaded(self, *, is_successful: bool) -> None:
        """Record whether the last reload was successful."""

    def answer(self, accept: str) -> Answer:
        """Return the answer to GET /metrics."""


class Monitor:
    """The HTTP servers. All publish the health document.

    The servers at the addresses in ``metrics_at`` publish /metrics too.
    """

    def __init__(
        self,
        options: HealthOptions,
        control: MonitorControl,
        run_dir: str,
        metrics: Metrics | None = None,
        metrics_at: tuple[Address, ...] = (),
    ) -> None:
        self._options = options
        self._control = control
        self._run_dir = run_dir
        self._metrics = metrics
        more: dict[str, Page] = {"/metrics": metrics.answer} if metrics else {}
        self._pages = {address: more if address in metrics_at else {} for address in (*options.addresses, *metrics_at)}
        self._problems = {address: LastingProblem(events.MONITORING_LOST, uri=address.uri) for address in self._pages}
        self._servers: dict[Address, HttpServer] = {}
        self._state = HealthState()
        self._is_ready = False
        self._stopped = threading.Event()
        self._binder = threading.Thread(target=self._bind_again, name="monitoring-bind", daemon=True)

    def start(self) -> None:
        """Bind the addresses and start to answer; an address that cannot be used is tried again each minute."""
        self._bind()
        if len(self._servers) < len(self._pages):
            self._binder.start()

    def audited(self, report: AuditReport, changed: tuple[FindingChange, ...]) -> None:
        """Update the health and the metrics from an audit's report. Called on the worker's thread."""
        # Update the health first. Then it is up to date even if an error ends the update of the metrics.
        self._state = after_audit(self._state, report, self._moment())
        self._is_ready = True
        if self._metrics is not None:
            self._metrics.audited(report, changed)

    def reloaded(self) -> None:
        """Forget the sources' health after a reload. The next audit sets it again, for the new configuration."""
        self._state = without_checks(self._state)
        if self._metrics is not None:
            self._metrics.reloaded(is_successful=True)

    def reload_refused(self) -> None:
        """Record in the metrics that the last reload was refused."""
        if self._metrics is not None:
            self._metrics.reloaded(is_successful=False)

    def stop(self) -> None:
        """Close all sockets."""
        self._stopped.set()
        for server in tuple(self._servers.values()):
            server.end()

    def _bind_again(self) -> None:
        while len(self._servers) < len(self._pages) and not self._stopped.wait(RETRY_S):
            self._bind()

    def _bind(self) -> None:
        for address, more in self._pages.items():
            if address in self._servers or self._stopped.is_set():
                continue
            try:
                server = HttpServer(address, {**self._own_pages(address), **more}, _SOCKET_MODE)
            except OSError as error:
                self._problems[address].occurred(error.strerror or str(error))
                continue
            server.start()
            self._servers[address] = server
            if self._stopped.is_set():
                # ``stop`` closes the servers in ``_servers``. If ``stop`` ran before this server was added, only this
                # line closes the server.
                server.end()

    def _own_pages(self, address: Address) -> dict[str, Page]:
        pages: dict[str, Page] = {"/health": self._health, "/livez": self._livez, "/readyz": self._readyz}
        # Only unix sockets serve the report: it has names that tenants gave their instances, and TCP has no access
        # control.
        return {**pages, "/report.json": self._report} if address.is_unix else pages

    def _health(self, _accept: str) -> Answer:
        control = self._control
        status, found = document(self._state, control.loop(), control.bus(), self._moment(), self._expire_s())
        is_failed = status is Status.FAIL
        cache = "no-cache" if is_failed else _cache_control(self._options.cache_control)
        return Answer(
            status=503 if is_failed else 200,
            body=json.dumps(found).encode(),
            content_type="application/health+json",
            headers=(("Cache-Control", cache),) if cache else (),
        )

    def _moment(self) -> Moment:
        return Moment(self._control.now(), time.monotonic())

    def _expire_s(self) -> float | None:
        interval_s, ttl_s = self._control.interval_s(), self._options.ttl_s
        return max(ttl_s, 3 * interval_s) if ttl_s and interval_s else None

    def _livez(self, _accept: str) -> Answer:
        return _yes_or_no(self._control.loop().is_alive, "no audit makes progress")

    def _readyz(self, _accept: str) -> Answer:
        return _yes_or_no(self._is_ready, "no audit has ended yet")

    def _report(self, _accept: str) -> Answer:
        try:
            text = read_report_text(self._run_dir)
        except SourceError as error:
            return Answer(status=503, body=f"{error}\n".encode())
        return Answer(status=200, body=text.encode(), content_type="application/json")


def _cache_control(seconds: int) -> str:
    if seconds == 0:
        return ""
    return "no-cache" if seconds < 0 else f"max-age={seconds}"


def _yes_or_no(holds: bool, why_not: str) -> Answer:  # noqa: FBT001 - a fact, no choice of behaviour
    return Answer(status=200, body=b"ok\n") if holds else Answer(status=503, body=f"{why_not}\n".encode())
