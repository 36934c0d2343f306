"""``stocktake status``: show the daemon's last report from the report file.

The command works while all services are down.
"""

from __future__ import annotations

import argparse
import math
from typing import TYPE_CHECKING

from agent.cmd.commands.base import DocumentCommand, argument
from agent.errors import AgentError

if TYPE_CHECKING:
    from agent.model.report import Outcome


def _intervals(text: str) -> float:
    number = float(text)
    if not 0 < number < math.inf:
        raise argparse.ArgumentTypeError(f"{text} is not a finite number above 0")
    return number


class Status(DocumentCommand):
    """The daemon's last audit report: its age, sources, findings, and free amounts per class."""

    ARGUMENTS = (
        argument(
            "--check",
            action="store_true",
            help="print one line with performance data for Nagios, and return Nagios' exit codes: 0 OK, 1 WARNING, "
            "2 CRITICAL (a confirmed error), 3 UNKNOWN (no readable report)",
        ),
        argument(
            "--warning-age",
            type=_intervals,
            default=3.0,
            metavar="N",
            help="age of the report, in audit intervals, at which the state becomes WARNING (default: 3)",
        ),
        argument(
            "--critical-age",
            type=_intervals,
            default=10.0,
            metavar="N",
            help="age of the report, in audit intervals, at which the state becomes CRITICAL (default: 10)",
        ),
    )

    def take_action(self, parsed_args: argparse.Namespace) -> int:
        """Return the last audit's exit code. Raises AgentError (exit code 75) if there is no readable report.

        If the report is stale or has unreadable rows, the codes 0 and 3 become 2.
        """
        if parsed_args.check:
            return self._check(parsed_args)
        from agent.cmd.daemon_report import read_last
        from agent.render.status import status_blocks, status_document

        _, last = read_last(self.app.options)
        self.answer(parsed_args.format, status_blocks(last), status_document(last))
        return _code(last.outcome, partial=last.is_stale or bool(last.problems))

    def _check(self, parsed_args: argparse.Namespace) -> int:
        from agent.cmd.daemon_report import read_last
        from agent.render.nagios import AgeLimits, check_line, unknown_line

        try:
            _, last = read_last(self.app.options)
            limits = AgeLimits(warning=parsed_args.warning_age, critical=parsed_args.critical_age)
            code, text = check_line(last, limits)
        except AgentError as error:
            code, text = unknown_line(str(error))
        self.app.stdout.write(f"{text}\n")
        return code


def _code(outcome: Outcome, *, partial: bool) -> int:
    from agent.exit_codes import BUG, PARTIAL, REFUSED, TEMPORARY, code_of

    code = code_of(outcome)
    # An old report and a report with an unreadable row are partial answers, like a report with an unread source.
    return PARTIAL if partial and code not in (BUG, REFUSED, TEMPORARY) else code
