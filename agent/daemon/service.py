"""Start, stop and reload the daemon's threads, and nothing else.

oslo.service's own Service forgets running threads when it stops, so this class joins them itself. The sources of events
start before the interval trigger, so an event may request an audit first. At a stop all of them end before the queue is
closed, so nothing requests an audit after that.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from oslo_log import log as logging
from oslo_service import service

from agent.daemon.audit_queue import AuditQueue
from agent.daemon.triggers import IntervalTrigger, StartTrigger
from agent.daemon.worker import Configured, Current, Worker
from agent.model.report import AuditReport
from agent.ports import EventSource
from agent.telemetry import events
from agent.telemetry.finding_changes import FindingChange

LOG = logging.getLogger(__name__)

#: Seconds that a stop waits for a read in progress. With all its other work, a stop ends within five seconds.
READ_GRACE_S = 1.0


class BusService(Protocol):
    """The daemon's connection to the message bus.

    It publishes each audit and answers calls. No method waits for the broker.
    """

    def start(self) -> None:
        """Start the sending thread."""

    def listen(self) -> None:
        """Start to answer calls."""

    def deafen(self) -> None:
        """Stop answering calls; returns within a second."""

    def stop(self) -> None:
        """Send the queued messages, as far as that is possible within a second, and end."""

    def publish(self, report: AuditReport, changed: tuple[FindingChange, ...]) -> None:
        """Hand over a report for sending."""


class NoBus:
    """The connection where no broker is configured: every method does nothing."""

    def start(self) -> None:
        """Do nothing: there is no sending thread."""

    def listen(self) -> None:
        """Do nothing: there are no callers."""

    def deafen(self) -> None:
        """Do nothing: there are no callers."""

    def stop(self) -> None:
        """Do nothing: no message is queued."""

    def publish(self, _report: AuditReport, _changed: tuple[FindingChange, ...]) -> None:
        """Do nothing: no program receives the report."""


class AgentService(service.ServiceBase):  # type: ignore[misc]  # oslo.service has no types
    """The lifecycle around one queue and one worker.

    ``reload`` reads and checks the configuration anew and returns the value to use from now on, or raises ConfigError;
    ``close`` frees the resources of the parts; ``reading`` returns whether the worker is inside a read; ``end_pauses``
    cancels the worker's own pauses.
    """

    def __init__(
        self,
        *,
        queue: AuditQueue,
        worker: Worker,
        interval: IntervalTrigger,
        first: StartTrigger,
        events: tuple[EventSource, ...],
        current: Current,
        reload: Callable[[], Configured],
        close: Callable[[], None],
        reading: Callable[[], bool],
        end_pauses: Callable[[], None],
        bus: BusService | None = None,
    ) -> None:
        self._queue = queue
        self._worker = worker
        self._interval = interval
        self._first = first
        self._events = events
        self._current = current
        self._reload = reload
        self._close = close
        self._reading = reading
        self._end_pauses = end_pauses
        self._bus = bus or NoBus()

    def start(self) -> None:
        """Start all threads and request the first audit.

        Opens no connection: a dead libvirt does not block the start.
        """
        self._bus.start()
        self._worker.start()
        # Before the first audit opens a connection: libvirt's event loop must be registered by then.
        for source in self._events:
            source.start(self._queue.request)
        self._interval.start(self._current.get().interval_s)
        self._first.start()
        self._bus.listen()

    def stop(self) -> None:
        """Stop all threads: a running audit ends at its next safe point; a read that hangs is abandoned."""
        self._worker.stop()
        # After ``worker.stop``: a worker whose pause ends checks next whether to go on.
        self._end_pauses()
        self._bus.deafen()
        self._first.stop()
        self._interval.stop()
        for source in reversed(self._events):
            source.stop()
        self._queue.close()
        self.wait()
        self._bus.stop()
        self._close()

    def wait(self) -> None:
        """Wait for the worker to exit. Give up if it is stuck in a read: reads have no side effects."""
        while not self._worker.join(READ_GRACE_S):
            if self._reading():
                LOG.info(events.READ_LEFT_BEHIND)
                return

    def reset(self) -> None:
        """Reload: the next audit uses the new settings. Raises ConfigError without any change."""
        configured = self._reload()
        self._current.replace(configured)
        self._queue.pace(configured.pacing)
        self._interval.replace(configured.interval_s)
        self._queue.request_now("reload")
