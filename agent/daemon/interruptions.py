"""What a stop may cut short: a pause that the agent chose itself, and a read in progress; nothing else.

Pauses are between the rounds of a conflict, before the checks after a lost answer, and while the agent spares an
overloaded Placement. The code that paused goes on and checks itself whether to end, because it must still verify and
record a change that is half done. A read of a frozen libvirt, a silent Placement or a hung database takes as long as
its time-outs allow: half a minute and more. A read has no side effects; a write must finish or end at its own time-out.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator


class Pauses:
    """The pauses of the worker's thread; the thread that stops the worker ends them."""

    def __init__(self) -> None:
        self._over = threading.Event()

    def wait(self, seconds: float) -> None:
        """Pause for ``seconds``, or until ``end`` is called."""
        self._over.wait(seconds)

    def end(self) -> None:
        """Cancel the current pause and make all later ones return at once."""
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
