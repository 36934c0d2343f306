"""Build the report of one audit: its outcome, and every row that commands print."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from agent.audit.act import Acted
from agent.audit.freshness import behind_s
from agent.audit.parts import AuditTask
from agent.books.confirm import Confirmed
from agent.books.report_rows import consumer_names, evacuation_notes, inventory_rows, trait_rows
from agent.books.storage_ledger import storage_ledger
from agent.errors import PlacementDenied, SourceStale
from agent.model.audit import AuditMemory
from agent.model.nova import NovaState
from agent.model.report import AuditReport, NovaVersions, Outcome, SourceStatus
from agent.model.settings import Role
from agent.model.snapshot import LIBVIRT, PLACEMENT, STATE, AnyReading, Snapshot
from agent.node_record.record import record_note
from agent.node_record.summary import summary


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """The audit's id, start and duration. ``ended`` is the end in monotonic seconds, for computing ages."""

    audit_id: str
    started_at: str
    duration_s: float
    ended: float


def report(run: Run, task: AuditTask, memory: AuditMemory, acted: Acted, confirmed: Confirmed) -> AuditReport:
    """Return the report. A book whose source was not read adds no rows."""
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
        outcome=_outcome(settings.role, acted, confirmed),
        sources=_sources(run, memory, acted),
        findings=confirmed.findings,
        plan=decision.plan,
        published=acted.published,
        writes_done=len(acted.done),
        requests=acted.requests,
        conflicts=len(acted.conflicts),
        conflict_kinds=tuple(sorted(Counter(kind.value for kind in acted.conflicts).items())),
        attempts=acted.attempts,
        error=str(acted.error) if acted.error else None,
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
        names=consumer_names(snapshot.nova.value, host),
    )


def _nova_versions(state: NovaState | None) -> NovaVersions | None:
    if state is None or not state.kind.has_cloud:
        return None
    compute = None if state.service is None else state.service.version
    return NovaVersions(state_source=state.kind.value, compute=compute, conductors=state.conductor_versions)


def _outcome(role: Role, acted: Acted, confirmed: Confirmed) -> Outcome:
    snapshot, decision = acted.snapshot, acted.decision
    if not any(snapshot.fresh(source) for source in (PLACEMENT, STATE, LIBVIRT)):
        return Outcome.UNREADABLE
    if decision.rival is not None and role is not Role.OBSERVER:
        return Outcome.REFUSED
    partial = any(not reading.ok for reading in snapshot.readings) or acted.error is not None
    if partial:
        return Outcome.PARTIAL
    return Outcome.FINDINGS if confirmed.findings else Outcome.CLEAN


def _sources(run: Run, memory: AuditMemory, acted: Acted) -> tuple[SourceStatus, ...]:
    last_good = dict(memory.last_good)
    statuses = []
    for reading in acted.snapshot.readings:
        seen = last_good.get(reading.source)
        statuses.append(
            SourceStatus(
                name=reading.source,
                ok=reading.ok,
                age_s=0.0 if reading.ok else None if seen is None else round(run.ended - seen, 3),
                duration_ms=round(reading.duration_s * 1000, 3),
                error=None if reading.error is None else str(reading.error),
                denied=isinstance(reading.error, PlacementDenied),
                behind_s=_behind_s(reading),
                read=_how_read(acted.snapshot, reading),
            )
        )
    return tuple(statuses)


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
