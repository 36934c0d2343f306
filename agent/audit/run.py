"""Run one audit: ``run_audit`` is the one function that every trigger and every command calls.

Begin reading here. Each step (read, decide, act, remember) is a module of agent/audit. The rules are pure functions in
agent/books, agent/findings, agent/resources, agent/provider_tree and agent/node_record. The caller keeps AuditMemory,
the value that one audit passes to the next.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from agent.audit.act import Acted, decide_and_act
from agent.audit.history import with_history
from agent.audit.parts import AuditTask, Parts
from agent.audit.read import heartbeat_after, identified, node_name, read
from agent.audit.remember import remember
from agent.audit.report import Run, report
from agent.audit.store import remember_store, with_store
from agent.books.confirm import seen_of
from agent.errors import PlacementError
from agent.model.audit import AuditMemory, AuditRequest, AuditResult
from agent.model.settings import Settings


def run_audit(
    request: AuditRequest, settings: Settings, parts: Parts, memory: AuditMemory, cancelled: Callable[[], bool]
) -> AuditResult:
    """Run one audit and return its report, the memory for the next audit, and the snapshot of the sources.

    Raises ConfigError if the host's identity is lost or ambiguous, AuditCancelled if ``cancelled`` reports a requested
    stop. Any other exception is a bug.
    """
    audit_id = parts.new_id()
    started_at, began = parts.clock.now(), parts.clock.monotonic()
    task = AuditTask(
        request=request, settings=settings, parts=parts, cancelled=cancelled, late=parts.late(), began=began
    )
    tried, is_first = parts.tried(), memory.history is None
    with parts.request_scope(audit_id):
        memory = with_history(task, memory)
        remembered = memory.history.sightings if is_first and memory.history else ()
        memory = identified(task, with_store(task, memory))
        snapshot = read(task, memory)
        task = dataclasses.replace(task, read_by=parts.clock.monotonic())
        heartbeat = heartbeat_after(task, memory, snapshot)
        memory = dataclasses.replace(memory, node_name=node_name(memory, snapshot), heartbeat=heartbeat)
        acted = decide_and_act(task, memory, snapshot)
    found, memory, audit_again = remember(task, remember_store(task, memory, acted.snapshot), acted)
    ended = parts.clock.monotonic()
    run = Run(
        audit_id=audit_id,
        started_at=started_at,
        duration_s=ended - began,
        ended=ended,
        tried=parts.tried() - tried,
        remembered=tuple(map(seen_of, remembered)),
    )
    return AuditResult(
        report=report(run, task, memory, acted, found),
        memory=memory,
        audit_again=audit_again,
        snapshot=acted.snapshot,
        not_before=_not_before(acted),
        began=began,
    )


def _not_before(acted: Acted) -> float | None:
    """Return the time before which Placement's Retry-After forbids a retry; None if no response has a Retry-After."""
    errors = (acted.error, *(reading.error for reading in acted.snapshot.readings))
    times = [error.not_before for error in errors if isinstance(error, PlacementError) and error.not_before is not None]
    return max(times, default=None)
