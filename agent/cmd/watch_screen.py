"""How ``watch`` shows what it hears: drawn anew on a terminal, a line a message in a pipe, a table after one round."""

from __future__ import annotations

import json
import shutil
from typing import TextIO

from agent.bus.fleet import HostSeen, host_seen, line, silence_line, table
from agent.cmd.commands.base import JSON
from agent.cmd.exit_handling import say
from agent.errors import SourceInconsistent

#: Cursor home, and clear to the end of the screen.
HOME = "\x1b[H\x1b[J"
SMALLEST_GAP_S = 0.5
#: Kinds of messages that are complained about.
MOST_COMPLAINTS = 100


class Screen:
    """What has been heard, and how it is shown: ``draw`` after each second, ``tell`` at each message."""

    def __init__(self, out: TextIO) -> None:
        self.out = out
        self.fleet: dict[str, HostSeen] = {}
        self._odd: set[str] = set()

    def heard(self, document: object, received_at: float) -> None:
        """One message; what is not a host's state is said once on stderr."""
        try:
            seen = host_seen(document, received_at)
        except SourceInconsistent as error:
            if error.message not in self._odd and len(self._odd) < MOST_COMPLAINTS:
                self._odd.add(error.message)
                say(str(error))
            return
        self.fleet[seen.host] = seen
        self.tell(document, seen)

    def tell(self, document: object, seen: HostSeen) -> None:
        """A message that can be shown."""

    def draw(self, now: float) -> None:
        """Time has passed."""

    def end(self, now: float) -> None:
        """The round is over."""


class Lines(Screen):
    """One line a message, and one where a host goes silent."""

    def __init__(self, out: TextIO) -> None:
        super().__init__(out)
        self._silent: set[str] = set()

    def tell(self, document: object, seen: HostSeen) -> None:  # noqa: ARG002 - the base's
        """At once, for whoever reads the pipe."""
        self._silent.discard(seen.host)
        _write(self.out, line(seen))

    def draw(self, now: float) -> None:
        """Those that have gone silent since."""
        for seen in sorted(self.fleet.values(), key=lambda seen: seen.host):
            if seen.is_silent(now) and seen.host not in self._silent:
                self._silent.add(seen.host)
                _write(self.out, silence_line(seen, now))


class JsonLines(Screen):
    """Each message as it came, on one line."""

    def tell(self, document: object, seen: HostSeen) -> None:
        """At once; a number that JSON has not came by a reader that is less strict, and is not passed on."""
        try:
            text = json.dumps(document, allow_nan=False)
        except ValueError as error:
            say(f"{seen.host}: a message that is not JSON: {error}")
        else:
            _write(self.out, text)


class Table(Screen):
    """The round's table, at its end."""

    def end(self, now: float) -> None:
        """Nothing where nobody answered."""
        if self.fleet:
            _write(self.out, *table(self.fleet.values(), now))


class Terminal(Screen):
    """The table, drawn anew in the same place."""

    def __init__(self, out: TextIO) -> None:
        super().__init__(out)
        self._drawn_at = float("-inf")

    def draw(self, now: float) -> None:
        """As many hosts as there is room for, twice a second at most."""
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
    """The one for this format and this place."""
    if form == JSON:
        return JsonLines(out)
    if once:
        return Table(out)
    return Terminal(out) if out.isatty() else Lines(out)


def _write(out: TextIO, *lines: str) -> None:
    out.write("".join(f"{line}\n" for line in lines))
    out.flush()
