"""Run the main thread: turn signals into start, stop, reload and audits, and report to systemd.

The agent has a loop of its own, because oslo.service's launchers do not fit. They fork child processes. On SIGHUP they
either lose the running audit or exit. They send READY to systemd before anything runs.
"""

from __future__ import annotations

import queue
import signal
import threading
import time
from collections.abc import Callable, Mapping

from agent.daemon.audit_watch import AuditWatch
from agent.daemon.notifier import Notifier
from agent.daemon.service import AgentService, Reloaded
from agent.daemon.signal_queue import Audited, Inbox, Message, WorkerEnded
from agent.errors import ConfigError
from agent.exit_codes import BUG, CLEAN, CONFIGURATION
from agent.telemetry import events
from agent.telemetry.event_log import log_bug, log_event

#: The runner sends READY to systemd after the first audit, and after this many seconds at the latest.
READY_AFTER_S = 10.0
#: The longest wait of the main thread in seconds. Python's signal handler runs in the main thread. If another thread
#: receives the signal, or the signal comes just before the wait, the main thread does not wake up, and the handler runs
#: only after the wait (seen with 2 signals at once). So the wait must be short, or a stop would be delayed for long.
TICK_S = 1.0
#: After a reload, the log line names at most this many changed options.
CHANGES_NAMED = 10


class Runner:
    """The main loop of the daemon.

    ``on_signal`` has the functions to call on SIGUSR1 and SIGUSR2. ``graceful_s`` is the time limit in seconds for a
    stop; 0 means no limit.
    """

    def __init__(
        self,
        *,
        service: AgentService,
        inbox: Inbox,
        notifier: Notifier,
        healthy: Callable[[], bool],
        watch: AuditWatch,
        graceful_s: float,
        on_signal: Mapping[int, Callable[[], None]],
    ) -> None:
        self._service = service
        self._inbox = inbox
        self._notifier = notifier
        self._healthy = healthy
        self._watch = watch
        self._graceful_s = graceful_s
        self._on_signal = on_signal
        self._ready = False
        self._status = "first audit runs"

    def run(self) -> int:
        """Run until a signal requests a stop or the worker ends; return the exit code."""
        try:
            self._service.start()
        except ConfigError as error:
            log_event(events.START_FAILED, error="; ".join(error.problems), problems=error.problems)
            return CONFIGURATION
        except Exception as error:  # noqa: BLE001 - the process ends with the code of a bug
            log_bug(events.START_FAILED, error)
            return BUG
        log_event(events.STARTED)
        return self._listen(time.monotonic())

    def _listen(self, started_at: float) -> int:
        watchdog_s = self._notifier.watchdog_s
        tick_s = min(TICK_S, watchdog_s / 3) if watchdog_s else TICK_S
        fed_at = float("-inf")
        while True:
            message = self._next(tick_s if self._ready else min(tick_s, 0.5))
            now = time.monotonic()
            self._watch.check()
            if isinstance(message, Audited):
                self._announce(message.status)
            elif not self._ready and now - started_at >= READY_AFTER_S:
                self._announce(self._status)
            if watchdog_s and now - fed_at >= tick_s and self._healthy():
                self._notifier.send("WATCHDOG=1")
                fed_at = now
            code = self._act_on(message)
            if code is not None:
                return code

    def _next(self, timeout_s: float) -> Message | None:
        try:
            return self._inbox.get(timeout=timeout_s)
        except queue.Empty:
            return None

    def _announce(self, status: str) -> None:
        self._status = status
        self._notifier.send(*(() if self._ready else ("READY=1",)), f"STATUS={status}")
        self._ready = True

    def _act_on(self, message: Message | None) -> int | None:
        """Act on a message; return an exit code if the message ends the process."""
        if isinstance(message, WorkerEnded):
            log_event(events.WORKER_ENDED, exit_code=message.code or BUG)
            self._notifier.send("STOPPING=1", "STATUS=the agent ends, because its worker thread has ended")
            return message.code or BUG
        if message in {signal.SIGTERM, signal.SIGINT}:
            return self._stop()
        if message == signal.SIGHUP:
            self._reload()
        elif isinstance(message, int):
            try:
                self._on_signal[message]()
            except Exception as error:  # noqa: BLE001 - the daemon goes on
                log_bug(events.SIGNAL_FAILED, error, signal=message)
        return None

    def _reload(self) -> None:
        self._notifier.send("RELOADING=1", f"MONOTONIC_USEC={time.monotonic_ns() // 1000}")
        began = time.monotonic()
        try:
            reloaded = self._service.reload()
            log_event(events.RELOADED, **_reload_fields(reloaded), duration_ms=round((time.monotonic() - began) * 1000))
        except ConfigError as error:
            log_event(events.RELOAD_REFUSED, error="; ".join(error.problems), problems=error.problems)
        except Exception as error:  # noqa: BLE001 - the daemon goes on with its old configuration
            log_bug(events.RELOAD_REFUSED, error)
        self._notifier.send(*(("READY=1",) if self._ready else ()), f"STATUS={self._status}")

    def _stop(self) -> int:
        """Stop the service and wait until it has stopped, no longer than the time limit. A SIGINT ends the wait."""
        self._notifier.send("STOPPING=1", "STATUS=stopping")
        log_event(events.STOPPING)
        outcome: list[bool] = []
        stopper = threading.Thread(target=self._stop_service, args=(outcome,), name="stopper", daemon=True)
        stopper.start()
        limit_s = self._graceful_s or float("inf")
        deadline = time.monotonic() + limit_s
        while stopper.is_alive() and time.monotonic() < deadline:
            stopper.join(0.02)
            if not self._inbox.empty() and self._next(0) == signal.SIGINT:
                break
        if outcome:
            log_event(events.STOPPED)
            return CLEAN
        log_event(events.STOP_INCOMPLETE, limit_s=limit_s)
        return BUG

    def _stop_service(self, outcome: list[bool]) -> None:
        try:
            self._service.stop()
            outcome.append(True)
        except Exception as error:  # noqa: BLE001 - the caller reports the exit code
            log_bug(events.STOP_INCOMPLETE, error)


def _reload_fields(reloaded: Reloaded) -> dict[str, object]:
    more = len(reloaded.changed) - CHANGES_NAMED
    named = (*reloaded.changed[:CHANGES_NAMED], *([f"and {more} more"] if more > 0 else ()))
    return {"changed": "; ".join(named) or "-", "restart_needed": reloaded.restart_needed}
