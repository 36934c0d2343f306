"""Send notifications as OpenStack's services do: oslo.messaging's envelope 2.0, one queue per topic and priority.

The library's notifier never raises. If it cannot send a message, it logs the whole message, and this log record is the
only report of the error. So ``Unsent`` intercepts the record.
"""

from __future__ import annotations

import logging
import threading

from agent.bus.notices import Notice
from agent.bus.transport import BROKER, TRIES, Bus, oslo_messaging
from agent.errors import SourceUnavailable

DRIVER = "messagingv2"
NOTIFIER = "oslo_messaging.notify.messaging"


class Unsent(logging.Filter):
    """A log filter that intercepts the notifier's log records about unsent messages, and keeps one error per thread."""

    def __init__(self) -> None:
        super().__init__()
        self._found = threading.local()

    def filter(self, record: logging.LogRecord) -> bool:
        """Store the record's exception. A record with an exception is not logged: its text has the whole message."""
        if record.exc_info and record.exc_info[1] is not None:
            self._found.error = record.exc_info[1]
            return False
        return True

    def taken(self) -> BaseException | None:
        """Return and then forget the error of the message that this thread sent last; None if there was no error."""
        error: BaseException | None = getattr(self._found, "error", None)
        self._found.error = None
        return error


class Notifications:
    """Sends notifications with the publisher id ``stocktake.HOST``. Only one thread may use a Notifications object."""

    def __init__(self, bus: Bus, host: str, topics: tuple[str, ...]) -> None:
        self._bus = bus
        self._host = host
        self._topics = topics
        self._unsent = Unsent()
        self._notifier: oslo_messaging.Notifier | None = None

    def send(self, notice: Notice) -> None:
        """Send the notification to every topic. Raises SourceUnavailable if the broker did not accept a message."""
        notifier = self._notifier = self._notifier or self._made()
        self._unsent.taken()
        getattr(notifier, notice.priority)({}, notice.event_type, notice.payload)
        error = self._unsent.taken()
        if error is not None:
            raise SourceUnavailable(BROKER, str(error)) from error

    def _made(self) -> oslo_messaging.Notifier:
        logging.getLogger(NOTIFIER).addFilter(self._unsent)
        return oslo_messaging.Notifier(
            self._bus.notification,
            publisher_id=f"stocktake.{self._host}",
            driver=DRIVER,
            topics=list(self._topics),
            retry=TRIES,
        )
