"""Log a lasting problem once instead of in every audit, and again only if its cause changes."""

from __future__ import annotations

from agent.telemetry.event_log import log_event
from agent.telemetry.events import Event


class LastingProblem:
    """A problem, logged with the text ``event``; ``cause`` is empty while the problem does not exist."""

    def __init__(self, event: Event, **fields: str) -> None:
        self._event = event
        self._fields = fields
        self.cause = ""

    def occurred(self, cause: str) -> None:
        """Log a warning, unless the same cause was logged last."""
        if cause != self.cause:
            log_event(self._event, **self._fields, error=cause)
        self.cause = cause
