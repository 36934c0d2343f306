"""Decide a process's exit code from the report of its audit. Pure: no I/O.

The exit code of a command answers the command's own question. ``audit``, ``status`` and the daemon ask whether there
are findings: ``exit_code`` decides. ``ledger``, ``explain``, ``inventory`` and ``traits`` ask whether the answer is
complete: ``answer_code`` decides, and does not depend on findings.

0, 1, 3 and 127 are the codes that operators' scripts know from ``nova-manage placement audit``.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

if TYPE_CHECKING:
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

# If several codes apply, the process ends with the first of these.
_ORDER = (BUG, REFUSED, PARTIAL, TEMPORARY, FINDINGS, REPAIRED, CLEAN)

# The keys are the values of the enum Outcome as plain text. An import of Outcome would load the module of the audit's
# report in every command, and most commands do not need that module.
_BY_OUTCOME = {
    "clean": CLEAN,
    "crashed": BUG,
    "partial": PARTIAL,
    "findings": FINDINGS,
    "refused": REFUSED,
    "unreadable": TEMPORARY,
    # SIGTERM and SIGINT end the audit at a safe point, with exit code 0.
    "cancelled": CLEAN,
}


def exit_code(report: AuditReport) -> int:
    """Return the exit code for this report."""
    return first_of(code_of(report.outcome), CLEAN if report.own_files_read else PARTIAL)


def code_of(outcome: Outcome) -> int:
    """Return the exit code for an audit with this outcome."""
    return _BY_OUTCOME[outcome.value]


def answer_code(report: AuditReport, unread: Collection[str]) -> int:
    """Return the exit code of a command that answers from this report.

    ``unread`` are the names of the sources that the answer needs and that could not be read.
    """
    if exit_code(report) == BUG:
        return BUG
    return PARTIAL if unread or not report.own_files_read else CLEAN


def first_of(*codes: int) -> int:
    """Return the code that a process ends with if all these codes apply."""
    return min(codes, key=_ORDER.index)
