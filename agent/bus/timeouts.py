"""Wait a limited time for a call that cannot be cancelled.

oslo.messaging's start, stop and cleanup wait for the broker, forever if the broker is frozen.
"""

from __future__ import annotations

import threading
from collections.abc import Callable


def ended_within(seconds: float, call: Callable[[], object], name: str) -> bool:
    """Return whether ``call`` returned within ``seconds``; if not, it goes on in a daemon thread called ``name``."""
    ended = threading.Event()

    def run() -> None:
        try:
            call()
        finally:
            ended.set()

    threading.Thread(target=run, name=name, daemon=True).start()
    return ended.wait(seconds)
