"""Shorten a stop of the daemon: end the worker's pauses, and tell whether the worker is in a read.

The agent pauses between two tries after a conflict, before it checks a write whose response was lost, and while
Placement is overloaded. After the end of its pause, the paused code decides itself whether to end, because it must
still verify and journal a change that is half done. A stop does not wait for the end of a read: a read has no side
effects, and may take half a minute or more if libvirt, Placement or the database hangs. A stop waits for a write.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator


class Pauses:
    """The pauses of the worker's thread. The thread that stops the worker ends these pauses."""

    def __init__(self) -> None:
        self._over = threading.Event()

    def wait(self, seconds: float) -> None:
        """Pause for ``seconds``, or until ``end`` is called."""
        self._over.wait(seconds)

    def end(self) -> None:
        """End the current pause, and make all later pauses return at once."""
        self._over.set()


class ReadMark:
    """A flag, ``in_progress``, that the worker's thread sets and the stopping thread reads."""

    in_progress = False

    @contextlib.contextmanager
    def reading(self) -> Iterator[None]:
        """Set the flag for the duration of one read."""
        self.in_progress = True
        try:
            yield
        finally:
            self.in_progress = False
