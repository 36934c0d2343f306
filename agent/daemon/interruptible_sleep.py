"""Wait, until the time is over or a stop was asked for: from then on no pause of this process lasts any longer.

For pauses that are the agent's own choice: between the rounds of a conflict, before the
looks after a lost answer, and where a crowded Placement is left alone. What a stop cuts
short is the pause alone. Whoever waited goes on and asks by itself whether to end, since
a change that is half done must still be looked up and written down.
"""

from __future__ import annotations

import threading


class Pauses:
    """Waited in by the worker's thread, ended by the one that stops it."""

    def __init__(self) -> None:
        self._over = threading.Event()

    def wait(self, seconds: float) -> None:
        """Let that time pass, or what is left of it until ``end``."""
        self._over.wait(seconds)

    def end(self) -> None:
        """End the pause that is, and all that come."""
        self._over.set()
