"""Print each message of the fleet when it arrives: one line of text, JSON or CSV, for a pipe."""

from __future__ import annotations

import contextlib
import csv
import datetime
import json
import time
from dataclasses import dataclass
from typing import Any, NoReturn, Protocol, TextIO

from agent.bus.listener import MessageQueue
from agent.cmd.command_line.failures import INTERRUPTED
from agent.cmd.exit_handling import to_stderr
from agent.cmd.watching.setup import Watched
from agent.cmd.watching.store import Listen
from agent.fleet.conditions import Condition
from agent.fleet.documents import COLUMNS, csv_row
from agent.fleet.host import HostSeen
from agent.fleet.lines import line, missing_line
from agent.fleet.view import HostRow, row_of_message

#: Seconds between two checks for hosts that have become silent or late.
LOOK_S = 2.0
MISSING = frozenset({Condition.SILENT, Condition.NEVER})


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """A valid message of one cell: the document as received, and the HostSeen that was read from the document."""

    cell: str
    document: Any
    seen: HostSeen


class Printer(Protocol):
    """Prints one format."""

    def message(self, heard: Heard) -> None:
        """Print one message."""

    def missing(self, row: HostRow) -> None:
        """Print once that a host has gone silent, or that an expected host has sent no message in time."""


class Lines:
    """Prints one line of text for each message, and one line when a host becomes silent."""

    def __init__(self, out: TextIO) -> None:
        self._out = out

    def message(self, heard: Heard) -> None:
        """See Printer."""
        self._out.write(f"{line(heard.seen, heard.cell)}\n")

    def missing(self, row: HostRow) -> None:
        """See Printer."""
        self._out.write(f"{missing_line(row)}\n")


class JsonLines:
    """Prints each message, with all its keys, as one line of JSON."""

    def __init__(self, out: TextIO) -> None:
        self._out = out

    def message(self, heard: Heard) -> None:
        """Print the message. If it contains NaN or Infinity, report an error on stderr instead.

        JSON has no NaN and no Infinity, but the JSON libraries of the sender and of the receiver may accept them.
        """
        try:
            text = json.dumps(heard.document, allow_nan=False)
        except ValueError as error:
            to_stderr(f"{heard.seen.host} sent a message that cannot be printed as JSON: {error}")
        else:
            self._out.write(f"{text}\n")

    def missing(self, row: HostRow) -> None:
        """Print nothing: a silent host has sent no message, and this format prints only messages."""


class CsvLines:
    """Prints a line with the columns' names, then a row for each message and for each silent or late host."""

    def __init__(self, out: TextIO) -> None:
        self._writer = csv.writer(out, lineterminator="\n")
        self._writer.writerow(COLUMNS)

    def message(self, heard: Heard) -> None:
        """See Printer."""
        self.missing(row_of_message(heard.cell, heard.seen, _utc_now()))

    def missing(self, row: HostRow) -> None:
        """See Printer."""
        self._writer.writerow(csv_row(row, _utc_now()))


class Stream:
    """Prints messages until the operator interrupts the program."""

    def __init__(self, printer: Printer, out: TextIO) -> None:
        self._printer = printer
        self._out = out
        self._waiting = MessageQueue()
        self._missing: set[tuple[str, str]] = set()

    def listener(self, cell: str) -> Listen:
        """Return the function that takes a cell's messages."""

        def listen(document: Any, seen: HostSeen) -> None:  # noqa: ANN401 - JSON values
            self._waiting.put(seen.received_at, Heard(cell=cell, document=document, seen=seen))

        return listen

    def run(self, watched: Watched) -> int:
        """Print each message that arrives until an interrupt (Ctrl-C); return the exit code.

        Each message is flushed, so that the reader of the pipe gets it at once. An interrupt is the usual end: the
        command prints nothing about it.
        """
        with contextlib.suppress(KeyboardInterrupt):
            self._print_forever(watched)
        return INTERRUPTED

    def _print_forever(self, watched: Watched) -> NoReturn:
        looked_at = time.monotonic()
        self._out.flush()
        while True:
            found = self._waiting.take(LOOK_S)
            while found is not None:
                heard: Heard = found[1]
                self._missing.discard((heard.cell, heard.seen.host))
                self._printer.message(heard)
                found = self._waiting.take(0)
            if time.monotonic() - looked_at >= LOOK_S:
                looked_at = time.monotonic()
                self._look(watched)
            self._out.flush()

    def _look(self, watched: Watched) -> None:
        """Print each host that has become silent or late since the last check."""
        for row in watched.view().rows:
            if row.condition in MISSING and row.key not in self._missing:
                self._missing.add(row.key)
                self._printer.missing(row)


def _utc_now() -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC)
