"""Sleep until the time is over or a stop is requested; after a stop, every sleep of this process returns at once.

For pauses that the agent chooses itself: between the rounds of a conflict, before the checks after a lost answer, and
while the agent spares an overloaded Placement. A stop cuts only the pause short. The code that paused goes on and
checks itself whether to end, because it must still verify and record a change that is half done.
"""

from __future__ import annotations

import threading


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
