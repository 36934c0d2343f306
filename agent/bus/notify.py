"""Send notifications as OpenStack's services do: oslo.messaging's envelope 2.0, one queue per topic and priority.

The library's notifier never raises: it logs a message that it could not send. ``Unsent`` intercepts that log record.
"""

from __future__ import annotations

import logging

from agent.bus.library import oslo_messaging
from agent.bus.notices import Notice
from agent.bus.notify_errors import NOTIFIER, Unsent
from agent.bus.transport import TRIES, Bus
from agent.errors import SourceUnavailable

DRIVER = "messagingv2"
BROKER = "broker"


class Notifications:
    """Sends notifications as publisher ``stocktake.HOST``; only one thread may use it."""

    def __init__(self, bus: Bus, host: str, topics: tuple[str, ...]) -> None:
        self._bus = bus
        self._host = host
        self._topics = topics
        self._unsent = Unsent()
        self._notifier: oslo_messaging.Notifier | None = None

    def send(self, notice: Notice) -> None:
        """Send the notification to every topic. Raises SourceUnavailable if the broker did not accept it."""
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
