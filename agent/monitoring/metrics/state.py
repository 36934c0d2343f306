"""Compute the metrics after an audit from the metrics before the audit and from the audit's report.

While a source cannot be read, the values that need the source stay as they were after the last audit that read it. The
metrics ``source_up`` and ``findings_known`` show that a source was not read. The number of series has an upper limit.
``left_out`` counts the series beyond the limit.

Pure: the module uses no clock, file, socket or log.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from agent.findings import BUILTIN as RULES
from agent.model.finding import FindingState, SeenFinding, Severity
from agent.model.heal import JournalCounts
from agent.model.report import AuditReport, Outcome
from agent.monitoring.metrics import amounts, counters
from agent.monitoring.metrics.counters import Counters
from agent.monitoring.metrics.values import Sample, Samples, capped
from agent.telemetry.finding_changes import FindingChange
from agent.timing.instants import seconds_of

_FIRST_CLASSES = ("VCPU", "PCPU", "MEMORY_MB", "DISK_GB")
_MOST_CODES = 10
#: The metrics that have a label with a limited number of different values. Each metric has two numbers here: the
#: position of this label among the metric's labels, and the maximum number of values.
_CAPS: Mapping[str, tuple[int, int]] = {
    **{
        f"resource_{name}": (2, 8)
        for name in ("inventory", "reserved", "used", "free", "max_unit", "allocation_ratio", "differs")
    },
    **{name: (1, 8) for name in ("book_amount", "resource_leaked", "resource_missing", "resource_unmanaged")},
    **{f"store_{name}_bytes": (0, 3) for name in ("size", "unaccounted", "owner")},
    **{f"thin_pool_{name}_ratio": (0, 4) for name in ("data_used", "metadata_used", "overcommit")},
    **{name: (0, 8) for name in ("numa_dedicated_cpus_free", "numa_memory_free_bytes", "huge_pages_free")},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEnd:
    """Facts about an audit that are not in its report.

    ``at`` is when the audit ended, in seconds since the epoch. ``interval_s`` is None without periodic audits.
    ``changed`` are the findings for which the log reported a change.
    """

    at: float
    interval_s: float | None
    journal: JournalCounts
    changed: tuple[FindingChange, ...] = ()
    state_source: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricState:
    """All counters, and the gauges by group. An audit that knows the values of a group replaces the whole group."""

    counters: Counters = field(default_factory=counters.at_start)
    groups: Mapping[str, Samples] = field(default_factory=dict)
    left_out: int = 0
    reload_ok: bool = True
    reloaded_at: float = 0.0

    @property
    def gauges(self) -> dict[str, tuple[Sample, ...]]:
        """All gauges whose values come from audits, by metric."""
        found: dict[str, tuple[Sample, ...]] = {}
        for samples in self.groups.values():
            for name, rows in samples.items():
                found[name] = (*found.get(name, ()), *rows)
        return found


def after_audit(before: MetricState, report: AuditReport, end: AuditEnd) -> MetricState:
    """Return the metrics after one audit."""
    groups = dict(before.groups)
    known: dict[str, Samples | None] = {
        "audit": _audit(report, end),
        "complete": _complete(report, end),
        "sources": _sources(before.groups.get("sources", {}), report, end),
        "findings": _findings(report.findings, report),
        "resources": amounts.resources(report),
        "differs": amounts.differs(report, groups.get("differs", {})),
        **{f"book {name}": amounts.book(report, name, groups.get(f"book {name}", {})) for name in amounts.BOOKS},
        "leaks": amounts.leaks(report, groups.get("leaks", {})),
        "unmanaged": amounts.unmanaged(report),
        "stores": amounts.stores(report, groups.get("stores", {})),
        "pools": amounts.pools(report),
        "guests": amounts.guests(report),
        "numa": amounts.numa(report),
    }
    for name, samples in known.items():
        if samples is not None:
            groups[name] = {metric: _capped(metric, rows) for metric, rows in samples.items()}
    full = {name: known[name] if known[name] is not None else before.groups.get(name, {}) for name in known}
    left_out = sum(_size(full[name] or {}) - _size(groups.get(name, {})) for name in full)
    counted = counters.after_audit(before.counters, report, end.changed, end.journal)
    return replace(before, counters=counted, groups=groups, left_out=max(0, left_out) + _codes_left_out(report))


def after_reload(before: MetricState, at: float, *, is_successful: bool) -> MetricState:
    """Return the metrics after the configuration was read, at the agent's start or at a reload.

    ``at`` is the time in seconds since the epoch.
    """
    return replace(before, reload_ok=is_successful, reloaded_at=at if is_successful else before.reloaded_at)


def _size(samples: Samples) -> int:
    return sum(len(rows) for rows in samples.values())


def _capped(metric: str, rows: Iterable[Sample]) -> tuple[Sample, ...]:
    if metric == "store_owner_bytes":
        rows = capped(rows, 10, 1)
    if metric not in _CAPS:
        return tuple(rows)
    position, most = _CAPS[metric]
    return capped(rows, most, position, _FIRST_CLASSES)


def _audit(report: AuditReport, end: AuditEnd) -> Samples:
    heal = report.heal
    versions = report.nova_versions
    state_source = versions.state_source if versions else end.state_source
    microversion = ".".join(map(str, report.microversion)) if report.microversion else ""
    view = report.resource_view
    libvirt = str(view.hypervisor_version or "") if view else ""
    labels = (report.node or report.host, report.role, state_source, microversion, libvirt)
    return {
        "agent_info": (Sample(labels, 1),),
        "audit_last_timestamp_seconds": (Sample((), end.at),),
        "audit_interval_seconds": (Sample((), end.interval_s or 0),),
        "audit_outcome": tuple(Sample((one.value,), one is report.outcome) for one in Outcome),
        "writes_held_back": (Sample((), len(report.plan.held_back)),),
        "journal_open_entries": (Sample((), end.journal.open_entries),),
        "heal_enabled": (Sample((), bool(heal and heal.enabled)),),
        "heal_waiting": (Sample((), heal.waiting),) if heal and heal.waiting is not None else (),
    }


def _complete(report: AuditReport, end: AuditEnd) -> Samples | None:
    if not report.sources or not all(source.ok for source in report.sources):
        return None
    return {"audit_last_complete_timestamp_seconds": (Sample((), end.at),)}


def _sources(before: Samples, report: AuditReport, end: AuditEnd) -> Samples:
    """Return the gauges about each source. If the audit did not try to read a source, its gauges stay unchanged."""
    up = {sample.labels: sample.value for sample in before.get("source_up", ())}
    read = {sample.labels: sample.value for sample in before.get("source_last_read_timestamp_seconds", ())}
    for source in report.sources:
        if source.asked:
            up[(source.name,)] = float(source.ok)
        if source.ok:
            read[(source.name,)] = end.at
    return {
        "source_up": tuple(Sample(labels, value) for labels, value in sorted(up.items())),
        "source_last_read_timestamp_seconds": tuple(Sample(labels, value) for labels, value in sorted(read.items())),
    }


def _findings(findings: tuple[SeenFinding, ...], report: AuditReport) -> Samples:
    confirmed = Counter((s.finding.code, s.finding.severity.value) for s in findings if s.confirmed)
    seen_only = Counter((s.finding.code, s.finding.severity.value) for s in findings if not s.confirmed)
    zero = {(rule.code, rule.severity.value): 0 for rule in RULES}
    shown = dict(sorted((zero | confirmed).items()))
    few = sorted(seen_only.items(), key=lambda item: (-item[1], item[0]))[:_MOST_CODES]
    unknown = Counter(s.finding.severity for s in findings if s.state is FindingState.UNKNOWN)
    causes = Counter(s.finding.severity for s in findings if not s.caused_by)
    is_known = not unknown and bool(report.sources) and all(source.ok for source in report.sources)
    return {
        "findings": (
            *(Sample((code, severity, "true"), number) for (code, severity), number in shown.items()),
            *(Sample((code, severity, "false"), number) for (code, severity), number in sorted(few)),
        ),
        "findings_unknown": tuple(Sample((one.value,), unknown[one]) for one in Severity),
        "findings_known": (Sample((), is_known),),
        "finding_causes": tuple(Sample((one.value,), causes[one]) for one in Severity),
        "finding_oldest_timestamp_seconds": _oldest(findings),
    }


def _oldest(findings: tuple[SeenFinding, ...]) -> tuple[Sample, ...]:
    oldest: dict[str, str] = {}
    for seen in findings:
        code = seen.finding.code
        oldest[code] = min(oldest.get(code, seen.first_seen_at), seen.first_seen_at)
    few = sorted(oldest.items(), key=lambda item: (item[1], item[0]))[:_MOST_CODES]
    times = ((code, seconds_of(at)) for code, at in sorted(few))
    return tuple(Sample((code,), seconds) for code, seconds in times if seconds is not None)


def _codes_left_out(report: AuditReport) -> int:
    unconfirmed = {(s.finding.code, s.finding.severity) for s in report.findings if not s.confirmed}
    codes = {s.finding.code for s in report.findings}
    return max(0, len(unconfirmed) - _MOST_CODES) + max(0, len(codes) - _MOST_CODES)
