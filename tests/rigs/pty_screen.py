"""Run a program on a terminal of its own, and read the screen as an operator sees it (pyte is the terminal).

The rig keeps the program's end of the terminal open, so that a test can compare the settings of the terminal before and
after the program.
"""

import contextlib
import fcntl
import os
import pty
import signal
import struct
import subprocess
import termios
import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyte

from tests.rigs.wait import until


class PtyProgram:
    """A running program and its screen. ``raw`` is everything that the program wrote."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str], columns: int, lines: int) -> None:
        self._ours, self._theirs = pty.openpty()
        self._screen = pyte.Screen(columns, lines)
        self._stream = pyte.ByteStream(self._screen)
        self._lock = threading.Lock()
        self.raw = b""
        self.resize(columns, lines)
        self.settings_before = self.settings()
        self.process = subprocess.Popen(
            command, stdin=self._theirs, stdout=self._theirs, stderr=self._theirs, env=dict(environment),
            start_new_session=True, preexec_fn=_own_terminal,  # noqa: PLW1509 - the function makes one system call
        )  # fmt: skip
        self._reader = threading.Thread(target=self._read, name="pty-reader", daemon=True)
        self._reader.start()

    def settings(self) -> list[Any]:
        """Return the terminal's settings (termios)."""
        return termios.tcgetattr(self._theirs)

    def resize(self, columns: int, lines: int) -> None:
        """Change the size of the terminal; the program gets SIGWINCH."""
        with self._lock:
            self._screen.resize(lines, columns)
        fcntl.ioctl(self._ours, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def display(self) -> list[str]:
        """Return the lines of the screen, without blanks at their ends."""
        with self._lock:
            return [line.rstrip() for line in self._screen.display]

    def text(self) -> str:
        """Return the screen as one text."""
        return "\n".join(self.display())

    def send(self, keys: bytes) -> None:
        """Press keys."""
        os.write(self._ours, keys)

    def shows(self, *parts: str, timeout_s: float = 60) -> str:
        """Wait until the screen has all these texts; return the screen."""
        try:
            until(lambda: all(part in self.text() for part in parts), timeout_s, f"{parts} on the screen")
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.text()}") from None
        return self.text()

    def ended(self, timeout_s: float = 60) -> int:
        """Wait for the end of the program; return its exit code, with all output read."""
        code = self.process.wait(timeout_s)
        # The program's end of the terminal is still open here, so the output has no end: wait until it is read.
        until(self._is_read, timeout_s, "the last output")
        return code

    def kill(self) -> None:
        """End the program in any case and close the terminal."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(60)
        os.close(self._theirs)
        self._reader.join(60)
        os.close(self._ours)

    def _is_read(self) -> bool:
        waiting = struct.unpack("i", fcntl.ioctl(self._ours, termios.FIONREAD, b"\0\0\0\0"))[0]
        with self._lock:
            return waiting == 0

    def _read(self) -> None:
        with contextlib.suppress(OSError):
            while data := os.read(self._ours, 65536):
                with self._lock:
                    self.raw += data
                    self._stream.feed(data)


@contextlib.contextmanager
def on_terminal(
    command: Sequence[str], environment: Mapping[str, str], columns: int = 80, lines: int = 24
) -> Iterator[PtyProgram]:
    """Yield the program on a terminal; kill it in any case."""
    program = PtyProgram(command, environment, columns, lines)
    try:
        yield program
    finally:
        program.kill()


def _own_terminal() -> None:
    """Make stdin the controlling terminal, so that Ctrl-C and Ctrl-Z send signals."""
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
