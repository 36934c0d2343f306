"""Store the messages that the sender thread must still send: the newest report, and a bounded queue of notifications.

When the queue is full, the oldest notification is dropped first. The thread that audits puts messages in, and the
sender thread takes them out. No thread keeps the lock during slow work, so a hanging broker does not delay an audit.
"""

from __future__ import annotations

import threading
from collections import deque

from agent.bus.notices import Notice
from agent.model.report import AuditReport

#: The maximum number of waiting notifications: about 500 audits without changed findings, or an hour with many changes.
MOST_NOTICES = 512


class Outbox:
    """The messages to send. Any thread may call ``put`` and ``ask``; only the sender thread takes messages out.

    ``report`` is the newest report, None before the first report. ``closed``: no more messages will be put in.
    ``dropped`` counts the notifications that were dropped from the full queue.
    """

    def __init__(self, most_notices: int = MOST_NOTICES) -> None:
        self._most = most_notices
        self._changed = threading.Condition()
        self._notices: deque[Notice] = deque()
        self._asked = False
        self._news = False
        self.report: AuditReport | None = None
        self.closed = False
        self.dropped = 0

    @property
    def waiting(self) -> int:
        """The number of notifications that wait."""
        return len(self._notices)

    def put(self, report: AuditReport, notices: tuple[Notice, ...]) -> None:
        """Replace the stored report by ``report``, and queue the notifications of ``report``."""
        with self._changed:
            self.report = report
            self._notices.extend(notices)
            while len(self._notices) > self._most:
                self._notices.popleft()
                self.dropped += 1
            self._wake()

    def ask(self) -> None:
        """Record that an RPC caller requests the host's state now."""
        with self._changed:
            self._asked = True
            self._wake()

    def close(self) -> None:
        """Close the outbox and wake the sender for the last time."""
        with self._changed:
            self.closed = True
            self._wake()

    def wait(self, timeout_s: float) -> None:
        """Wait until ``put``, ``ask`` or ``close`` is called; return at once if that happened since the last wait."""
        with self._changed:
            self._changed.wait_for(lambda: self._news or self.closed, timeout_s)
            self._news = False

    def asked(self) -> bool:
        """Return whether ``ask`` was called since the last call of this method."""
        with self._changed:
            asked, self._asked = self._asked, False
            return asked

    def first(self) -> Notice | None:
        """Return the oldest notification without removing it; None if none waits."""
        with self._changed:
            return self._notices[0] if self._notices else None

    def done(self, notice: Notice) -> None:
        """Remove the sent notification, unless the full queue has dropped it already."""
        with self._changed:
            if self._notices and self._notices[0] is notice:
                self._notices.popleft()

    def _wake(self) -> None:
        self._news = True
        self._changed.notify_all()
