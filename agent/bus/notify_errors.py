"""Catch the errors of oslo.messaging's notifier, which logs an unsent message in full and raises nothing.

That log record is the library's only report of such an error.
"""

from __future__ import annotations

import logging
import threading

NOTIFIER = "oslo_messaging.notify.messaging"


class Unsent(logging.Filter):
    """A log filter that intercepts the notifier's records about unsent messages, separately for each sending thread."""

    def __init__(self) -> None:
        super().__init__()
        self._found = threading.local()

    def filter(self, record: logging.LogRecord) -> bool:
        """Store the error of a record and drop the record: its text holds the whole message."""
        if record.exc_info and record.exc_info[1] is not None:
            self._found.error = record.exc_info[1]
            return False
        return True

    def taken(self) -> BaseException | None:
        """Return the error of this thread's last message (None: no error), and clear it."""
        error: BaseException | None = getattr(self._found, "error", None)
        self._found.error = None
        return error
