"""What waits to be told: the newest report, and a bounded row of notices, the oldest dropped first.

The audit's thread puts, the sender's thread takes; no lock is held across anything slow,
so a broker that hangs costs an audit nothing.
"""

from __future__ import annotations

import threading
from collections import deque

from agent.bus.notices import Notice
from agent.model.report import AuditReport

#: Some hundred quiet audits, or the findings of one bad hour.
MOST_NOTICES = 512


class Outbox:
    """Any thread puts and asks, one takes. ``dropped`` counts notices that gave way to newer ones."""

    def __init__(self, most_notices: int = MOST_NOTICES) -> None:
        self._most = most_notices
        self._changed = threading.Condition()
        self._notices: deque[Notice] = deque()
        self._report: AuditReport | None = None
        self._asked = False
        self._closed = False
        self._news = False
        self.dropped = 0

    @property
    def closed(self) -> bool:
        """True once nothing more will come."""
        return self._closed

    @property
    def report(self) -> AuditReport | None:
        """The newest."""
        return self._report

    @property
    def waiting(self) -> int:
        """How many notices wait."""
        return len(self._notices)

    def put(self, report: AuditReport, notices: tuple[Notice, ...]) -> None:
        """A report, in the place of the one before, and what there is to tell of it."""
        with self._changed:
            self._report = report
            self._notices.extend(notices)
            while len(self._notices) > self._most:
                self._notices.popleft()
                self.dropped += 1
            self._tell()

    def ask(self) -> None:
        """Somebody wants to know the host's state now."""
        with self._changed:
            self._asked = True
            self._tell()

    def close(self) -> None:
        """Wake the sender for the last time."""
        with self._changed:
            self._closed = True
            self._tell()

    def wait(self, timeout_s: float) -> None:
        """Until something has come since the last call, or the time is over."""
        with self._changed:
            self._changed.wait_for(lambda: self._news or self._closed, timeout_s)
            self._news = False

    def asked(self) -> bool:
        """Whether anybody has asked since the last call."""
        with self._changed:
            asked, self._asked = self._asked, False
            return asked

    def first(self) -> Notice | None:
        """The oldest notice, which stays; None where none waits."""
        with self._changed:
            return self._notices[0] if self._notices else None

    def done(self, notice: Notice) -> None:
        """Take it off, unless it was dropped meanwhile."""
        with self._changed:
            if self._notices and self._notices[0] is notice:
                self._notices.popleft()

    def _tell(self) -> None:
        self._news = True
        self._changed.notify_all()
