"""Log what the daemon is doing: each thread's stack, the reasons for the next audit, the last report."""

from __future__ import annotations

import sys
import threading
import traceback

from agent.model.report import AuditReport
from agent.telemetry import events
from agent.telemetry.event_log import log_event


def dump_state(waiting: tuple[str, ...], report: AuditReport | None) -> None:
    """Log one line with the last report and the reasons for which the next audit is due, and one line for each thread.

    A stack contains no values of variables and so no secrets.
    """
    fields = {
        "waiting": waiting,
        "last_audit_id": report.audit_id if report else None,
        "last_audit_at": report.started_at if report else None,
        "outcome": report.outcome.value if report else None,
        "sources": tuple(f"{source.name}: {source.error or 'ok'}" for source in report.sources) if report else (),
        "findings": tuple(seen.finding.code for seen in report.findings) if report else (),
    }
    log_event(events.STATE_DUMP, **fields)
    names = {thread.ident: thread.name for thread in threading.enumerate()}
    stacks = [
        (names.get(ident, str(ident)), "".join(traceback.format_stack(frame)))
        for ident, frame in sys._current_frames().items()
    ]
    for name, stack in sorted(stacks):
        log_event(events.THREAD_DUMP, of=name, stack=stack)
