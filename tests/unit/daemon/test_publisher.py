"""What the publisher does with a report when its file fails or the audit has a bug."""

import logging

import pytest

from agent.daemon.publisher import ReportDesk, status_line
from agent.errors import SourceUnavailable
from agent.model.report import AuditReport, Outcome, SourceStatus
from agent.telemetry import events

REPORT = AuditReport(
    audit_id="a", host="h", node=None, provider_uuid=None, role="owner", reasons=(), duration_ms=0,
    started_at="2026-01-01T00:00:00.000Z", outcome=Outcome.PARTIAL,
    sources=(SourceStatus(name="libvirt", ok=False, age_s=None, duration_ms=0, error="refused"),),
)  # fmt: skip


class Configured:
    summary_interval_s = 3600.0


def test_a_repeated_report_write_error_is_logged_once(caplog):
    """If writing the report fails twice in a row with the same error, the agent logs the error once."""
    problems = ["full", "full", "gone", None, "gone"]
    told = []

    def save(_report):
        if problem := problems[len(told)]:
            raise SourceUnavailable("report", problem)

    desk = ReportDesk(save, told.append)
    for _ in problems:
        desk.publish(REPORT, Configured())
    warned = [record.error for record in caplog.records if record.msg == events.REPORT_UNPUBLISHED]
    assert warned == ["report: full", "report: gone", "report: gone"]
    assert len(told) == len(problems)


def test_a_repeated_exception_is_logged_less_and_less_often(caplog):
    """An exception that a bug raises at every audit is logged at its 1st, 2nd, 4th and 8th occurrence."""
    desk = ReportDesk(lambda _report: None, lambda _status: None)

    def crash(divisor):
        try:
            _ = 1 / divisor
        except (ZeroDivisionError, TypeError) as error:
            desk.bug("audit", error)

    for _ in range(8):
        crash(0)
    crash(None)
    told = [(record.exc_info[0], record.times) for record in caplog.records if record.levelno == logging.ERROR]
    assert told == [*((ZeroDivisionError, times) for times in (1, 2, 4, 8)), (TypeError, 1)]


@pytest.mark.parametrize("outcome", Outcome)
def test_the_systemd_status_shows_the_audit_result(outcome):
    """The status line for systemd shows the result of the last audit and the sources that were not read."""
    line = status_line(AuditReport(**{name: getattr(REPORT, name) for name in REPORT.__slots__} | {"outcome": outcome}))
    assert line == f"audit of 2026-01-01T00:00:00.000Z: {outcome.value}, 0 findings, sources not read: libvirt"
