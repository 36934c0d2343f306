"""Publish a report: log lines, the report file, a status line for the main thread, and messages for the broker.

A failure to write the report file (a full disk) is logged once per change of its cause and never ends an audit. Another
thread sends the messages to the broker; nothing here waits for the broker.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from oslo_log import log as logging

from agent.daemon.worker import Configured
from agent.errors import SourceUnavailable
from agent.model.report import AuditReport
from agent.telemetry import audit_log, events
from agent.telemetry.finding_changes import FindingChange, worth_reporting
from agent.telemetry.lines import emit

LOG = logging.getLogger(__name__)


#: Hands a report, and the changes of findings that the log reports, to another thread; must neither wait nor raise.
Send = Callable[[AuditReport, tuple[FindingChange, ...]], None]


def send_nothing(_report: AuditReport, _changed: tuple[FindingChange, ...]) -> None:
    """Do nothing: no broker is configured."""


class ReportDesk:
    """Publishes reports.

    ``save`` replaces the report file (raises SourceUnavailable); ``on_status`` receives a status line after each audit.
    """

    def __init__(
        self, save: Callable[[AuditReport], None], on_status: Callable[[str], None], publish: Send = send_nothing
    ) -> None:
        self._save = save
        self._on_status = on_status
        self._publish = publish
        self._log_state = audit_log.LogState()
        self._unsaved: str | None = None
        self._bugs: dict[str, int] = {}

    def publish(self, report: AuditReport, configured: Configured) -> None:
        """Log the changes, save the report, and pass on the audit's status line."""
        before = self._log_state
        self._log_state, lines = audit_log.lines(before, report, time.monotonic(), configured.summary_interval_s)
        emit(lines)
        self._publish(report, () if self._log_state is before else self._log_state.changed)
        self._keep(report)
        self._on_status(status_line(report))

    def bug(self, where: str, error: Exception) -> None:
        """Log the traceback of an unexpected exception at its 1st, 2nd, 4th, … occurrence."""
        last = error.__traceback__
        while last and last.tb_next:
            last = last.tb_next
        place = f"{last.tb_frame.f_code.co_filename}:{last.tb_lineno}" if last else "unknown"
        key = f"{where} {type(error).__name__} {place}"
        times = self._bugs[key] = self._bugs.get(key, 0) + 1
        if worth_reporting(times):
            LOG.error(events.AUDIT_CRASHED, exc_info=error, extra={"where": where, "times": times})

    def _keep(self, report: AuditReport) -> None:
        try:
            self._save(report)
        except SourceUnavailable as error:
            problem = str(error)
            if problem != self._unsaved:
                LOG.warning(events.REPORT_UNPUBLISHED, extra={"error": problem})
            self._unsaved = problem
        else:
            self._unsaved = None


def status_line(report: AuditReport) -> str:
    """Return one line for ``systemctl status``."""
    unread = ", ".join(source.name for source in report.sources if not source.ok)
    lost = f", unread: {unread}" if unread else ""
    return f"audit of {report.started_at}: {report.outcome.value}, {len(report.findings)} findings{lost}"
