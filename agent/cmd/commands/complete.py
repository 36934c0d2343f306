"""``stocktake complete``: a script that completes commands, options and finding codes in bash, zsh or fish."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, cast

from cliff.complete import CompleteDictionary, CompleteNoCode

from agent.cmd.commands.base import BaseCommand, argument
from agent.cmd.completion.bash import bash_script
from agent.cmd.completion.fish import fish_script
from agent.cmd.completion.words import CommandWords, ProgramWords, operands_of, options_of
from agent.cmd.completion.zsh import zsh_script

if TYPE_CHECKING:
    from agent.cmd.shell import Shell

_SCRIPTS: Mapping[str, Callable[[str, ProgramWords], str]] = {
    "bash": bash_script,
    "fish": fish_script,
    "zsh": zsh_script,
}
_WORDS_ONLY = "none"


class Complete(BaseCommand):
    """Print a script that completes the commands, options and finding codes of this program in a shell."""

    ARGUMENTS = (
        argument("--name", metavar="PROGRAM", help="the name under which the program is called (default: stocktake)"),
        argument(
            "--shell",
            choices=sorted((*_SCRIPTS, _WORDS_ONLY)),
            default="bash",
            help='the shell (default: bash); "none" prints the words that a shell can complete, and no shell code',
        ),
    )

    def take_action(self, parsed_args: argparse.Namespace) -> int:
        """Print the script and return 0."""
        name = parsed_args.name or self.app.NAME
        if parsed_args.shell == _WORDS_ONLY:
            self._print_words(name)
        else:
            self.app.stdout.write(_SCRIPTS[parsed_args.shell](name, program_words(cast("Shell", self.app))))
        return 0

    def _print_words(self, program: str) -> None:
        words = CompleteDictionary()
        for name, entry in self.app.command_manager:
            parser = entry.load()(self.app, None).get_parser(f"{self.app.NAME} {name}")
            words.add_command(name.split(), parser._get_optional_actions())
        CompleteNoCode(program, self.app.stdout).write(words.get_commands(), words.get_data())


def program_words(shell: Shell) -> ProgramWords:
    """Return all words that a shell can complete: the words of the commands' parsers, and the finding codes."""
    from agent.cmd.registry import COMMANDS
    from agent.findings import BUILTIN

    codes = tuple(sorted(rule.code for rule in BUILTIN))
    names = tuple(entry.name for entry in COMMANDS)
    commands = []
    for entry in COMMANDS:
        parser = entry.load()(shell, None).get_parser(f"{shell.NAME} {entry.name}")
        operands = operands_of(parser, codes, names)
        options = options_of(parser, codes)
        commands.append(CommandWords(name=entry.name, summary=entry.summary, options=options, operands=operands))
    return ProgramWords(options=options_of(shell.parser, codes), commands=tuple(commands))
