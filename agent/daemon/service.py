"""Start, stop and reload the daemon's threads, in that order and its reverse; nothing else.

oslo.service's own Service forgets running threads when it stops, so this joins them
itself. Whoever reads after whom: events may ask for audits before the interval does,
and nothing asks for any more once the queue is closed.
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

#: How long a stop waits for a read that is under way. With what else a stop does it ends within five seconds.
READ_GRACE_S = 1.0


class Telling(Protocol):
    """Those on the broker: they are told what each audit found, and may ask. Nothing here waits for the broker."""

    def start(self) -> None:
        """Begin to tell."""

    def listen(self) -> None:
        """Begin to answer."""

    def deafen(self) -> None:
        """Answer no more; within a second."""

    def stop(self) -> None:
        """Tell what waits, where it can be told within a second, and end."""

    def tell(self, report: AuditReport, changed: tuple[FindingChange, ...]) -> None:
        """Hand a report over."""


class Nobody:
    """Where no broker is configured."""

    def start(self) -> None:
        """Nobody is told."""

    def listen(self) -> None:
        """Nobody asks."""

    def deafen(self) -> None:
        """Nobody asked."""

    def stop(self) -> None:
        """Nobody waits."""

    def tell(self, _report: AuditReport, _changed: tuple[FindingChange, ...]) -> None:
        """Nobody hears."""


class AgentService(service.ServiceBase):  # type: ignore[misc]  # oslo.service has no types
    """The lifecycle around one queue and one worker.

    ``reload`` reads and checks the configuration anew and gives the value to
    use from now on, or raises ConfigError; ``close`` frees what the parts hold;
    ``reading`` says whether the worker is inside a read; ``end_pauses`` ends what it waits for by its own choice.
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
        telling: Telling | None = None,
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
        self._telling = telling or Nobody()

    def start(self) -> None:
        """Start all threads and ask for the first audit. Opens nothing: a dead libvirt does not block it."""
        self._telling.start()
        self._worker.start()
        # Before the first audit opens a connection: libvirt's event loop must be registered by then.
        for source in self._events:
            source.start(self._queue.request)
        self._interval.start(self._current.get().interval_s)
        self._first.start()
        self._telling.listen()

    def stop(self) -> None:
        """End all threads: the running audit at its next safe point; a read that hangs is left behind."""
        self._worker.stop()
        # After that: who waited asks next whether to go on.
        self._end_pauses()
        self._telling.deafen()
        self._first.stop()
        self._interval.stop()
        for source in reversed(self._events):
            source.stop()
        self._queue.close()
        self.wait()
        self._telling.stop()
        self._close()

    def wait(self) -> None:
        """Return when the worker has ended, or does not come back from a read, which changes nothing any more."""
        while not self._worker.join(READ_GRACE_S):
            if self._reading():
                LOG.info(events.READ_LEFT_BEHIND)
                return

    def reset(self) -> None:
        """Reload: the next audit uses the new settings. Raises ConfigError, and then nothing has changed."""
        configured = self._reload()
        self._current.replace(configured)
        self._queue.pace(configured.pacing)
        self._interval.replace(configured.interval_s)
        self._queue.request_now("reload")
