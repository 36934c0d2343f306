"""The line and the exit code of ``stocktake status --check``."""

import copy
import json
import re

import pytest

from agent.model.report import Outcome
from agent.render.documents import report_document
from agent.render.nagios import AgeLimits, check_line, unknown_line
from agent.render.status import last_report
from tests.rigs.reports import REPORT

# The form of a plug-in's line by Nagios' guidelines: text, "|", and label=value[unit][;warn[;crit]] for each value.
LINE = re.compile(r"STOCKTAKE [A-Z]+ - [^|]+ \| \w+=-?[\d.]+\w*(;[\d.]*;[\d.]*)?( \w+=-?[\d.]+\w*(;[\d.]*;[\d.]*)?)*")


def line(outcome=Outcome.CLEAN, findings=(), age_s=12, interval_s=60.0):
    document = json.loads(json.dumps(report_document(REPORT)))
    document["audit"] |= {"outcome": outcome.value, "findings": list(findings), "started_at": "2026-11-21T10:00:00Z"}
    now = f"2026-11-21T{10 + age_s // 3600:02}:{age_s // 60 % 60:02}:{age_s % 60:02}+00:00"
    return check_line(last_report(document, "report.json", now, interval_s), AgeLimits())


def finding(severity="error", confirmed=True, state="confirmed"):
    found = copy.deepcopy(report_document(REPORT)["audit"]["findings"][0])
    return found | {"code": "allocation-leaked", "severity": severity, "confirmed": confirmed, "state": state}


@pytest.mark.parametrize(
    ("world", "code"),
    [
        ({}, 0),
        ({"outcome": Outcome.FINDINGS, "findings": [finding("warning")]}, 1),
        ({"outcome": Outcome.FINDINGS, "findings": [finding("error", confirmed=False, state="seen")]}, 1),
        ({"outcome": Outcome.PARTIAL}, 1),
        ({"age_s": 181}, 1),
        ({"outcome": Outcome.FINDINGS, "findings": [finding()]}, 2),
        ({"outcome": Outcome.FINDINGS, "findings": [finding(state="unknown")]}, 2),
        ({"outcome": Outcome.REFUSED}, 2),
        ({"outcome": Outcome.CRASHED}, 2),
        ({"age_s": 601}, 2),
        ({"age_s": 180}, 0),
    ],
)
def test_status_check_returns_the_nagios_exit_code(world, code):
    """`stocktake status --check` exits with 0 for OK, 1 for WARNING and 2 for CRITICAL."""
    found, text = line(**world)
    assert found == code
    assert LINE.fullmatch(text), text
    assert text.startswith(f"STOCKTAKE {('OK', 'WARNING', 'CRITICAL')[code]} - compute-17: ")


def test_the_nagios_line_shows_findings_and_report_age():
    """The Nagios line shows the numbers of errors, other findings and unchecked findings, and the report's age."""
    _, text = line(Outcome.PARTIAL, [finding(), finding("warning", state="unknown")])
    assert "1 error (allocation-leaked), 1 other finding, 1 not known, outcome partial" in text
    assert text.endswith("age=12s;180;600")


def test_the_nagios_state_is_unknown_without_a_report():
    """If no report file exists, the Nagios check prints UNKNOWN and exits with 3."""
    assert unknown_line("report: no | such\nfile") == (3, "STOCKTAKE UNKNOWN - report: no / such file")
