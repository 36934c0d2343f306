"""``stocktake audit``: run one audit and print its findings; with --publish the audit also writes to Placement."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from agent.cmd.commands.base import DocumentCommand, argument, terminal_width


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
        from agent.render.documents import Document, audit_document

        publish = Publish.BY_ROLE if parsed_args.publish else Publish.NEVER
        report = audited(self.app.options, "audit", publish)
        document: Document = audit_document(report)
        self.answer(parsed_args.format, tuple(_lines(document)), document)
        return exit_code(report)


def _lines(document: dict[str, object]) -> Iterator[str]:
    from agent.render.audit_text import finding_table, head_lines, plan_lines

    findings = document["findings"]
    yield from head_lines(document)
    if isinstance(findings, list):
        yield from finding_table(findings, terminal_width())
    plan = document["plan"]
    if isinstance(plan, dict):
        yield from plan_lines(plan, terminal_width())
