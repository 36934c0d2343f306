"""Run ``stocktake``, the operators' program: a cliff application with an explicit list of commands.

This module blocks eventlet before any oslo module can be imported. The application raises errors, and ``exit_handling``
turns them into exit codes: cliff itself would log the errors and exit with 1 or 2, which have other meanings in this
program. Nothing large is imported before a command runs, so that ``--help`` prints at once.
"""

from __future__ import annotations

import sys

sys.modules["eventlet"] = None  # type: ignore[assignment]  # any later import of eventlet fails

import argparse  # noqa: E402 - after eventlet is blocked
from collections.abc import Sequence  # noqa: E402
from typing import Any  # noqa: E402

from cliff.app import App  # noqa: E402
from cliff.command import Command  # noqa: E402

from agent.cmd.command_line.parser import HelpFormatter, Parser, nearest_option  # noqa: E402
from agent.cmd.exit_handling import PROGRAM, add_config_arguments, ended  # noqa: E402
from agent.cmd.registry import Commands, nearest, parts_of, summaries  # noqa: E402
from agent.cmd.terminal import escape_unencodable  # noqa: E402
from agent.exit_codes import BAD_ARGUMENTS, CLEAN  # noqa: E402
from agent.usage_error import UsageError  # noqa: E402

DESCRIPTION = "Audit this host: compare nova's database, the amounts in use on the host, and Placement's records."


class VersionAction(argparse.Action):
    """``--version``, which reads the version only when the option is used."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        """Print the version and exit."""
        import importlib.metadata

        # Write directly: parser.exit(message=…) would write the version to stderr.
        sys.stdout.write(f"{PROGRAM} {importlib.metadata.version('stocktake')}\n")
        parser.exit(CLEAN)


class Shell(App):
    """The application: global options, help, and the command that the operator typed."""

    NAME = PROGRAM

    def __init__(self) -> None:
        super().__init__(DESCRIPTION, None, Commands(), deferred_help=True)

    def build_option_parser(
        self,
        description: str | None,
        version: str | None,  # noqa: ARG002 - cliff's signature
        argparse_kwargs: dict[str, Any] | None = None,  # noqa: ARG002
    ) -> argparse.ArgumentParser:
        """Return the parser of the global options, which the operator may give before or after the command."""
        parser = Parser(
            prog=PROGRAM,
            description=description,
            add_help=False,
            allow_abbrev=False,
            formatter_class=HelpFormatter,
        )
        parser.usage = f"{PROGRAM} [--config-file FILE] [--config-dir DIR] [--no-color] [--debug] [--quiet] COMMAND ..."
        parser.add_argument(
            "-h", "--help", action="store_true", dest="help", help="print this text, or the help of the command"
        )
        parser.add_argument("--version", action=VersionAction, nargs=0, help="print the version")
        add_config_arguments(parser)
        quiet = "print nothing on stderr while the command waits for a source"
        parser.add_argument("--quiet", action="store_true", help=quiet)
        parser.add_argument(
            "--no-color", action="store_true", help="print text without colours, as with NO_COLOR in the environment"
        )
        parser.add_argument("--debug", action="store_true", help="log everything to stderr, with tracebacks")
        return parser

    def run(self, argv: list[str]) -> int:
        """Run the command and return its exit code. Raises UsageError, ConfigError and every error of a command."""
        self.options, words = self.parser.parse_known_args(argv)
        if not words:
            return self.print_help(asked=bool(self.options.help))
        return self.run_subcommand(words)

    def run_subcommand(self, argv: list[str]) -> int:
        """Find the command, parse its own arguments, run the command and return its exit code."""
        command, name, arguments = self.found(argv)
        parser = command.get_parser(f"{PROGRAM} {name}")
        return int(command.run(parser.parse_args(["--help"] if self.options.help else arguments)))

    def found(self, words: list[str]) -> tuple[Command, str, list[str]]:
        """Split the words into the command's name and its arguments; return (command, name, arguments).

        Raises UsageError if no command has such a name.
        """
        try:
            factory, name, arguments = self.command_manager.find_command(words)
        except ValueError:
            raise UsageError(self._unknown(words)) from None
        # Pass no command name: with a name, cliff would search every distribution for plug-ins of the command.
        return factory(self, self.options), name, arguments

    def print_help(self, *, asked: bool) -> int:
        """Print the global options and the list of commands (to stderr if the operator typed no command).

        Return the exit code.
        """
        out = sys.stdout if asked else sys.stderr
        self.parser.print_help(out)
        out.write(f"\ncommands:\n{summaries()}\n{PROGRAM} help COMMAND prints the help of one command\n")
        return CLEAN if asked else BAD_ARGUMENTS

    def _unknown(self, words: Sequence[str]) -> str:
        if words[0].startswith("-"):
            near = nearest_option(words[0], tuple(self.parser._option_string_actions))
            hint = f": did you mean {near}?" if near else ""
            return f"unknown option {words[0]}{hint} ({PROGRAM} --help lists the options)"
        parts = parts_of(words[0])
        if parts and not words[1:]:
            return f"{PROGRAM} {words[0]} needs one of its commands: {', '.join(parts)}"
        near_command = nearest(words)
        hint = f": did you mean {near_command}?" if near_command else ""
        shown = " ".join(words[:2] if parts else words[:1])
        return f"unknown command {shown}{hint} ({PROGRAM} --help lists the commands)"


def main(argv: Sequence[str] | None = None) -> int:
    """Run the program ``stocktake`` (entry point of the console script).

    Return one of the codes of agent/exit_codes.py.
    """
    escape_unencodable(sys.stdout, sys.stderr)
    words = list(sys.argv[1:] if argv is None else argv)
    return ended(lambda: Shell().run(words), words)


if __name__ == "__main__":
    sys.exit(main())
