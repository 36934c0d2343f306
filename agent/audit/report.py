"""Build the report of one audit: its outcome, and every row that commands print."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from agent.audit.act import Acted
from agent.audit.freshness import behind_s
from agent.audit.parts import AuditTask
from agent.audit.remember import Found
from agent.audit.write_results import write_results
from agent.books.host_numbers import guest_numbers, thin_pools
from agent.books.report_rows import consumer_names, evacuation_notes, inventory_rows, provider_places, trait_rows
from agent.books.storage_ledger import storage_ledger
from agent.errors import LockHeld, PlacementNotAsked, SourceStale, failure_reason, is_denied
from agent.model.audit import AuditMemory
from agent.model.finding import Loss, SeenFinding
from agent.model.nova import NovaState
from agent.model.report import AuditReport, NovaVersions, Outcome, SourceStatus
from agent.model.settings import Role
from agent.model.snapshot import LIBVIRT, PLACEMENT, STATE, AnyReading, Snapshot
from agent.node_record.record import record_note
from agent.node_record.summary import summary


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """The audit's id, start and duration. ``ended`` is the end in monotonic seconds, for computing ages.

    ``tried``: the number of requests to Placement, failed requests included.
    ``remembered``: the findings that an earlier process left in the history file; only in this process's first audit.
    """

    audit_id: str
    started_at: str
    duration_s: float
    ended: float
    tried: int = 0
    remembered: tuple[SeenFinding, ...] = ()


def report(run: Run, task: AuditTask, memory: AuditMemory, acted: Acted, found: Found) -> AuditReport:
    """Return the report. ``memory`` is what this audit passes to the next audit.

    The report has no amounts from a source (nova, libvirt or Placement) that was not read.
    """
    settings, decision, snapshot = task.settings, acted.decision, acted.snapshot
    view, uuid = snapshot.placement.value, memory.identity.uuid if memory.identity else None
    host = snapshot.host.value
    seen = decision.host_view
    return AuditReport(
        audit_id=run.audit_id,
        host=settings.host,
        node=memory.node_name,
        provider_uuid=uuid,
        role=settings.role.value,
        reasons=task.request.reasons,
        started_at=run.started_at,
        duration_ms=round(run.duration_s * 1000, 3),
        outcome=_outcome(settings.role, acted, found),
        sources=_sources(run, memory, acted),
        findings=found.live,
        plan=decision.plan,
        published=acted.published,
        writes_done=len(acted.done),
        requests=acted.requests,
        conflicts=len(acted.conflicts),
        conflict_kinds=tuple(sorted(Counter(kind.value for kind in acted.conflicts).items())),
        attempts=acted.attempts,
        error=str(acted.error) if acted.error else None,
        lock_missed=isinstance(acted.error, LockHeld),
        ledger=decision.ledger,
        inventory=inventory_rows(view, decision.tree),
        traits=trait_rows(view, decision.tree),
        storage=storage_ledger(snapshot),
        evacuations=evacuation_notes(decision.state),
        summary=summary(seen, decision.used) if seen else None,
        simulated=host.simulated if host else (),
        resource_view=seen,
        cell_usages=decision.used.cells if decision.used else None,
        record_note=record_note(settings, snapshot.nova.value),
        microversion=view.microversion if view else None,
        nova_versions=_nova_versions(snapshot.nova.value),
        notes=task.parts.notes(),
        write_results=write_results(acted),
        thin_pools=thin_pools(snapshot),
        guests=guest_numbers(host, snapshot.nova.value),
        names=consumer_names(snapshot.nova.value, host),
        providers=provider_places(view, decision.tree),
        gone=found.gone,
        tried=max(run.tried, acted.requests),
        first=memory.audits == 1,
        remembered=run.remembered,
        boot=decision.reads.boot,
        read_until=decision.reads.seen_at,
        nova_alive_since=decision.nova_alive_since,
    )


def _nova_versions(state: NovaState | None) -> NovaVersions | None:
    if state is None or not state.kind.has_cloud:
        return None
    compute = None if state.service is None else state.service.version
    return NovaVersions(state_source=state.kind.value, compute=compute, conductors=state.conductor_versions)


def _outcome(role: Role, acted: Acted, found: Found) -> Outcome:
    snapshot, decision = acted.snapshot, acted.decision
    if not any(snapshot.fresh(source) for source in (PLACEMENT, STATE, LIBVIRT)):
        return Outcome.UNREADABLE
    if decision.rival is not None and role is not Role.OBSERVER:
        return Outcome.REFUSED
    partial = any(not reading.ok for reading in snapshot.readings) or acted.error is not None
    if partial:
        return Outcome.PARTIAL
    return Outcome.FINDINGS if found.live else Outcome.CLEAN


def _sources(run: Run, memory: AuditMemory, acted: Acted) -> tuple[SourceStatus, ...]:
    last_good = dict(memory.last_good)
    losses = {loss.source: loss for loss in memory.history.losses} if memory.history else {}
    return tuple(
        _source(acted.snapshot, reading, run.ended, last_good.get(reading.source), losses.get(reading.source))
        for reading in acted.snapshot.readings
    )


def _source(
    snapshot: Snapshot, reading: AnyReading, ended: float, last_good: float | None, loss: Loss | None
) -> SourceStatus:
    error = reading.error
    return SourceStatus(
        name=reading.source,
        ok=reading.ok,
        age_s=0.0 if reading.ok else None if last_good is None else round(ended - last_good, 3),
        duration_ms=round(reading.duration_s * 1000, 3),
        error=str(error) if error is not None and reading.asked else None,
        denied=is_denied(error),
        behind_s=_behind_s(reading),
        read=_how_read(snapshot, reading),
        asked=reading.asked,
        not_asked_because=error.why if isinstance(error, PlacementNotAsked) else None,
        lost_since=loss.since if loss else None,
        losses=loss.audits if loss else 0,
        reason=failure_reason(error) if reading.asked else None,
    )


def _how_read(snapshot: Snapshot, reading: AnyReading) -> str | None:
    if reading.source != STATE or not reading.ok:
        return None
    return "light" if snapshot.state_read.is_light else "full"


def _behind_s(reading: AnyReading) -> float | None:
    if isinstance(reading.error, SourceStale):
        return None if reading.error.behind_s is None else round(reading.error.behind_s, 3)
    state = reading.value if isinstance(reading.value, NovaState) else None
    age = behind_s(state.pulse) if state else None
    return None if age is None else round(age, 3)
