"""Parse a command line with argparse. A mistake raises UsageError, which suggests the most similar option.

argparse itself would print a usage text to stderr and exit with code 2. In this program, code 2 means a partial audit.
cliff's own parser would add a text about plug-ins to each help text, so this program does not use that parser.
"""

from __future__ import annotations

import argparse
import difflib
import shutil
import textwrap
from collections.abc import Sequence
from typing import Any, NoReturn

from cliff.command import Command

from agent.cmd.command_line.help_texts import epilog_of
from agent.cmd.command_line.hints import meant
from agent.usage_error import UsageError

_NARROWEST = 40


class Parser(argparse.ArgumentParser):
    """A parser that raises UsageError instead of exiting."""

    def error(self, message: str) -> NoReturn:
        """Raise UsageError with argparse's message and the help command that lists the valid arguments."""
        raise UsageError(f"{message} (see {self.prog} --help)")

    def parse_args(self, args: Sequence[str] | None = None, namespace: Any = None) -> Any:  # type: ignore[override]  # noqa: ANN401 - argparse's own
        """Return the parsed arguments. Raises UsageError on an argument that the command does not have."""
        parsed, unknown = self.parse_known_args(args, namespace)
        if unknown:
            self.error(self._unknown(unknown))
        return parsed

    def _unknown(self, words: Sequence[str]) -> str:
        option = next((word for word in words if word.startswith("-")), None)
        named = f"unexpected argument {' '.join(words)}" if option is None else f"unknown option {option}"
        near = meant(self.prog.partition(" ")[2], words)
        if near is None and option is not None:
            near = nearest_option(option, tuple(self._option_string_actions))
        return named + (f": did you mean {near}?" if near else "")


class HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """Keeps the line breaks of the examples and exit codes, and wraps other texts at the terminal's width."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=30, width=help_width())


class ParserOwner(Command):
    """Base class that makes a command's parser.

    In a command's class, name cliff's base classes first: their ``get_parser`` calls the one of this class and adds
    options.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Return a parser without arguments, but with the command's description, examples and exit codes."""
        return Parser(
            description=textwrap.fill(" ".join(self.get_description().split()), help_width()),
            epilog=epilog_of(prog_name.partition(" ")[2]),
            prog=prog_name,
            formatter_class=HelpFormatter,
        )


def nearest_option(typed: str, known: Sequence[str]) -> str | None:
    """Return the known option that is most similar to the typed word; None if no option is similar."""
    near = difflib.get_close_matches(typed.partition("=")[0], known, n=1)
    return near[0] if near else None


def help_width() -> int:
    """Return the width of a help text in columns: the terminal's width, but at least 40 and at most 120."""
    return max(_NARROWEST, min(120, shutil.get_terminal_size((100, 24)).columns))
