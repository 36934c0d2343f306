"""Show the messages of ``watch``: a redrawn table on a terminal, lines in a pipe, one final table with ``--once``."""

from __future__ import annotations

import json
import shutil
from typing import TextIO

from agent.bus.fleet import HostSeen, host_seen, line, silence_line, table
from agent.cmd.commands.base import JSON
from agent.cmd.exit_handling import to_stderr
from agent.errors import SourceInconsistent

#: The escape sequences that move the cursor to the top left corner and clear the screen from there.
HOME = "\x1b[H\x1b[J"
SMALLEST_GAP_S = 0.5
#: The maximum number of different errors about malformed messages that a screen reports.
MOST_COMPLAINTS = 100


class Screen:
    """Stores each host's last state; subclasses print it. ``show`` runs at each message, ``draw`` about each second."""

    def __init__(self, out: TextIO) -> None:
        self.out = out
        self.fleet: dict[str, HostSeen] = {}
        self._odd: set[str] = set()

    def received(self, document: object, received_at: float) -> None:
        """Store one message. If it is not a host's state, report the error on stderr, each different error once."""
        try:
            seen = host_seen(document, received_at)
        except SourceInconsistent as error:
            if error.message not in self._odd and len(self._odd) < MOST_COMPLAINTS:
                self._odd.add(error.message)
                to_stderr(str(error))
            return
        self.fleet[seen.host] = seen
        self.show(document, seen)

    def show(self, document: object, seen: HostSeen) -> None:
        """Show one valid message. Does nothing in this base class."""

    def draw(self, now: float) -> None:
        """Redraw the screen; ``now`` is the present monotonic time in seconds. Does nothing in this base class."""

    def end(self, now: float) -> None:
        """Show the result of ``watch --once`` after the last agent has answered. Does nothing in this base class."""


class Lines(Screen):
    """Prints one line per message, and one line when a host has stopped sending messages."""

    def __init__(self, out: TextIO) -> None:
        super().__init__(out)
        self._silent: set[str] = set()

    def show(self, document: object, seen: HostSeen) -> None:  # noqa: ARG002 - the base's
        """Write the message's line and flush, so that the reader of the pipe gets it at once."""
        self._silent.discard(seen.host)
        _write(self.out, line(seen))

    def draw(self, now: float) -> None:
        """Write one line for each host that has gone silent since the last call."""
        for seen in sorted(self.fleet.values(), key=lambda seen: seen.host):
            if seen.is_silent(now) and seen.host not in self._silent:
                self._silent.add(seen.host)
                _write(self.out, silence_line(seen, now))


class JsonLines(Screen):
    """Prints each message, with all its keys, as one line of JSON."""

    def show(self, document: object, seen: HostSeen) -> None:
        """Write the message and flush. If the message contains NaN or Infinity, report an error on stderr instead.

        JSON has no NaN and no Infinity, but the JSON libraries of the sender and of the receiver may accept them.
        """
        try:
            text = json.dumps(document, allow_nan=False)
        except ValueError as error:
            to_stderr(f"{seen.host} sent a message that cannot be printed as JSON: {error}")
        else:
            _write(self.out, text)


class Table(Screen):
    """Prints the table of all hosts once, when ``watch --once`` has asked all agents and the last one has answered."""

    def end(self, now: float) -> None:
        """Write the table, or nothing if no agent answered."""
        if self.fleet:
            _write(self.out, *table(self.fleet.values(), now))


class Terminal(Screen):
    """Redraws the table of all hosts in the same place of a terminal."""

    def __init__(self, out: TextIO) -> None:
        super().__init__(out)
        self._drawn_at = float("-inf")

    def draw(self, now: float) -> None:
        """Draw as many hosts as fit on the terminal, at most twice a second."""
        if now - self._drawn_at < SMALLEST_GAP_S:
            return
        self._drawn_at = now
        size = shutil.get_terminal_size((120, 24))
        shown = table(self.fleet.values(), now)
        silent = sum(seen.is_silent(now) for seen in self.fleet.values())
        room = max(2, size.lines - 3)
        more = f", {len(shown) - room} more below" if len(shown) > room else ""
        head = f"{len(self.fleet)} hosts, {silent} silent{more} (Ctrl-C ends)"
        self.out.write(HOME + "".join(f"{row[: size.columns]}\n" for row in (head, *shown[:room])))
        self.out.flush()


def screen_for(form: str, out: TextIO, *, once: bool) -> Screen:
    """Return the screen for the output format ``form`` and the output stream ``out``."""
    if form == JSON:
        return JsonLines(out)
    if once:
        return Table(out)
    return Terminal(out) if out.isatty() else Lines(out)


def _write(out: TextIO, *lines: str) -> None:
    out.write("".join(f"{line}\n" for line in lines))
    out.flush()
