"""Shorten a stop of the daemon: end the worker's pauses, and say whether the worker is in a read.

The worker pauses before it repeats a write that conflicted with another program's write, before it checks a write whose
response was lost, and while Placement is overloaded. A stop only ends the pause. The code after the pause decides when
the audit ends, because it must verify and journal a half-done change. A stop waits for a write, but not for a
read. A read has no side effects, and may take half a minute or more if libvirt, Placement or the database hangs.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator


class Pauses:
    """The pauses of the worker's thread. Another thread can end the pauses early, so that the worker stops at once."""

    def __init__(self) -> None:
        self._over = threading.Event()

    def wait(self, seconds: float) -> None:
        """Pause for ``seconds``, or until ``end`` is called."""
        self._over.wait(seconds)

    def end(self) -> None:
        """End the current pause, and make all later pauses return at once."""
        self._over.set()


class ReadMark:
    """Tells the main thread which source the worker's thread is reading now.

    ``source`` is the name of the source, "" between two reads. The main thread needs the name for two purposes: to stop
    the daemon without waiting for a read, and to log where a long audit hangs.
    """

    source = ""

    @contextlib.contextmanager
    def reading(self, source: str) -> Iterator[None]:
        """Set ``self.source`` while the block of the with statement reads the source."""
        self.source = source
        try:
            yield
        finally:
            self.source = ""
