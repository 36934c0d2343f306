"""``stocktake adopt``: move this host's provider to a new identity; with the digest and --yes, exactly that plan."""

from __future__ import annotations

import argparse

from agent.cmd.commands.base import DocumentCommand
from agent.cmd.usage import UsageError


class Adopt(DocumentCommand):
    """After a rename or a reinstallation: bring uuid, names and record together again, allocations kept."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Arguments of the command."""
        parser = super().get_parser(prog_name)
        parser.add_argument("--plan", metavar="DIGEST", help="the digest of the plan that was shown; goes with --yes")
        parser.add_argument("--yes", action="store_true", help="carry out exactly that plan")
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> int:
        """0 nothing to adopt, 3 a plan, 4 carried out, 5 refused, 2 when libvirt or Placement was out of reach."""
        from agent.cmd.adopt_run import adopt_document, adopt_lines, adopted, code_of

        if parsed_args.yes != (parsed_args.plan is not None):
            raise UsageError("--plan DIGEST and --yes go together: look at the plan first, then name it")
        run = adopted(self.app.options, parsed_args.plan)
        if run is not None:
            document = adopt_document(run)
            self.answer(parsed_args.format, tuple(adopt_lines(document)), document)
        return code_of(run)
