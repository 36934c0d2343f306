"""Say on stderr which sources an audit could not read. Fail if an audit read too few sources for a report."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from agent.cmd.command_line.failures import FailureKind, NoDocument
from agent.exit_codes import TEMPORARY
from agent.model.report import AuditReport, Outcome
from agent.render.explain import unread

if TYPE_CHECKING:
    from agent.cmd.not_root import Closed


def refuse_unreadable(report: AuditReport, closed: Closed | None) -> None:
    """Raise NoDocument (exit code 75) if the audit read too few sources for a report."""
    if report.outcome is not Outcome.UNREADABLE:
        return
    named = ", ".join(source.name for source in report.sources if not source.ok)
    problems = (*unread_lines(report, closed), *((report.error,) if report.error else ()))
    raise NoDocument(FailureKind.UNAVAILABLE, f"not enough sources could be read; unread: {named}", TEMPORARY, problems)


def unread_lines(report: AuditReport, closed: Closed | None) -> tuple[str, ...]:
    """Return lines for stderr: one line for each unread source, and one for all sources that only root can read."""
    if closed is None:
        return tuple(f"some data could not be read: {line}" for line in unread(report))
    shown = tuple(source for source in report.sources if not closed.hides(source))
    return (closed.line(report), *unread_lines(replace(report, sources=shown), None))
