"""An answer that came after the audit that asked for it is a reason to look: the only word of it before the interval.

After a cold start libvirt probes QEMU for seconds; what rests on it goes out with
the audit that this asks for, and not a minute later.
"""

from __future__ import annotations

import threading
from collections.abc import Callable


class LateAnswers:
    """EventSource of answers that nobody waits for any more. ``tell`` may be called from any thread."""

    def __init__(self) -> None:
        self._gate = threading.Lock()
        self._notify: Callable[[str], None] | None = None

    def start(self, notify: Callable[[str], None]) -> None:
        """Reasons go to ``notify`` from now on."""
        with self._gate:
            self._notify = notify

    def stop(self) -> None:
        """No reason comes after this."""
        with self._gate:
            self._notify = None

    def tell(self, reason: str) -> None:
        """An answer is there. Where nothing listens (a command, a stop) it is simply there."""
        with self._gate:
            if self._notify is not None:
                self._notify(reason)
