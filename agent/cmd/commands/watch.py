"""``stocktake watch``: the state of all hosts, live, from the messages that the agents send over the broker."""

from __future__ import annotations

import argparse
import contextlib
from typing import TYPE_CHECKING

from agent.cmd.commands.base import JSON, TABLE, TEXT, BaseCommand, argument

if TYPE_CHECKING:
    from agent.cmd.watching.setup import Cell

#: The default of ``--timeout``: the seconds that ``--once`` waits for the first answer of a host.
TIMEOUT_S = 5.0
#: ``--once`` ends after this many seconds without a further answer. This is a copy of SETTLED_S in
#: agent/cmd/watching/once.py: an import of that module would be slow.
SETTLED_S = 2.0
LONGEST_S = 86_400
CSV = "csv"
FAIL_ON = ("error", "warning", "partial", "silent", "never", "held-back")


def _seconds(text: str) -> float:
    with contextlib.suppress(ValueError):
        seconds = float(text)
        if 0 < seconds <= LONGEST_S:
            return seconds
    raise argparse.ArgumentTypeError(f"{text} is not a number of seconds above 0 and at most {LONGEST_S}")


def _fail_on(text: str) -> frozenset[str]:
    words = frozenset(word.strip() for word in text.split(","))
    if unknown := sorted(words - set(FAIL_ON)):
        raise argparse.ArgumentTypeError(f"unknown condition {', '.join(unknown)}; known are {', '.join(FAIL_ON)}")
    return words


def _cell(text: str) -> tuple[str, str]:
    name, separator, path = text.partition("=")
    if not (separator and name and path and name.isprintable() and " " not in name):
        raise argparse.ArgumentTypeError(f"{text} is not NAME=FILE")
    return name, path


class Watch(BaseCommand):
    """Show all hosts live, the worst first.

    On a terminal, the command redraws the table and obeys keys. Into a pipe, it writes one line per message.
    """

    ARGUMENTS = (
        argument(
            "-f",
            "--format",
            choices=(TABLE, JSON, CSV, TEXT),
            default=TABLE,
            help="table (the default; text is another name for it); json: one object for each message of a host, "
            "or one object with --once; csv: one row per host",
        ),
        argument("--all", action="store_true", help="show all hosts, also those without findings"),
        argument(
            "--once",
            action="store_true",
            help="request the state of all hosts from their agents, print it, and exit. Exit code 2: no agent answered",
        ),
        argument(
            "--timeout",
            type=_seconds,
            default=TIMEOUT_S,
            metavar="S",
            help=f"with --once: seconds to wait for the first answer (default {TIMEOUT_S:g}). After the first answer, "
            f"the command ends as soon as no host has answered for {SETTLED_S:g} s",
        ),
        argument(
            "--fail-on",
            type=_fail_on,
            default=frozenset(),
            metavar="LIST",
            help=f"with --once: exit with 3 if one of these conditions holds for any host: {','.join(FAIL_ON)}",
        ),
        argument(
            "--expected",
            metavar="WHERE",
            help="which hosts should send messages: 'nova' for the hosts of nova's compute services (the default, "
            "except with [state] source = none), 'none' for no list of hosts, or a file with one host per line, "
            "optionally followed by the host's group",
        ),
        argument(
            "--cell",
            type=_cell,
            action="append",
            default=[],
            metavar="NAME=FILE",
            help="watch the cell NAME; the configuration file FILE names the cell's message broker and the source of "
            "nova's data (repeatable)",
        ),
        argument(
            "--html",
            metavar="FILE",
            help="also write the fleet's page to FILE every 60 s, or once with --once; only the owner of FILE may read "
            "FILE. With --once, FILE may be a dash (-) for stdout: the page then replaces the table",
        ),
    )

    def take_action(self, parsed_args: argparse.Namespace) -> int:
        """Show the messages until the operator ends the command, and return the exit code.

        With --once, show the messages once. Raises UsageError. Raises ConfigError if transport_url is not set. Raises
        SourceUnavailable (exit code 75) if no broker can be reached.
        """
        from agent.cmd.waits.progress import waits_shown
        from agent.cmd.watching.run import Wanted, run
        from agent.fleet.ordering import Choice
        from agent.usage_error import UsageError

        if parsed_args.fail_on and not parsed_args.once:
            raise UsageError("--fail-on needs --once")
        if parsed_args.html == "-" and not parsed_args.once:
            raise UsageError("--html - (write to stdout) needs --once")
        with waits_shown(self.app.options) as waiting:
            wanted = Wanted(
                cells=self._cells(parsed_args),
                expected=parsed_args.expected,
                form=TABLE if parsed_args.format == TEXT else parsed_args.format,
                choice=Choice(with_quiet=parsed_args.all),
                once_s=parsed_args.timeout if parsed_args.once else None,
                fail_on=parsed_args.fail_on,
                look=self.look(),
                waiting=waiting,
                page=parsed_args.html,
            )
            return run(wanted, self.app.stdout)

    def _cells(self, parsed_args: argparse.Namespace) -> tuple[Cell, ...]:
        """Return the cells that the command line names, else the one cell of the host's own configuration."""
        from agent.cmd.logs import setup_command_logging
        from agent.cmd.watching.setup import Cell
        from agent.config.load import load
        from agent.config.traced_conf import set_override
        from agent.usage_error import UsageError

        options = self.app.options
        if parsed_args.cell and (options.config_file or options.config_dir):
            raise UsageError("--cell names the configuration file: leave out --config-file and --config-dir")
        names = [name for name, _ in parsed_args.cell]
        if len(names) > len(set(names)):
            raise UsageError("each --cell needs a name of its own")
        cells = [Cell(name=name, loaded=load([path])) for name, path in parsed_args.cell]
        cells = cells or [Cell(name="", loaded=load(options.config_file, options.config_dir))]
        for cell in cells:
            if options.debug:
                set_override(cell.loaded.conf, "DEFAULT", "debug", True)  # noqa: FBT003 - an option's value
        setup_command_logging(cells[0].loaded)
        return tuple(cells)
