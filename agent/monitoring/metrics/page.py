"""Keep the daemon's metrics: update them from each audit's report, answer /metrics, and replace the text file.

The agent renders the text of a report's metrics once. A scrape only adds the metrics of the running audit and of the
process, so scrapes do not slow audits down. Only the worker's thread changes the metrics: it replaces the whole
``MetricState`` object. Other threads only read the object.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from agent.host_files.atomic import replace_file
from agent.host_files.journal_tail import JournalTail
from agent.model.report import AuditReport
from agent.monitoring.metrics import text
from agent.monitoring.metrics.state import AuditEnd, MetricState, after_audit, after_reload
from agent.monitoring.metrics.text import BusCounts, Scene
from agent.monitoring.server import Answer
from agent.placement.http.request_counts import RequestCounts
from agent.telemetry import events
from agent.telemetry.finding_changes import FindingChange
from agent.telemetry.lasting_problem import LastingProblem

# The mode of the text file. Every user may read the file, because node_exporter, which reads the file, runs as another
# user.
_FILE_MODE = 0o644


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricsControl:
    """Functions that return the daemon's state.

    The agent calls ``running_s`` at each scrape. It calls the other functions after an audit or a reload.

    ``interval_s`` returns the audit interval, or None if there are no periodic audits. ``bus`` returns how many
    messages failed, wait or were dropped, or None if the agent uses no message bus.
    """

    requests: Callable[[], RequestCounts]
    bus: Callable[[], BusCounts | None]
    interval_s: Callable[[], float | None]
    running_s: Callable[[], float]
    version: str
    state_source: str


class MetricsPage:
    """The metrics of one process. ``textfile`` is the file to replace after each audit; "" for no file."""

    def __init__(self, control: MetricsControl, journal: JournalTail, textfile: str) -> None:
        self._control = control
        self._journal = journal
        self._textfile = textfile
        self._state = after_reload(MetricState(), time.time(), is_successful=True)
        self._rendered: dict[bool, bytes] = {}
        self._unwritten = LastingProblem(events.METRICS_UNWRITTEN)

    def audited(self, report: AuditReport, changed: tuple[FindingChange, ...]) -> None:
        """Update the metrics from an audit's report. Called on the worker's thread."""
        end = AuditEnd(
            at=time.time(),
            interval_s=self._control.interval_s(),
            journal=self._journal.read(),
            changed=changed,
            state_source=self._control.state_source,
        )
        self._state = after_audit(self._state, report, end)
        self._rendered = {}
        if self._textfile:
            self._replace_file()

    def reloaded(self, *, is_successful: bool) -> None:
        """Update the metrics after a reload of the configuration."""
        self._state = after_reload(self._state, time.time(), is_successful=is_successful)
        self._rendered = {}

    def answer(self, accept: str) -> Answer:
        """Return the answer to GET /metrics: OpenMetrics if the client asks for it, else Prometheus' text format."""
        as_openmetrics = "application/openmetrics-text" in accept
        now = text.of_now(self._control.running_s(), as_openmetrics=as_openmetrics)
        body = text.joined(self._fixed(as_openmetrics=as_openmetrics), now, as_openmetrics=as_openmetrics)
        content_type = text.OPENMETRICS_TYPE if as_openmetrics else text.TEXT_TYPE
        return Answer(status=200, body=body, content_type=content_type)

    def _fixed(self, *, as_openmetrics: bool) -> bytes:
        rendered = self._rendered
        if as_openmetrics not in rendered:
            control = self._control
            scene = Scene(state=self._state, requests=control.requests(), version=control.version, bus=control.bus())
            rendered[as_openmetrics] = text.rendered(scene, as_openmetrics=as_openmetrics)
        return rendered[as_openmetrics]

    def _replace_file(self) -> None:
        try:
            replace_file(self._textfile, self._fixed(as_openmetrics=False).decode(), _FILE_MODE)
        except OSError as error:
            self._unwritten.occurred(f"{self._textfile}: {error.strerror or error}")
        else:
            self._unwritten.cause = ""
