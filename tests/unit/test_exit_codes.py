"""The exit code of each outcome of an audit."""

import pytest

from agent.exit_codes import exit_code
from agent.model.report import AuditReport, Outcome

TABLE = {
    Outcome.CRASHED: 1,
    Outcome.REFUSED: 5,
    Outcome.PARTIAL: 2,
    Outcome.FINDINGS: 3,
    Outcome.CLEAN: 0,
    Outcome.UNREADABLE: 75,
    Outcome.CANCELLED: 0,
}


@pytest.mark.parametrize("outcome", Outcome)
def test_each_audit_outcome_has_its_exit_code(outcome):
    """The exit code is, for example, 0 after a clean audit, 3 after findings and 2 if a source could not be read."""
    report = AuditReport(
        audit_id="a",
        host="h",
        node=None,
        provider_uuid=None,
        role="owner",
        reasons=(),
        started_at="",
        duration_ms=0,
        outcome=outcome,
        sources=(),
    )
    assert exit_code(report) == TABLE[outcome]
