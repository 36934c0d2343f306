"""Start, stop and reload the daemon's threads, and nothing else.

The event sources start before the interval trigger, so an event may request the first audit. A stop ends event sources
and triggers before it closes the queue, so nothing requests an audit from a closed queue.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from agent.bus.options import DaemonControl
from agent.daemon.audit_queue import AuditQueue
from agent.daemon.triggers import IntervalTrigger, StartTrigger
from agent.daemon.worker import Audit, Configured, Current, Worker
from agent.errors import ConfigError
from agent.model.report import AuditReport
from agent.ports import EventSource
from agent.telemetry import events
from agent.telemetry.dump import Condition
from agent.telemetry.event_log import log_event
from agent.telemetry.finding_changes import FindingChange

#: The seconds that a stop waits for a read in progress, before it abandons the read. A stop takes five seconds at most,
#: unless a write is in progress.
READ_GRACE_S = 1.0


class BusService(Protocol):
    """The daemon's connection to the message bus: publishes audits, answers calls, never waits for the broker."""

    def start(self) -> None:
        """Start the sending thread."""

    def listen(self) -> None:
        """Start to answer calls."""

    def deafen(self) -> None:
        """Stop answering calls; returns within a second."""

    def stop(self) -> None:
        """Send queued messages for at most a second; then end the sending thread."""

    def publish(self, report: AuditReport, changed: tuple[FindingChange, ...]) -> None:
        """Pass a report to the sending thread."""

    def counts(self) -> tuple[int, int, int]:
        """Return three numbers: consecutive failed sends, waiting notifications, and dropped notifications."""


class Monitoring(Protocol):
    """The servers that monitoring systems query. These servers keep the last audit's values and read no source."""

    def start(self) -> None:
        """Start to answer requests. If an address cannot be used, try the address again later."""

    def audited(self, report: AuditReport, changed: tuple[FindingChange, ...]) -> None:
        """Take the audit's report and the findings that are new, changed or gone. The worker calls this method."""

    def reloaded(self) -> None:
        """Discard the values that followed from the old configuration."""

    def reload_refused(self) -> None:
        """Remember that the daemon refused the last reload."""

    def stop(self) -> None:
        """Close all sockets."""


class NoMonitoring:
    """Replaces Monitoring if no address for monitoring servers is configured: every method does nothing."""

    def _ignore(self, *_ignored: object) -> None:
        pass

    start = audited = reloaded = reload_refused = stop = _ignore


