"""``stocktake status``: show the daemon's last report from the report file; it works while all services are down."""

from __future__ import annotations

import argparse
import datetime
from typing import TYPE_CHECKING

from agent.cmd.commands.base import DocumentCommand

if TYPE_CHECKING:
    from agent.model.report import Outcome


class Status(DocumentCommand):
    """The daemon's last audit report: its age, sources, findings, and free amounts per class."""

    def take_action(self, parsed_args: argparse.Namespace) -> int:
        """Return the last audit's exit code. Raises AgentError (75) if there is no readable report.

        If the report is stale or has unreadable rows, the codes 0 and 3 become 2.
        """
        from agent.cmd.exit_handling import to_stderr
        from agent.config.build import agent_options_from
        from agent.config.load import load
        from agent.host_files.reports import read_report, report_path
        from agent.render.status import last_report, stale_line, status_blocks, status_document

        options = agent_options_from(load(self.app.options.config_file, self.app.options.config_dir))
        now = datetime.datetime.now(datetime.UTC).isoformat()
        path = report_path(options.run_dir)
        last = last_report(read_report(options.run_dir), path, now, options.interval_s)
        if last.is_stale:
            to_stderr(stale_line(last))
        for problem in last.problems:
            to_stderr(f"{path}: the answer leaves out an unreadable row: {problem}")
        self.answer(parsed_args.format, status_blocks(last), status_document(last))
        return _code(last.outcome, partial=last.is_stale or bool(last.problems))


def _code(outcome: Outcome, *, partial: bool) -> int:
    from agent.exit_codes import BUG, PARTIAL, REFUSED, TEMPORARY, code_of

    code = code_of(outcome)
    # A stale report or an unreadable row gives the same exit code as a source that could not be read.
    return PARTIAL if partial and code not in (BUG, REFUSED, TEMPORARY) else code
