"""``stocktake adopt``: plan the move of this host's provider to a new identity, or plan to confirm a new store.

``--plan DIGEST --yes`` carries the plan out.
"""

from __future__ import annotations

import argparse

from agent.cmd.commands.base import DocumentCommand
from agent.usage_error import UsageError


class Adopt(DocumentCommand):
    """After a rename or a reinstallation: make uuid, names and record match again; --store: confirm a new store."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Return the parser with the arguments of the command."""
        parser = super().get_parser(prog_name)
        parser.add_argument(
            "--store", action="store_true", help="confirm this host's present store as the one that DISK_GB counts"
        )
        parser.add_argument("--plan", metavar="DIGEST", help="the digest of the plan that was shown; goes with --yes")
        parser.add_argument("--yes", action="store_true", help="carry out exactly that plan")
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> int:
        """Return the exit code: 0 nothing to adopt, 2 a source was unreachable, 3 a plan, 4 carried out, 5 refused.

        Raises UsageError unless --plan and --yes come together.
        """
        if parsed_args.yes != (parsed_args.plan is not None):
            raise UsageError("--plan DIGEST and --yes go together: print the plan first, then name its digest")
        return self._of_the_store(parsed_args) if parsed_args.store else self._of_the_identity(parsed_args)

    def _of_the_identity(self, parsed_args: argparse.Namespace) -> int:
        from agent.cmd.adopt_run import adopt_document, adopt_lines, adopted, code_of

        run = adopted(self.app.options, parsed_args.plan)
        if run is not None:
            document = adopt_document(run)
            self.answer(parsed_args.format, tuple(adopt_lines(document)), document)
        return code_of(run)

    def _of_the_store(self, parsed_args: argparse.Namespace) -> int:
        from agent.cmd.adopt_store_run import code_of, document_of, store_adopted, store_lines

        run = store_adopted(self.app.options, parsed_args.plan)
        if run is not None:
            document = document_of(run)
            self.answer(parsed_args.format, tuple(store_lines(document)), document)
        return code_of(run)
