"""Assemble the daemon: one queue, one worker, one service, one runner. Connects the parts and starts nothing."""

from __future__ import annotations

import signal
from collections.abc import Callable
from dataclasses import dataclass

from agent.bus.options import DaemonControl
from agent.daemon.audit_queue import AuditQueue
from agent.daemon.notifier import Notifier
from agent.daemon.publisher import ReportDesk
from agent.daemon.runner import Runner
from agent.daemon.service import AgentService, BusService, NoBus
from agent.daemon.signal_queue import Audited, Inbox, WorkerEnded
from agent.daemon.triggers import IntervalTrigger, StartTrigger
from agent.daemon.worker import Audit, Configured, Current, Worker
from agent.model.report import AuditReport
from agent.ports import EventSource
from agent.telemetry.dump import dump_state

#: After this many reads of libvirt in a row without an answer, the runner stops feeding the watchdog.
LIBVIRT_MISSES = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Outside:
    """What the daemon needs besides its configuration.

    - ``reload`` returns the configuration, read anew, or raises ConfigError.
    - ``save`` replaces the report file.
    - ``misses`` counts the reads of libvirt in a row that got no answer in time.
    - ``close`` frees the resources of the parts.
    - ``graceful_s`` is the time limit of a stop in seconds, 0 for none.
    - ``reading`` returns whether the audit is inside a read; ``end_pauses`` cancels its pauses.
    - ``sent_at`` returns when the audit sent its last request to Placement, in monotonic seconds.
    - ``bus`` builds the connection to the message bus, ``NoBus`` where no broker is configured.
    - ``start_delay_s`` is how many seconds the first audit waits, unless an operator asks for an audit.
    """

    audit: Audit
    events: tuple[EventSource, ...]
    reload: Callable[[], Configured]
    save: Callable[[AuditReport], None]
    misses: Callable[[], int]
    close: Callable[[], None]
    graceful_s: float
    reading: Callable[[], bool] = lambda: False
    end_pauses: Callable[[], None] = lambda: None
    sent_at: Callable[[], float] = lambda: 0.0
    bus: Callable[[DaemonControl], BusService] = lambda _control: NoBus()
    start_delay_s: float = 0.0


def assemble(configured: Configured, outside: Outside, inbox: Inbox, notifier: Notifier) -> Runner:
    """Return the runner of a whole daemon."""
    current = Current(configured)
    queue = AuditQueue(configured.pacing)
    if outside.start_delay_s > 0:
        queue.hold()
    bus = outside.bus(_control(queue, lambda: worker.last_report))
    desk = ReportDesk(outside.save, on_status=lambda status: inbox.put(Audited(status)), publish=bus.publish)
    worker = Worker(queue, current, outside.audit, desk, on_end=lambda code: inbox.put(WorkerEnded(code)))
    service = AgentService(
        queue=queue,
        worker=worker,
        interval=IntervalTrigger(queue.request_in_turn, configured.settings.host),
        first=StartTrigger(queue.release, outside.start_delay_s),
        events=outside.events,
        current=current,
        reload=outside.reload,
        close=outside.close,
        reading=outside.reading,
        end_pauses=outside.end_pauses,
        bus=bus,
    )
    return Runner(
        service=service,
        inbox=inbox,
        notifier=notifier,
        healthy=lambda: worker.healthy(outside.sent_at()) and outside.misses() < LIBVIRT_MISSES,
        graceful_s=lambda: outside.graceful_s,
        on_signal={
            signal.SIGUSR1: lambda: queue.request_now("signal: USR1"),
            signal.SIGUSR2: lambda: dump_state(lambda: queue.waiting, lambda: worker.last_report),
        },
    )


def _control(queue: AuditQueue, last_report: Callable[[], AuditReport | None]) -> DaemonControl:
    return DaemonControl(request_by_peer=queue.request_by_peer, waiting=lambda: queue.waiting, last_report=last_report)
