"""Hear what oslo.messaging's notifier swallows: it logs a message that it could not send, whole, and does not raise.

That line is the only way to learn of it that the library offers.
"""

from __future__ import annotations

import logging
import threading

NOTIFIER = "oslo_messaging.notify.messaging"


class Unsent(logging.Filter):
    """Takes the notifier's lines about what it could not send, each for the thread that sent it."""

    def __init__(self) -> None:
        super().__init__()
        self._found = threading.local()

    def filter(self, record: logging.LogRecord) -> bool:
        """Keep the error; the line itself is dropped: it holds the whole message."""
        if record.exc_info and record.exc_info[1] is not None:
            self._found.error = record.exc_info[1]
            return False
        return True

    def taken(self) -> BaseException | None:
        """The error of this thread's last message, and forget it."""
        error: BaseException | None = getattr(self._found, "error", None)
        self._found.error = None
        return error
