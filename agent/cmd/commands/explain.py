"""``stocktake explain RC|CONSUMER``: how the numbers of a class are computed, or all facts about one consumer."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from agent.cmd.commands.base import DocumentCommand, argument

if TYPE_CHECKING:
    from agent.model.report import AuditReport
    from agent.render.explain import Explanation


class Explain(DocumentCommand):
    """The arithmetic behind one resource class or one consumer, in words, with sources."""

    ARGUMENTS = (
        argument(
            "what",
            metavar="RC|CONSUMER",
            help="a resource class (VCPU, MEMORY_MB, DISK_GB), or the uuid of an instance, migration or guest,"
            " or a volume as GROUP/NAME",
        ),
    )

    def take_action(self, parsed_args: argparse.Namespace) -> int:
        """Return the audit's exit code (agent/exit_codes.py).

        Raises UsageError (127) on an unknown class or consumer.
        """
        from agent.cmd.audited import audited
        from agent.render.explain_json import document
        from agent.render.explain_text import lines

        report, code = audited(self.app.options, "explain")
        explanation = _explained(report, parsed_args.what) if report else None
        if explanation is not None:
            self.answer(parsed_args.format, lines(explanation), document(explanation))
        return code


def _explained(report: AuditReport, what: str) -> Explanation | None:
    """Return the explanation, or None if the audit did not find the consumer but an unread source may have it."""
    from agent.cmd.validate_names import require_class, require_consumer
    from agent.render.explain import explain_class, explain_consumer, is_class_name
    from agent.resources import owned

    if is_class_name(what, report):
        return explain_class(report, require_class(report, what), owned)
    return explain_consumer(report, what, owned) if require_consumer(report, what) else None
