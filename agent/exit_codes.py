"""Decide a process's exit code from the report of its audit (design 2.2's table). Pure.

0, 1, 3 and 127 are what operators' scripts know from ``nova-manage placement audit``.
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
    # TERM and INT end at a safe point with 0.
    Outcome.CANCELLED: CLEAN,
}


def exit_code(report: AuditReport) -> int:
    """The exit code that this report is due."""
    return code_of(report.outcome)


def code_of(outcome: Outcome) -> int:
    """The exit code of an audit that ended so."""
    return _BY_OUTCOME[outcome]
