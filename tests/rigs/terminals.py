"""Run a command in this process with stdout on a pseudo-terminal, and read the screen with pyte."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import struct
import termios
import threading
from collections.abc import Callable, Iterator
from typing import TextIO

import pyte

from agent.cmd.shell import main
from tests.rigs.logs import logging_as_it_was

#: More lines than any screen of a test needs, so that nothing scrolls away.
LINES = 1000


@contextlib.contextmanager
def _slave(columns: int) -> Iterator[tuple[TextIO, Callable[[], bytes]]]:
    """Yield the program's end of a terminal, and a function that closes that end and returns what was written."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, columns, 0, 0))
    written: list[bytes] = []

    def read() -> None:
        # Linux raises EIO when the last program has closed its end.
        with contextlib.suppress(OSError):
            while chunk := os.read(master, 65536):
                written.append(chunk)

    reader = threading.Thread(target=read)
    reader.start()
    stream = os.fdopen(slave, "w", encoding="utf-8")

    def result() -> bytes:
        stream.close()
        reader.join()
        return b"".join(written)

    try:
        yield stream, result
    finally:
        stream.close()
        reader.join()
        os.close(master)


def typed(columns: int, *arguments: object) -> tuple[int, bytes]:
    """Run ``stocktake`` on a terminal of that many columns; return the exit code and the bytes that it wrote."""
    with _slave(columns) as (stream, result), logging_as_it_was(), contextlib.redirect_stdout(stream):
        code = main([str(argument) for argument in arguments])
        return code, result()


def screen_of(columns: int, written: bytes) -> list[str]:
    """Return the lines that a terminal of that many columns shows, without blanks at their ends."""
    screen = pyte.Screen(columns, LINES)
    pyte.ByteStream(screen).feed(written)
    return "\n".join(line.rstrip() for line in screen.display).rstrip("\n").split("\n")
