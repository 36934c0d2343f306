"""``stocktake heal``: plan repairs for confirmed findings; ``--plan DIGEST --yes`` carries out exactly that plan."""

from __future__ import annotations

import argparse

from agent.cmd.commands.base import DocumentCommand
from agent.usage_error import UsageError


class Heal(DocumentCommand):
    """Repair confirmed findings: without --yes print the plan, what is left alone and why, and the plan's digest."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Return the parser with the arguments of the command."""
        parser = super().get_parser(prog_name)
        parser.add_argument(
            "--finding",
            action="append",
            default=[],
            metavar="ID",
            help="only the finding with this id (may be repeated)",
        )
        parser.add_argument("--plan", metavar="DIGEST", help="the digest of the plan that was shown; goes with --yes")
        parser.add_argument("--yes", action="store_true", help="carry out exactly that plan")
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> int:
        """Return the exit code (agent/exit_codes.py): 4 all findings repaired, 5 a guard rail or the digest refuses.

        Raises UsageError unless --plan and --yes come together.
        """
        from agent.cmd.heal_output import heal_document, heal_lines
        from agent.cmd.heal_run import Ordered, code_of, healed
        from agent.model.report import Outcome

        if parsed_args.yes != (parsed_args.plan is not None):
            raise UsageError("--plan DIGEST and --yes go together: print the plan first, then name its digest")
        run = healed(self.app.options, Ordered(ids=frozenset(parsed_args.finding), digest=parsed_args.plan))
        if run.report.outcome is not Outcome.UNREADABLE:
            document = heal_document(run)
            self.answer(parsed_args.format, tuple(heal_lines(document)), document)
        return code_of(run)
