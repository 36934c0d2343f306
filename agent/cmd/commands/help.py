"""``stocktake help``: the help of one command; without a command, the list of all commands."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, cast

from agent.cmd.commands.base import BaseCommand, argument

if TYPE_CHECKING:
    from agent.cmd.shell import Shell


class Help(BaseCommand):
    """Print the help of one command, or the list of all commands."""

    ARGUMENTS = (
        argument(
            "words", nargs="*", metavar="COMMAND", help='the name of a command, such as "ledger" or "config show"'
        ),
    )

    def take_action(self, parsed_args: argparse.Namespace) -> int:
        """Print the help and return 0. Raises UsageError on an unknown command."""
        shell = cast("Shell", self.app)
        if not parsed_args.words:
            return shell.print_help(asked=True)
        command, name, _ = shell.found(parsed_args.words)
        command.get_parser(f"{shell.NAME} {name}").print_help(shell.stdout)
        return 0
