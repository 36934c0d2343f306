"""Set up a terminal for single key presses, wait for keys and signals, and always restore the terminal.

In cbreak mode the terminal passes on each key at once and does not print the key. Ctrl-C still sends SIGINT. The signal
handler only collects the signal's number, so no signal can interrupt the code that restores the terminal.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import termios
import tty
from collections.abc import Iterator
from dataclasses import dataclass
from types import FrameType

from agent.cmd.watching.keys import keys_in, rest_key

#: A special key sends ESC and further bytes, and all of them arrive within this many seconds. If nothing follows ESC in
#: this time, the key is the Escape key.
SEQUENCE_S = 0.05
#: ENDING: the signals that end the program. _CAUGHT: all signals that the program handles.
ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_CAUGHT = (*ENDING, signal.SIGWINCH, signal.SIGTSTP, signal.SIGCONT)
_BUFFER = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class Input:
    """What arrived while the program waited: keys, and the numbers of signals."""

    keys: tuple[str, ...]
    signals: tuple[int, ...]


class Terminal:
    """A terminal. ``number`` is its file descriptor; None if there is no terminal to read keys from.

    Use the object as a context manager: inside the block the terminal is in cbreak mode, and signals are collected.
    """

    def __init__(self, number: int | None) -> None:
        self._number = number
        self._rest = b""
        self._signals: list[int] = []
        self._undo = contextlib.ExitStack()
        self._selector = selectors.DefaultSelector()

    def __enter__(self) -> Terminal:
        with contextlib.ExitStack() as made:
            made.enter_context(self._woken_by_signals())
            made.callback(self._selector.close)
            if self._number is not None:
                self._selector.register(self._number, selectors.EVENT_READ)
                made.enter_context(single_keys(self._number))
            self._undo = made.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._undo.close()

    def wait(self, seconds: float) -> Input:
        """Wait at most ``seconds`` for keys or a signal; return all keys and signals that have arrived."""
        before = self._rest
        keys = self._read(SEQUENCE_S if before else seconds)
        if before and self._rest == before:
            keys, self._rest = rest_key(before), b""
        signals, self._signals = tuple(self._signals), []
        return Input(keys=tuple(keys), signals=signals)

    @contextlib.contextmanager
    def given_back(self) -> Iterator[None]:
        """Inside the block, let the shell use the terminal with its former settings, for example after Ctrl-Z."""
        self.__exit__()
        self._selector = selectors.DefaultSelector()
        try:
            yield
        finally:
            self.__enter__()

    def _read(self, seconds: float) -> list[str]:
        for key, _ in self._selector.select(max(0.0, seconds)):
            data = b""
            with contextlib.suppress(OSError):
                data = os.read(key.fd, _BUFFER)
            if key.fd != self._number:
                continue
            if not data:
                # A read without data means that the other end of the terminal is closed. So do the same as for the
                # signal SIGHUP, which ends the program.
                self._signals.append(signal.SIGHUP)
                self._selector.unregister(key.fd)
                continue
            keys, self._rest = keys_in(self._rest + data)
            return keys
        return []

    @contextlib.contextmanager
    def _woken_by_signals(self) -> Iterator[None]:
        """Collect signals inside the block.

        For each signal Python writes a byte into a pipe. The byte ends the wait for keys.
        """
        read_end, write_end = os.pipe()
        os.set_blocking(read_end, False)
        os.set_blocking(write_end, False)
        self._selector.register(read_end, selectors.EVENT_READ)
        before = {number: signal.signal(number, self._collect) for number in _CAUGHT}
        old_end = signal.set_wakeup_fd(write_end, warn_on_full_buffer=False)
        try:
            yield
        finally:
            signal.set_wakeup_fd(old_end)
            for number, handler in before.items():
                signal.signal(number, handler)
            os.close(read_end)
            os.close(write_end)

    def _collect(self, number: int, _frame: FrameType | None) -> None:
        self._signals.append(number)


@contextlib.contextmanager
def single_keys(number: int) -> Iterator[None]:
    """Set the terminal to cbreak mode inside the block, and restore its former settings after the block."""
    before = termios.tcgetattr(number)
    try:
        tty.setcbreak(number, termios.TCSADRAIN)
        yield
    finally:
        # If the terminal no longer exists (a closed window, a lost connection), there are no settings to restore.
        with contextlib.suppress(termios.error):
            termios.tcsetattr(number, termios.TCSADRAIN, before)


def stop_self() -> None:
    """Stop this process as Ctrl-Z does; return when the shell continues it."""
    before = signal.signal(signal.SIGTSTP, signal.SIG_DFL)
    try:
        os.kill(os.getpid(), signal.SIGTSTP)
    finally:
        signal.signal(signal.SIGTSTP, before)
