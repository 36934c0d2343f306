"""Redraw the screen and obey keys until ``q``, Ctrl-C or a signal ends the program; then restore the terminal."""

from __future__ import annotations

import collections
import contextlib
import io
import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TextIO

from rich.console import Console
from rich.live import Live
from rich.text import Text

from agent.cmd.watching.drawing import Size, page_of, screen_lines
from agent.cmd.watching.setup import Watched
from agent.cmd.watching.terminal import ENDING, Input, Terminal, stop_self
from agent.cmd.watching.ui import Action, Ui, placed, pressed, selected_row
from agent.errors import SourceUnavailable
from agent.exit_codes import CLEAN
from agent.fleet.ordering import Choice, chosen
from agent.fleet.view import FleetView, HostRow
from agent.render.draw import drawn
from agent.render.layout import Look

#: Seconds from one view of the fleet to the next. Each new view is drawn.
REDRAW_S = 1.0
#: The shortest time between two redraws after key presses: a key that is held down repeats 30 times a second.
KEY_GAP_S = 0.05


class LiveScreen:
    """The live screen on ``out``. ``keyboard`` is the file descriptor to read keys from; None: no keyboard."""

    def __init__(self, watched: Watched, ui: Ui, out: TextIO, keyboard: int | None, look: Look) -> None:
        self._watched = watched
        self._ui = ui
        self._look = look
        self._terminal = Terminal(keyboard)
        self._console = Console(file=out, force_terminal=True, highlight=False, markup=False, emoji=False)
        self._live = self._new_live()
        self._view = self._watched.view()
        self._sorted: tuple[FleetView | None, Choice, list[HostRow]] = (None, ui.choice, [])
        self._answers: collections.deque[str] = collections.deque()

    def run(self) -> int:
        """Show the fleet; return an exit code: 0 after ``q``, 128 + the number of the signal that ended the program."""
        with _silent_log(), self._terminal:
            self._live.start()
            try:
                self._draw()
                return self._loop()
            finally:
                # If the terminal no longer exists (a closed window), each write to the terminal fails: ignore the
                # error.
                with contextlib.suppress(OSError):
                    self._live.stop()

    def _loop(self) -> int:
        drawn_at = 0.0
        while True:
            if time.monotonic() - self._view.moment.now >= REDRAW_S:
                self._view = self._watched.view()
                self._draw()
                drawn_at = time.monotonic()
            came = self._terminal.wait(self._view.moment.now + REDRAW_S - time.monotonic())
            ending = next((number for number in came.signals if number in ENDING), None)
            if ending is not None:
                return 128 + ending
            if self._obey(came) is Action.QUIT:
                return CLEAN
            if came.keys or came.signals or self._answers:
                # After a key press or a resize, redraw the present view: a new view of a large fleet takes longer.
                time.sleep(max(0.0, drawn_at + KEY_GAP_S - time.monotonic()))
                self._draw()
                drawn_at = time.monotonic()

    def _draw(self) -> None:
        while self._answers:
            self._ui = replace(self._ui, message=self._answers.popleft())
        size = self._size()
        rows = self._rows()
        self._ui = placed(self._ui, rows, page_of(self._view, size))
        look = replace(self._look, width=size.columns)
        text = drawn(screen_lines(self._view, self._ui, rows, size), look)
        self._live.update(Text.from_ansi(text, no_wrap=True, overflow="crop"), refresh=True)

    def _obey(self, came: Input) -> Action:
        page = page_of(self._view, self._size()) if came.keys else 1
        for key in came.keys:
            rows = self._rows()
            self._ui, action = pressed(placed(self._ui, rows, page), key, rows, page)
            if action is Action.QUIT:
                return action
            if action is Action.AUDIT:
                self._ask_audit(rows)
        if signal.SIGTSTP in came.signals:
            self._suspend()
        return Action.NOTHING

    def _rows(self) -> list[HostRow]:
        """Return the rows that the operator chose to see, sorted.

        The rows are kept until the view or the operator's choice changes.
        """
        view, choice, rows = self._sorted
        if view is not self._view or choice != self._ui.choice:
            rows = chosen(self._view.rows, self._ui.choice)
            self._sorted = (self._view, self._ui.choice, rows)
        return rows

    def _ask_audit(self, rows: Sequence[HostRow]) -> None:
        row = selected_row(self._ui, rows)
        if row is None:
            return
        if row.seen is None:
            self._answers.append(f"{row.host}: not asked, because the host has sent no message")
            return
        self._answers.append(f"{row.host}: asked to audit now ...")
        threading.Thread(target=self._await_audit, args=(row,), name="watch-audit", daemon=True).start()

    def _await_audit(self, row: HostRow) -> None:
        (cell,) = (each for each in self._watched.cells if each.name == row.cell)
        try:
            answer = cell.audit_soon(row.host)
        except SourceUnavailable as error:
            answer = error.message
        self._answers.append(f"{row.host}: {answer}")

    def _suspend(self) -> None:
        self._live.stop()
        with self._terminal.given_back():
            stop_self()
        self._live = self._new_live()
        self._live.start()

    def _new_live(self) -> Live:
        return Live(
            console=self._console, screen=True, auto_refresh=False, redirect_stdout=False, redirect_stderr=False,
            vertical_overflow="crop",
        )  # fmt: skip

    def _size(self) -> Size:
        size = self._console.size
        return Size(columns=size.width, lines=size.height)


@contextlib.contextmanager
def _silent_log() -> Iterator[None]:
    """Log nothing inside the block if stderr is a terminal, because the log would be written over the screen."""
    if sys.stderr.isatty():
        logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(logging.NOTSET)


def keyboard_of(stdin: TextIO | None) -> int | None:
    """Return the file descriptor of ``stdin`` if it is a terminal; None if ``stdin`` is no terminal."""
    with contextlib.suppress(AttributeError, OSError, ValueError, io.UnsupportedOperation):
        number = stdin.fileno() if stdin else None
        if number is not None and os.isatty(number):
            return number
    return None
