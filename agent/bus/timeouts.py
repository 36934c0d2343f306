"""Wait for a call that cannot be cancelled, but not for longer than it is worth.

oslo.messaging's start, stop and cleanup wait for the broker, for ever where it is frozen.
"""

from __future__ import annotations

import threading
from collections.abc import Callable


def ended_within(seconds: float, call: Callable[[], object], name: str) -> bool:
    """Whether the call returned in that time; else it goes on in a thread that keeps no process alive."""
    ended = threading.Event()

    def run() -> None:
        try:
            call()
        finally:
            ended.set()

    threading.Thread(target=run, name=name, daemon=True).start()
    return ended.wait(seconds)
