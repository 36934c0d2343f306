"""Publish a report: log lines, the report file, a status line for the main thread, and messages for the broker.

A failure to write the report file (a full disk) is logged when its cause changes, and never ends an audit. Another
thread sends the messages to the broker, so no function of this module waits for the broker.
"""

from __future__ import annotations

import time
import traceback
from collections import Counter
from collections.abc import Callable

from agent.daemon.worker import Configured
from agent.errors import SourceUnavailable
from agent.model.report import AuditReport
from agent.telemetry import audit_log, events
from agent.telemetry.event_log import emit, log_bug
from agent.telemetry.finding_changes import FindingChange, begins
from agent.telemetry.lasting_problem import LastingProblem

#: A function that passes a report and the changed findings to the thread that sends messages. It must neither block nor
#: raise.
Send = Callable[[AuditReport, tuple[FindingChange, ...]], None]


def _ignore(_report: AuditReport, _changed: tuple[FindingChange, ...]) -> None:
    pass


class ReportDesk:
    """Publishes each audit's report.

    ``save`` replaces the report file (raises SourceUnavailable).
    ``on_status`` receives a status line after each audit.
    ``publish`` passes the report and the changed findings (those that the log reports) to the sender of messages.
    ``audited`` passes a report to the servers that monitoring systems query.
    """

    def __init__(
        self,
        save: Callable[[AuditReport], None],
        on_status: Callable[[str], None],
        publish: Send | None = None,
        audited: Send | None = None,
    ) -> None:
        self._save = save
        self._on_status = on_status
        self._publish = publish
        self._audited = audited or _ignore
        self._log_state = audit_log.LogState()
        self._unsaved = LastingProblem(events.REPORT_UNPUBLISHED)
        self._bugs: Counter[str] = Counter()

    def publish(self, report: AuditReport, configured: Configured) -> None:
        """Log what changed since the last report, send and save the report, and pass a status line to ``on_status``."""
        before = self._log_state
        self._log_state, lines = audit_log.lines(before, report, time.monotonic(), configured.summary_interval_s)
        emit(lines)
        changed = () if self._log_state is before else self._log_state.changed
        if self._publish is not None:
            self._publish(report, changed)
        self._keep(report)
        self._audited(report, changed)
        self._on_status(status_line(report))

    @property
    def counters(self) -> dict[str, object]:
        """The counters of this process: the work that its audits did, and the number of unexpected exceptions."""
        return {**self._log_state.total.fields(), "bugs": sum(self._bugs.values())}

    def bug(self, where: str, error: Exception) -> None:
        """Log the traceback of an unexpected exception at its 1st, 2nd, 4th, … occurrence."""
        frames = traceback.extract_tb(error.__traceback__, limit=-1)
        place = f"{frames[0].filename}:{frames[0].lineno}" if frames else "unknown"
        key = f"{where} {type(error).__name__} {place}"
        if begins(key, self._bugs):
            log_bug(events.AUDIT_CRASHED, error, where=where, times=self._bugs[key])

    def _keep(self, report: AuditReport) -> None:
        try:
            self._save(report)
        except SourceUnavailable as error:
            self._unsaved.occurred(str(error))
        else:
            self._unsaved.cause = ""


def status_line(report: AuditReport) -> str:
    """Return one line for ``systemctl status``."""
    unread = ", ".join(source.name for source in report.sources if not source.ok)
    lost = f", sources not read: {unread}" if unread else ""
    return f"audit of {report.started_at}: {report.outcome.value}, {len(report.findings)} findings{lost}"
