"""Say on stderr for which source a command waits, once the source has not answered for two seconds.

On a terminal, one line is rewritten twice a second and removed when the source answers. Elsewhere, for example in a log
file, each source gets one line. stdout gets nothing.
"""

from __future__ import annotations

import argparse
import contextlib
import enum
import math
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TextIO

from agent.cmd.waits.caller import Watch
from agent.text.wording import printable

AFTER_S = 2.0
#: The seconds between two updates of the line. The first line appears after AFTER_S seconds of waiting.
_TICK_S = 0.5
_PREFIX = "stocktake: "


class Form(enum.Enum):
    """How stderr shows that the command waits for a source."""

    ONE_LINE = "on a terminal: one line that is overwritten, and erased at the end"
    LINES = "one line for each source"
    NOTHING = "nothing"


def form_for(options: argparse.Namespace, out: TextIO) -> Form:
    """Return the form in which waits are shown on the stream ``out``; ``options`` are the global options."""
    if options.quiet:
        return Form.NOTHING
    return Form.ONE_LINE if out.isatty() else Form.LINES


@dataclass(frozen=True, slots=True)
class Wait:
    """One wait of the command: for which source, from when, and until when.

    ``what`` names the source, such as placement. ``began`` and ``ends`` are in monotonic seconds. ``ends`` is math.inf
    if the wait has no time-out.
    """

    what: str
    began: float
    ends: float

    def line(self, now: float) -> str:
        """Return the sentence about this wait; ``now`` is in monotonic seconds."""
        return self._sentence(self.what, now)

    def line_within(self, width: int, now: float) -> str:
        """Return the sentence about this wait in at most ``width`` columns, if necessary without the source's URL."""
        sentence = self._sentence(self.what, now)
        return sentence if len(sentence) <= width else self._sentence(self.what.partition(" (")[0], now)[:width]

    def _sentence(self, what: str, now: float) -> str:
        left_s = self.ends - now
        at_most = "" if math.isinf(left_s) else f", at most {max(0, math.ceil(left_s))} s more"
        return f"waiting for {printable(what)}{at_most}; stop with Ctrl-C"


class Progress:
    """Shows the waits of one command. While the command's thread waits, another thread writes the lines to ``out``."""

    def __init__(self, out: TextIO, form: Form, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._out = out
        self._form = form
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._thread: threading.Thread | None = None
        self._wait: Wait | None = None
        self._named: set[str] = set()
        self._shown = 0

    @contextlib.contextmanager
    def waiting(self, what: str, at_most_s: float) -> Iterator[None]:
        """Show, while the block runs, that the command waits for ``what`` for at most ``at_most_s`` seconds.

        Nothing is shown if the block ends within two seconds.
        """
        now = self._monotonic()
        with self._lock:
            before, self._wait = self._wait, Wait(what, now, now + at_most_s)
            self._start()
        try:
            yield
        finally:
            with self._lock:
                self._wait = before
                self._remove()

    def close(self) -> None:
        """End the thread."""
        self._over.set()

    def show(self) -> None:
        """Print what the command waits for, if it has waited AFTER_S seconds. A thread calls this twice a second."""
        with self._lock:
            wait, now = self._wait, self._monotonic()
            if wait is None or now - wait.began < AFTER_S:
                return
            if self._form is Form.ONE_LINE:
                # The line must fit the terminal, because a wrapped line could not be removed again.
                self._rewrite(wait.line_within(max(20, shutil.get_terminal_size().columns - 1), now))
            elif wait.what not in self._named:
                self._named.add(wait.what)
                self._write(f"{_PREFIX}{wait.line(now)}\n")

    def _start(self) -> None:
        if self._thread is None and self._form is not Form.NOTHING:
            self._thread = threading.Thread(target=self._live, name="progress", daemon=True)
            self._thread.start()

    def _live(self) -> None:
        while not self._over.wait(_TICK_S):
            self.show()

    def _rewrite(self, text: str) -> None:
        self._write(f"\r{text}{' ' * (self._shown - len(text))}")
        self._shown = len(text)

    def _remove(self) -> None:
        if self._shown:
            self._write(f"\r{' ' * self._shown}\r")
            self._shown = 0

    def _write(self, text: str) -> None:
        # If the reader of stderr has exited, the command still continues.
        with contextlib.suppress(OSError, ValueError):
            self._out.write(text)
            self._out.flush()


@contextlib.contextmanager
def waits_shown(options: argparse.Namespace) -> Iterator[Watch]:
    """Yield the method ``Progress.waiting``, which shows on stderr that the command waits for a source.

    With --quiet, the method shows nothing.
    """
    progress = Progress(sys.stderr, form_for(options, sys.stderr))
    try:
        yield progress.waiting
    finally:
        progress.close()
