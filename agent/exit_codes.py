"""Decide a process's exit code from the report of its audit. Pure.

0, 1, 3 and 127 are the codes that operators' scripts know from ``nova-manage placement audit``.
"""

from __future__ import annotations

from agent.model.report import AuditReport, Outcome

CLEAN = 0
BUG = 1
PARTIAL = 2
FINDINGS = 3
REPAIRED = 4
REFUSED = 5
TEMPORARY = 75
CONFIGURATION = 78
BAD_ARGUMENTS = 127

_BY_OUTCOME = {
    Outcome.CLEAN: CLEAN,
    Outcome.CRASHED: BUG,
    Outcome.PARTIAL: PARTIAL,
    Outcome.FINDINGS: FINDINGS,
    Outcome.REFUSED: REFUSED,
    Outcome.UNREADABLE: TEMPORARY,
    # SIGTERM and SIGINT end the audit at a safe point, with exit code 0.
    Outcome.CANCELLED: CLEAN,
}


def exit_code(report: AuditReport) -> int:
    """Return the exit code for this report."""
    return code_of(report.outcome)


def code_of(outcome: Outcome) -> int:
    """Return the exit code for an audit with this outcome."""
    return _BY_OUTCOME[outcome]