class NoBus:
    """The BusService of a host without a configured broker: every method does nothing."""

    def _ignore(self, *_ignored: object) -> None:
        pass

    start = listen = deafen = stop = publish = _ignore

    def counts(self) -> tuple[int, int, int]:
        """Return zeros: there is nothing to send."""
        return 0, 0, 0


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopControl:
    """What the monitoring servers read from the audit loop; any thread may call these functions.

    - ``is_alive`` returns whether the daemon makes progress. If not, systemd's watchdog gets no more messages.
    - ``running_s`` returns for how many seconds the running audit has run, 0 if no audit runs.
    - ``interval_s`` returns the seconds between two periodic audits, None if there are no periodic audits.
    - ``bus`` returns the same as ``BusService.counts``: failed tries to send, waiting and dropped notifications.
    """

    is_alive: Callable[[], bool]
    running_s: Callable[[], float]
    interval_s: Callable[[], float | None]
    bus: Callable[[], tuple[int, int, int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reloaded:
    """The configuration after a reload. ``changed``: texts of the options that changed, with the old and new values.

    ``restart_needed``: names of the options that have a new value in the files, but keep the old value until a restart.
    """

    configured: Configured
    changed: tuple[str, ...] = ()
    restart_needed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Outside:
    """What the daemon needs besides its configuration.

    - ``reload`` reads the configuration files again and returns what it read, or raises ConfigError.
    - ``save`` replaces the report file.
    - ``misses`` returns how many reads of libvirt in a row have timed out.
    - ``close`` closes the audit's connections and ends its reader threads.
    - ``graceful_s``: how many seconds the daemon may take to stop, 0 for no limit.
    - ``reading`` returns the name of the source that the audit is reading, "" if the audit reads no source now.
    - ``end_pauses`` makes a waiting audit go on at once, so that the daemon can stop.
    - ``sent_at`` returns when the audit sent its last request to Placement, in monotonic seconds.
    - ``bus`` builds the connection to the message bus, ``NoBus`` where no broker is configured.
    - ``dump`` writes a report about the daemon, for SIGUSR2.
    - ``monitoring`` builds the servers that monitoring systems query, ``NoMonitoring`` where no address is configured.
    - ``start_delay_s`` is the delay of the first audit in seconds. An operator can request an audit earlier, as can a
      caller on the message bus.
    """

    audit: Audit
    events: tuple[EventSource, ...]
    reload: Callable[[], Reloaded]
    save: Callable[[AuditReport], None]
    misses: Callable[[], int]
    close: Callable[[], None]
    graceful_s: float
    reading: Callable[[], str] = lambda: ""
    dump: Callable[[Condition], None] = lambda _condition: None
    end_pauses: Callable[[], None] = lambda: None
    sent_at: Callable[[], float] = lambda: 0.0
    bus: Callable[[DaemonControl], BusService] = lambda _control: NoBus()
    monitoring: Callable[[LoopControl], Monitoring] = lambda _control: NoMonitoring()
    start_delay_s: float = 0.0


class AgentService:
    """Starts, stops and reloads the worker, its queue of audit requests, and the senders of these requests."""

    def __init__(
        self,
        *,
        queue: AuditQueue,
        worker: Worker,
        interval: IntervalTrigger,
        first: StartTrigger,
        current: Current,
        bus: BusService,
        monitoring: Monitoring,
        outside: Outside,
    ) -> None:
        self._queue = queue
        self._worker = worker
        self._interval = interval
        self._first = first
        self._current = current
        self._bus = bus
        self._monitoring = monitoring
        self._outside = outside

    def start(self) -> None:
        """Start all threads and request the first audit. Opens no connection, so a dead libvirt blocks nothing."""
        self._monitoring.start()
        self._bus.start()
        self._worker.start()
        # The event sources register libvirt's event loop when they start. They start here, because the loop must be
        # registered before the first audit connects to libvirt.
        for source in self._outside.events:
            source.start(self._queue.request)
        self._interval.start(self._current.get().interval_s)
        self._first.start()
        self._bus.listen()

    def stop(self) -> None:
        """Stop all threads: a running audit ends at its next safe point; a read that hangs is abandoned."""
        self._worker.stop()
        # Request the stop first, then end the pauses: a worker whose pause has ended checks whether a stop was
        # requested.
        self._outside.end_pauses()
        self._bus.deafen()
        self._first.stop()
        self._interval.stop()
        for source in reversed(self._outside.events):
            source.stop()
        self._queue.close()
        self.wait()
        self._bus.stop()
        self._monitoring.stop()
        self._outside.close()

    def wait(self) -> None:
        """Wait until the worker has ended.

        Give up if the worker is stuck in a read. An abandoned read does no harm, because it changes nothing.
        """
        while not self._worker.join(READ_GRACE_S):
            if self._outside.reading():
                log_event(events.READ_LEFT_BEHIND)
                return

    def reload(self) -> Reloaded:
        """Reload: the next audit uses the new settings. If ``reload`` raises ConfigError, the old settings remain."""
        try:
            reloaded = self._outside.reload()
        except ConfigError:
            self._monitoring.reload_refused()
            raise
        configured = reloaded.configured
        self._current.replace(configured)
        self._monitoring.reloaded()
        self._queue.pace(configured.pacing)
        self._interval.replace(configured.interval_s)
        self._queue.request_now("reload")
        return reloaded
