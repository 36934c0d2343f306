"""``stocktake audit``: run one audit and print its findings; with --publish the audit also writes to Placement."""

from __future__ import annotations

import argparse

from agent.cmd.commands.base import DocumentCommand, argument
from agent.cmd.commands.reporting import LAST, ReportingCommand


class Audit(ReportingCommand, DocumentCommand):
    """Run one audit and print its sources, its findings and its planned writes."""

    ARGUMENTS = (
        argument(
            "--publish",
            action="store_true",
            help="also write to Placement, as the daemon does, if [agent] role allows it",
        ),
        LAST,
    )

    def take_action(self, parsed_args: argparse.Namespace) -> int:
        """Return the audit's exit code (agent/exit_codes.py).

        Raises NoDocument (exit code 75) if not enough sources could be read, UsageError on --publish with --last.
        """
        from agent.exit_codes import exit_code
        from agent.model.audit import Publish
        from agent.render.audit_text import audit_blocks
        from agent.render.reading_order import names_of
        from agent.usage_error import UsageError

        if parsed_args.publish and parsed_args.last:
            raise UsageError("--publish needs a new audit, and --last runs none: leave out --last")
        publish = Publish.BY_ROLE if parsed_args.publish else Publish.NEVER
        report = self.report_of(parsed_args, "audit", publish)
        document = self.audit_document(report)
        self.answer(parsed_args.format, audit_blocks(document, names_of(report)), document)
        return exit_code(report)
