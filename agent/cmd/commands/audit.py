"""``stocktake audit``: run one audit and print its findings; with --publish the audit also writes to Placement."""

from __future__ import annotations

import argparse

from agent.cmd.commands.base import DocumentCommand, argument


class Audit(DocumentCommand):
    """Run one audit and print its sources, its findings and its planned writes."""

    ARGUMENTS = (
        argument("--publish", action="store_true", help="write to Placement what the role allows, as the daemon does"),
    )

    def take_action(self, parsed_args: argparse.Namespace) -> int:
        """Return the audit's exit code (agent/exit_codes.py). Raises NoDocument (75) if too little could be read."""
        from agent.cmd.audited import audited
        from agent.exit_codes import exit_code
        from agent.model.audit import Publish
        from agent.render.audit_text import audit_blocks
        from agent.render.documents import audit_document
        from agent.render.reading_order import names_of

        publish = Publish.BY_ROLE if parsed_args.publish else Publish.NEVER
        report = audited(self.app.options, "audit", publish)
        document = audit_document(report)
        self.answer(parsed_args.format, audit_blocks(document, names_of(report)), document)
        return exit_code(report)
