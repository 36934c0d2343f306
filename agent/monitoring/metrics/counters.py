"""Metrics that only grow: the numbers of audits, conflicts, writes, source errors, changes of findings and repairs.

If a metric's labels have a fixed list of values, a series exists from the start for every combination of these values,
with the value 0. So an alert rule needs no ``absent()``.

Pure: the module uses no clock, file, socket or log.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from agent.errors import ConflictKind
from agent.model.finding import Severity
from agent.model.heal import JournalCounts
from agent.model.report import AuditReport, Outcome, SourceStatus
from agent.monitoring.metrics.values import Labels
from agent.repairs import BY_CODE
from agent.telemetry.finding_changes import FindingChange
from agent.timing.histogram import AUDIT_BUCKETS, Histogram

Key = tuple[str, Labels]

REASONS = ("start", "interval", "event", "signal", "rpc", "reload", "retry", "look_again", "other")
ERRORS = ("timeout", "unreachable", "denied", "inconsistent", "unsupported")
CODES = ("2xx", "3xx", "401", "403", "404", "409", "429", "4xx", "503", "5xx", "none")
WRITES = ("provider", "inventories", "traits", "aggregates", "allocations", "compute-node")
RESULTS = ("done", "refused", "failed")
HEAL_RESULTS = ("done", "refused", "unknown")
CHANGES = ("appeared", "confirmed", "gone")
_REASON_BY_TEXT = {"start-up": "start", "interval": "interval", "reload": "reload", "retry": "retry"}
_REASON_BY_START = {"look-again": "look_again", "libvirt": "event", "signal": "signal", "rpc": "rpc"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Counters:
    """The values of all counters.

    ``sums``: each count, by metric and labels. ``audits``: the durations of the audits. ``reads``: for each source, the
    number of reads and their total duration in seconds.
    """

    sums: Mapping[Key, float] = field(default_factory=dict)
    audits: Histogram = field(default_factory=lambda: Histogram(bounds=AUDIT_BUCKETS))
    reads: Mapping[str, tuple[int, float]] = field(default_factory=dict)


def at_start() -> Counters:
    """Return the counters of a new process: 0 for all label values that are known in advance."""
    closed: dict[str, Iterable[Labels]] = {
        "audits": [(outcome.value,) for outcome in Outcome],
        "audit_reasons": [(reason,) for reason in REASONS],
        "placement_conflicts": [(kind.value,) for kind in ConflictKind],
        "placement_writes": [(kind, result) for kind in WRITES for result in RESULTS],
        "finding_changes": [(severity.value, change) for severity in Severity for change in CHANGES],
        "heal_changes": [(code, result) for code in (*sorted(BY_CODE), "undo", "adopt") for result in HEAL_RESULTS],
    }
    return Counters(sums={(name, labels): 0.0 for name, found in closed.items() for labels in found})


def after_audit(
    before: Counters, report: AuditReport, changed: tuple[FindingChange, ...], journal: JournalCounts
) -> Counters:
    """Return the counters after one audit. ``changed``: the findings for which the log reported a change."""
    sums = dict(before.sums)

    def add(name: str, labels: Labels, amount: float = 1) -> None:
        sums[name, labels] = sums.get((name, labels), 0.0) + amount

    add("audits", (report.outcome.value,))
    for reason in sorted({reason_label(reason) for reason in report.reasons}):
        add("audit_reasons", (reason,))
    for kind, times in report.conflict_kinds:
        add("placement_conflicts", (kind,), times)
    for kind, result, times in report.write_results:
        add("placement_writes", (kind, result), times)
    for change in (one for one in changed if one.change.value in CHANGES):
        add("finding_changes", (change.seen.finding.severity.value, change.change.value))
    for code, result, times in journal.new_changes:
        add("heal_changes", (code, result), times)
    asked = [source for source in report.sources if source.asked]
    for source, reason in itertools.product(asked, ERRORS):
        add("source_errors", (source.name, reason), _has_failed(source, reason))
    audits = before.audits.plus(report.duration_ms / 1000)
    return replace(before, sums=sums, audits=audits, reads=_reads(before.reads, asked))


def _reads(before: Mapping[str, tuple[int, float]], asked: Iterable[SourceStatus]) -> dict[str, tuple[int, float]]:
    reads = dict(before)
    for source in asked:
        number, seconds = reads.get(source.name, (0, 0.0))
        reads[source.name] = number + 1, seconds + source.duration_ms / 1000
    return reads


def reason_label(reason: str) -> str:
    """Return the label for the reason of an audit; a reason outside the list gets the label ``other``."""
    if reason in _REASON_BY_TEXT:
        return _REASON_BY_TEXT[reason]
    return next((label for start, label in _REASON_BY_START.items() if reason.startswith(start)), "other")


def _has_failed(source: SourceStatus, reason: str) -> int:
    return int(not source.ok and (source.reason or "unreachable") == reason)
