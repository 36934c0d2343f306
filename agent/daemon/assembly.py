"""Assemble the daemon: one queue, one worker, one service, one runner. Connects the parts and starts nothing."""

from __future__ import annotations

import signal

from agent.bus.options import DaemonControl
from agent.daemon.audit_queue import AuditQueue
from agent.daemon.audit_watch import AuditWatch
from agent.daemon.notifier import Notifier
from agent.daemon.publisher import ReportDesk
from agent.daemon.runner import Runner
from agent.daemon.service import AgentService, LoopControl, Outside
from agent.daemon.signal_queue import Audited, Inbox, WorkerEnded
from agent.daemon.triggers import IntervalTrigger, StartTrigger
from agent.daemon.worker import Configured, Current, Worker
from agent.telemetry.dump import Condition

#: After this many timed-out reads of libvirt in a row, the daemon sends no more watchdog messages, so that systemd
#: restarts the daemon.
LIBVIRT_MISSES = 3


def assemble(configured: Configured, outside: Outside, inbox: Inbox, notifier: Notifier) -> Runner:
    """Return the runner of a daemon, connected to all other parts."""
    current = Current(configured)
    queue = AuditQueue(configured.pacing)
    if outside.start_delay_s > 0:
        queue.hold()
    control = DaemonControl(
        request_by_peer=queue.request_by_peer, waiting=lambda: queue.waiting, last_report=lambda: worker.last_report
    )
    bus = outside.bus(control)

    def healthy() -> bool:
        return worker.healthy(outside.sent_at()) and outside.misses() < LIBVIRT_MISSES

    loop = LoopControl(
        is_alive=healthy,
        running_s=lambda: worker.running_s,
        interval_s=lambda: current.get().interval_s,
        bus=bus.counts,
    )
    monitoring = outside.monitoring(loop)
    desk = ReportDesk(
        outside.save,
        on_status=lambda status: inbox.put(Audited(status)),
        publish=bus.publish,
        audited=monitoring.audited,
    )
    worker = Worker(queue, current, outside.audit, desk, on_end=lambda code: inbox.put(WorkerEnded(code)))
    service = AgentService(
        queue=queue,
        worker=worker,
        interval=IntervalTrigger(queue.request_in_turn, configured.settings.host),
        first=StartTrigger(queue.release, outside.start_delay_s),
        current=current,
        bus=bus,
        monitoring=monitoring,
        outside=outside,
    )

    return Runner(
        service=service,
        inbox=inbox,
        notifier=notifier,
        healthy=healthy,
        watch=AuditWatch(lambda: worker.running_s, outside.reading),
        graceful_s=outside.graceful_s,
        on_signal={
            signal.SIGUSR1: lambda: queue.request_now("signal: USR1"),
            signal.SIGUSR2: lambda: outside.dump(_condition(queue, worker, desk, loop, outside)),
        },
    )


def _condition(queue: AuditQueue, worker: Worker, desk: ReportDesk, loop: LoopControl, outside: Outside) -> Condition:
    """Return what the daemon is doing, for the report that the daemon writes on SIGUSR2."""
    return Condition(
        waiting=queue.waiting,
        report=worker.last_report,
        running_s=worker.running_s,
        reading=outside.reading(),
        is_healthy=loop.is_alive(),
        misses=outside.misses(),
        bus_failures=loop.bus()[0],
        counters=desk.counters,
    )
