"""Run ``stocktake watch``: connect to the brokers, then redraw the screen, print a stream of lines, or print once."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TextIO

from agent.cmd.exit_handling import to_stderr
from agent.cmd.waits.caller import Watch
from agent.cmd.watching.live import LiveScreen, keyboard_of
from agent.cmd.watching.once import Round, one_round
from agent.cmd.watching.page_file import page_kept
from agent.cmd.watching.setup import Cell, Receivers, Watched, watched
from agent.cmd.watching.stream import CsvLines, JsonLines, Lines, Printer, Stream
from agent.cmd.watching.ui import Ui
from agent.fleet.ordering import Choice
from agent.render.layout import Look

#: Maximum seconds to wait until each broker has accepted or refused the connection. Each single step of connecting has
#: a shorter limit of its own.
CONNECT_S = 30.0
#: After the live screen, stderr names at most this many senders of unreadable messages and counts the others.
MOST_ODD = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What the operator asked for. ``once_s``: the time-out of ``--once``; None if ``--once`` was not passed.

    ``page`` is the file for the page of the fleet: ``-`` means stdout, None means that no page is written. ``waiting``
    shows on stderr what the command waits for.
    """

    cells: tuple[Cell, ...]
    expected: str | None
    form: str
    choice: Choice
    once_s: float | None
    fail_on: frozenset[str]
    look: Look
    waiting: Watch
    page: str | None = None


def run(wanted: Wanted, out: TextIO) -> int:
    """Receive the hosts' messages from the message bus and show them; return the exit code.

    Raises ConfigError and UsageError, and SourceUnavailable if no broker accepts the connection.
    """
    if wanted.once_s is not None:
        todo = Round(
            form=wanted.form,
            choice=wanted.choice,
            timeout_s=wanted.once_s,
            fail_on=wanted.fail_on,
            look=wanted.look,
            waiting=wanted.waiting,
            page=wanted.page,
        )
        with _connected(wanted, _QUIET) as found:
            return one_round(found, todo, out)
    if wanted.form == "table" and out.isatty() and os.environ.get("TERM") != "dumb":
        return _live(wanted, out)
    stream = Stream(_PRINTERS[wanted.form](out), out)
    receivers = Receivers(listen=stream.listener, complain=to_stderr, told=to_stderr)
    with _connected(wanted, receivers) as found, page_kept(wanted.page, found):
        return stream.run(found)


_PRINTERS: Mapping[str, Callable[[TextIO], Printer]] = MappingProxyType(
    {"table": Lines, "json": JsonLines, "csv": CsvLines}
)
#: Prints nothing when a host's message arrives: the live screen and the output of --once show all hosts together.
_QUIET = Receivers(listen=lambda _cell: None, complain=None, told=None)


def _live(wanted: Wanted, out: TextIO) -> int:
    with _connected(wanted, _QUIET) as found:
        screen = LiveScreen(found, Ui(choice=wanted.choice), out, keyboard_of(sys.stdin), wanted.look)
        with page_kept(wanted.page, found):
            code = screen.run()
        _report_odd(found)
    return code


@contextlib.contextmanager
def _connected(wanted: Wanted, receivers: Receivers) -> Iterator[Watched]:
    """Wait until every broker has accepted or refused the connection; then yield the cells.

    Raises SourceUnavailable if all brokers refused.
    """
    with watched(wanted.cells, wanted.expected, receivers) as made:
        with wanted.waiting(f"the message bus ({made.brokers})", CONNECT_S):
            made.connect(CONNECT_S)
        yield made


def _report_odd(found: Watched) -> None:
    """Report on stderr which senders' messages could not be read: the screen shows only the number of senders."""
    odd = {sender: problem for cell in found.cells for sender, problem in cell.odd.items()}
    for sender, problem in list(odd.items())[:MOST_ODD]:
        to_stderr(f"{sender}: {problem}")
    if len(odd) > MOST_ODD:
        to_stderr(f"and {len(odd) - MOST_ODD} more senders of messages that this program cannot read")
