"""Log a problem that may last for many audits once for each new cause."""

from __future__ import annotations

from oslo_log import log as logging

LOG = logging.getLogger(__name__)


class LastingProblem:
    """The problem that ``event`` reports; ``cause`` is empty while there is none."""

    def __init__(self, event: str, **fields: str) -> None:
        self._event = event
        self._fields = fields
        self.cause = ""

    def occurred(self, cause: str) -> None:
        """Log a warning, unless the problem had the same cause last time."""
        if cause != self.cause:
            LOG.warning(self._event, extra={**self._fields, "error": cause})
        self.cause = cause
