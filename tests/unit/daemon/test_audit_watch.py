"""A long audit is logged once, with its duration and the source that it reads."""

import logging

from agent.daemon.audit_watch import LONG_AUDIT_S, NO_READ, AuditWatch
from agent.telemetry import events


def checked(caplog, *moments):
    """Return (for_s, in) of each line; a moment is (seconds that the audit has run, the source that it reads)."""
    now = [(0.0, "")]
    watch = AuditWatch(lambda: now[0][0], lambda: now[0][1])
    with caplog.at_level(logging.INFO):
        for moment in moments:
            now[0] = moment
            watch.check()
    logged = [record for record in caplog.records if record.msg == events.AUDIT_RUNNING]
    assert {record.levelname for record in logged} <= {"WARNING"}
    return [(record.for_s, getattr(record, "in")) for record in logged]


def test_a_long_audit_is_logged_once_with_its_data_source(caplog):
    """After two minutes of an audit, the agent logs one warning with the data source that the audit is reading."""
    moments = [(LONG_AUDIT_S - 1, "placement"), (LONG_AUDIT_S, "placement"), (LONG_AUDIT_S + 30, "state")]
    assert checked(caplog, *moments) == [(120, "placement")]


def test_each_long_audit_is_logged(caplog):
    """Two audits that each run longer than two minutes are logged as two warnings."""
    assert checked(caplog, (121, "state"), (0, ""), (122, "libvirt")) == [(121, "state"), (122, "libvirt")]


def test_a_long_audit_is_logged_even_without_a_data_source(caplog):
    """An audit that runs longer than two minutes is logged even if it is not reading from a data source."""
    assert checked(caplog, (150, "")) == [(150, NO_READ)]


def test_an_audit_under_two_minutes_causes_no_warning(caplog):
    assert checked(caplog, (119.9, "placement"), (0, ""), (60, "placement")) == []
