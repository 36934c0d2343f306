"""Decide which lines an audit is worth in the log.

The log tells changes, not states: a finding that stays says nothing (finding_changes
decides), a condition that repeats is counted and told again with growing gaps, and every
summary interval there is one line of counts. nova-compute's three lines that operators
grep for keep their words and fields. What was told is in a frozen state, passed in and
given back.
"""

from __future__ import annotations

import logging as levels
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from agent.model.plan import HeldBack, Plan
from agent.model.report import AuditReport, HostSummary, Outcome, SourceStatus
from agent.telemetry import events
from agent.telemetry.finding_changes import Change, FindingChange, Told, begins, changes, worth_telling
from agent.telemetry.lines import Line, audit_line, counted, finding_fields, speaks, views, written

# What is another in each message of one and the same trouble (agent/errors.py, agent/placement/http/client.py).
_OF_ONE_REQUEST = re.compile(r" \[req-[^\]\s]*\]|nothing is sent before \S+")

_EVENTS = {
    Change.APPEARED: events.FINDING_APPEARED,
    Change.CONFIRMED: events.FINDING_CONFIRMED,
    Change.CHANGED: events.FINDING_CHANGED,
    Change.GONE: events.FINDING_GONE,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """A source that is unread: for how many audits in a row, whether that was told, and whether we are denied it."""

    times: int
    quiet: bool
    denied: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """What happened since the last summary."""

    audits: int = 0
    requests: int = 0
    conflicts: int = 0
    writes: int = 0
    outcomes: tuple[tuple[str, int], ...] = ()
    conflict_kinds: tuple[tuple[str, int], ...] = ()

    def plus(self, report: AuditReport) -> Counts:
        """These counts with one audit more."""
        outcomes = Counter(dict(self.outcomes))
        outcomes[report.outcome.value] += 1
        kinds = Counter(dict(self.conflict_kinds))
        kinds.update(dict(report.conflict_kinds))
        return Counts(
            audits=self.audits + 1,
            requests=self.requests + report.requests,
            conflicts=self.conflicts + report.conflicts,
            writes=self.writes + report.writes_done,
            outcomes=tuple(sorted(outcomes.items())),
            conflict_kinds=tuple(sorted(kinds.items())),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class LogState:
    """What the log has told so far.

    ``spells`` counts how often each condition began since the last summary: what
    flaps is told at its 1st, 2nd, 4th, … beginning. ``error`` carries how often in
    a row it was met; ``changed`` is what the last audit's lines told of findings;
    ``microversion`` is the newest that Placement was last told to speak.
    """

    findings: Mapping[str, Told] = field(default_factory=dict)
    changed: tuple[FindingChange, ...] = ()
    lost: Mapping[str, Loss] = field(default_factory=dict)
    spells: Mapping[str, int] = field(default_factory=dict)
    outcome: Outcome | None = None
    error: tuple[str, int] | None = None
    held_back: tuple[HeldBack, ...] = ()
    view: HostSummary | None = None
    summary_at: float | None = None
    microversion: tuple[int, int] | None = None
    counts: Counts = field(default_factory=Counts)


def lines(
    state: LogState, report: AuditReport, now: float, summary_interval_s: float
) -> tuple[LogState, tuple[Line, ...]]:
    """What this audit adds to the log, and the state for the next one. ``now`` in monotonic seconds."""
    if report.outcome is Outcome.CANCELLED:
        return state, (audit_line(report),)
    spells = Counter(dict(state.spells))
    summary_due = state.summary_at is not None and now - state.summary_at >= summary_interval_s
    findings, changed = changes(state.findings, report, now, spells)
    lost, source_lines = _sources(state.lost, report.sources, spells)
    error, error_lines = _error(state.error, report)
    counts = state.counts.plus(report)
    view = _steady(report.summary) or state.view
    microversion = report.microversion or state.microversion
    told = (
        *source_lines,
        *((speaks(microversion),) if microversion and microversion != state.microversion else ()),
        *error_lines,
        *_outcome(state.outcome, report, spells),
        *map(_finding_line, changed),
        *written(report),
        *_held_back(state.held_back, report.plan),
        *(_summary(counts, findings, report) if summary_due else ()),
        *(views(report.summary) if report.summary and (summary_due or view != state.view) else ()),
        audit_line(report),
    )
    after = LogState(
        findings=findings,
        changed=changed,
        lost=lost,
        spells={} if summary_due else spells,
        outcome=report.outcome,
        error=error,
        held_back=report.plan.held_back,
        view=view,
        summary_at=now if summary_due or state.summary_at is None else state.summary_at,
        microversion=microversion,
        counts=Counts() if summary_due else counts,
    )
    return after, tuple(_stamped(line, report) for line in told)


def _stamped(line: Line, report: AuditReport) -> Line:
    return replace(line, fields={"audit_id": report.audit_id, **line.fields})


def _steady(summary: HostSummary | None) -> HostSummary | None:
    """The view without what is measured and wanders by itself."""
    return replace(summary, free_ram_mib=None, free_disk_gib=None) if summary else None


def _finding_line(told: FindingChange) -> Line:
    return Line(levels.INFO, _EVENTS[told.change], finding_fields(told.seen))


def _sources(
    before: Mapping[str, Loss], statuses: tuple[SourceStatus, ...], spells: Counter[str]
) -> tuple[dict[str, Loss], tuple[Line, ...]]:
    after = dict(before)
    told: list[Line] = []
    for status in statuses:
        loss = after.pop(status.name, None)
        if status.ok:
            if loss and not loss.quiet:
                told.append(Line(levels.INFO, events.SOURCE_BACK, {"source": status.name}))
            continue
        after[status.name], lines_of_it = _loss(loss, status, spells)
        told.extend(lines_of_it)
    return after, tuple(told)


def _loss(before: Loss | None, status: SourceStatus, spells: Counter[str]) -> tuple[Loss, tuple[Line, ...]]:
    times = before.times + 1 if before else 1
    is_newly_denied = status.denied and not (before and before.denied)
    condition = f"source {status.name} denied" if status.denied else f"source {status.name}"
    is_told = worth_telling(times) if before and not is_newly_denied else begins(condition, spells)
    after = Loss(times=times, quiet=not is_told and (before is None or before.quiet), denied=status.denied)
    if not is_told:
        return after, ()
    fields = {"source": status.name, "error": status.error, "times": times, "age_s": status.age_s}
    level = levels.ERROR if is_newly_denied else levels.INFO
    return after, (Line(level, events.SOURCE_STILL_LOST if before else events.SOURCE_LOST, fields),)


def _error(before: tuple[str, int] | None, report: AuditReport) -> tuple[tuple[str, int] | None, tuple[Line, ...]]:
    if report.error is None:
        return None, ()
    same = _OF_ONE_REQUEST.sub("", report.error)
    times = before[1] + 1 if before and before[0] == same else 1
    fields = {"error": report.error, "outcome": report.outcome.value, "times": times}
    told = (Line(levels.ERROR, events.AUDIT_ERROR, fields),) if worth_telling(times) else ()
    return (same, times), told


def _outcome(before: Outcome | None, report: AuditReport, spells: Counter[str]) -> tuple[Line, ...]:
    if report.outcome is before or not begins(f"outcome {report.outcome.value}", spells):
        return ()
    fields = {"outcome": report.outcome.value, "before": before.value if before else None}
    return (Line(levels.INFO, events.OUTCOME_CHANGED, fields),)


def _held_back(before: tuple[HeldBack, ...], plan: Plan) -> tuple[Line, ...]:
    fresh = [held for held in plan.held_back if held not in before]
    return tuple(
        Line(
            levels.INFO,
            events.WRITE_HELD_BACK,
            {"provider_uuid": held.provider_uuid, "what": held.what, "why": held.why},
        )
        for held in fresh
    )


def _summary(counts: Counts, findings: Mapping[str, Told], report: AuditReport) -> tuple[Line, ...]:
    fields = {
        "audits": counts.audits,
        "outcomes": counted(counts.outcomes),
        "requests": counts.requests,
        "conflicts": counts.conflicts,
        "conflict_kinds": counted(counts.conflict_kinds),
        "writes": counts.writes,
        "findings": len(findings),
        "confirmed": sum(told.seen.confirmed for told in findings.values()),
        "outcome": report.outcome.value,
    }
    return (Line(levels.INFO, events.SUMMARY, fields),)
