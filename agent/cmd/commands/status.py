"""``stocktake status``: show the daemon's last report from the report file; it works while all services are down."""

from __future__ import annotations

import argparse
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
        from agent.cmd.daemon_report import read_last
        from agent.render.status import status_blocks, status_document

        _, last = read_last(self.app.options)
        self.answer(parsed_args.format, status_blocks(last), status_document(last))
        return _code(last.outcome, partial=last.is_stale or bool(last.problems))


def _code(outcome: Outcome, *, partial: bool) -> int:
    from agent.exit_codes import BUG, PARTIAL, REFUSED, TEMPORARY, code_of

    code = code_of(outcome)
    # A stale report or an unreadable row gives the same exit code as a source that could not be read.
    return PARTIAL if partial and code not in (BUG, REFUSED, TEMPORARY) else code
