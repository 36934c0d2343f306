"""``stocktake heal``: plan repairs for confirmed findings; ``--plan DIGEST --yes`` carries out exactly that plan."""

from __future__ import annotations

import argparse

from agent.cmd.commands.base import APPROVAL, DocumentCommand, approved_digest, argument
from agent.usage_error import UsageError


class Heal(DocumentCommand):
    """Repair confirmed findings. Without --yes only print the plan, its digest (for --plan), and refused repairs."""

    ARGUMENTS = (
        argument(
            "--finding",
            action="append",
            default=[],
            metavar="ID",
            help="repair only this finding (repeatable); the first 8 characters of its id suffice",
        ),
        argument(
            "--code",
            action="append",
            default=[],
            metavar="CODE",
            help="repair only findings with this code (repeatable); many findings need several plans: repeat the "
            "command until no change is left",
        ),
        *APPROVAL,
    )

    def take_action(self, parsed_args: argparse.Namespace) -> int:
        """Return the exit code (heal_code.py). Raises UsageError if only one of --plan and --yes is given."""
        from agent.cmd.changes.heal_code import code_of
        from agent.cmd.changes.heal_output import heal_document
        from agent.cmd.changes.heal_run import Ordered, healed
        from agent.cmd.changes.heal_text import Scenery, heal_blocks
        from agent.render.documents import finding_document
        from agent.render.reading_order import names_of

        if parsed_args.finding and parsed_args.code:
            raise UsageError("--finding and --code do not go together: name the findings, or their code")
        ordered = Ordered(
            ids=frozenset(parsed_args.finding), codes=frozenset(parsed_args.code), digest=approved_digest(parsed_args)
        )
        run = healed(self.app.options, ordered)
        document = heal_document(run)
        scenery = Scenery(
            findings={seen.finding.id: finding_document(seen) for seen in run.report.findings},
            names=names_of(run.report),
            now=run.report.started_at,
            is_named=bool(ordered.ids or ordered.codes),
        )
        self.answer(parsed_args.format, heal_blocks(document, scenery), document)
        return code_of(run)
