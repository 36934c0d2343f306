"""The base of commands that answer from an audit of their own or, with --last, from the daemon's last report."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from agent.cmd.commands.base import TABLE, BaseCommand, argument

if TYPE_CHECKING:
    from agent.cmd.daemon_report import DaemonReport
    from agent.model.audit import Publish
    from agent.model.report import AuditReport
    from agent.render.documents import Document
    from agent.render.layout import Block

LAST = argument(
    "--last",
    action="store_true",
    help="answer from the report of the daemon's last audit, without a new audit; exit code 2 if that report is"
    " older than three audit intervals",
)


class ReportingCommand(BaseCommand):
    """A command whose answer is about one audit. The command's ``ARGUMENTS`` must contain ``LAST`` (--last)."""

    _last: DaemonReport | None = None
    _is_begun = False

    def report_of(self, parsed_args: argparse.Namespace, command: str, publish: Publish | None = None) -> AuditReport:
        """Run an audit now and return its report; with --last, return the daemon's last report.

        The audit of this command writes nothing, unless ``publish`` says otherwise. Raises ConfigError, NoDocument
        (exit code 75) if too few sources could be read, or AgentError (exit code 75) if the daemon has left no report.
        """
        if parsed_args.last:
            from agent.cmd.daemon_report import daemon_report

            self._last = daemon_report(self.app.options)
            return self._last.report
        from agent.cmd.audited import audited
        from agent.model.audit import Publish

        return audited(self.app.options, command, publish or Publish.NEVER)

    def audit_document(self, report: AuditReport) -> Document:
        """Return the audit's JSON document. ``report`` is the result of ``report_of``."""
        from agent.render.documents import audit_document

        return audit_document(report) if self._last is None else self._last.audit

    def draw(self, blocks: Iterable[Block], max_width: int | None = None) -> None:
        """Print lines and tables for people; with --last, the first line names the daemon's report as the source."""
        head = () if self._last is None or self._is_begun else (self._last.head,)
        self._is_begun = True
        super().draw([*head, *blocks], max_width)

    def produce_output(self, parsed_args: Any, *listing: Any) -> Any:  # noqa: ANN401 - cliff's signature
        """Print the rows in cliff's format; with --last, a table begins with the line about the daemon's report."""
        if parsed_args.formatter == TABLE:
            self.draw(())
        return super().produce_output(parsed_args, *listing)  # type: ignore[misc]  # of a list command

    def run(self, parsed_args: argparse.Namespace) -> int:
        """Print the answer and return the exit code.

        If the answer is from a daemon's report that is old or incomplete, the code is 2 instead of 0 or 3.
        """
        from agent.exit_codes import first_of

        code = int(super().run(parsed_args))
        return first_of(code, self._last.code) if self._last is not None and self._last.code else code
