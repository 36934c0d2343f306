"""Log an audit that runs for long, before systemd restarts a daemon whose audit makes no progress."""

from __future__ import annotations

from collections.abc import Callable

from agent.telemetry import events
from agent.telemetry.event_log import log_event

#: An audit that runs for this many seconds is logged. systemd restarts the daemon after 180 s without progress.
LONG_AUDIT_S = 120.0
NO_READ = "no source is being read: the audit computes, writes or waits"


class AuditWatch:
    """Logs each long audit once. The main thread calls ``check``, because the worker's thread may hang.

    ``running_s`` returns how many seconds the audit has run, 0 between audits. ``reading`` returns the source that the
    audit reads, "" if the audit reads no source at this moment.
    """

    def __init__(self, running_s: Callable[[], float], reading: Callable[[], str]) -> None:
        self._running_s = running_s
        self._reading = reading
        self._is_logged = False

    def check(self) -> None:
        """Log the running audit if it is long and not logged yet."""
        running_s = self._running_s()
        is_long = running_s >= LONG_AUDIT_S
        if is_long and not self._is_logged:
            log_event(events.AUDIT_RUNNING, **{"for_s": round(running_s), "in": self._reading() or NO_READ})
        self._is_logged = is_long
