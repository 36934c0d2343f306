"""``stocktake complete``: a bash script that completes the commands and options of this program."""

from __future__ import annotations

import argparse

from cliff.complete import CompleteBash, CompleteDictionary, CompleteNoCode

from agent.cmd.commands.base import BaseCommand, argument

_SHELLS = {"bash": CompleteBash, "none": CompleteNoCode}


class Complete(BaseCommand):
    """Print a bash script that completes the commands and options of this program."""

    ARGUMENTS = (
        argument("--name", metavar="COMMAND", help="the name under which the program is called (default: stocktake)"),
        argument("--shell", choices=sorted(_SHELLS), default="bash", help="none prints only the words, without code"),
    )

    def take_action(self, parsed_args: argparse.Namespace) -> int:
        """Print the script and return 0."""
        words = CompleteDictionary()
        for name, entry in self.app.command_manager:
            parser = entry.load()(self.app, None).get_parser(f"{self.app.NAME} {name}")
            words.add_command(name.split(), parser._get_optional_actions())
        shell = _SHELLS[parsed_args.shell](parsed_args.name or self.app.NAME, self.app.stdout)
        shell.write(words.get_commands(), words.get_data())
        return 0
