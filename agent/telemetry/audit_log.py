"""Decide which lines an audit adds to the log.

The log reports changes, not states. A finding that stays the same is not logged again (finding_changes.py decides). A
condition that repeats is counted and logged again with growing gaps. Once per summary interval, one line reports
counts. The three lines of nova-compute that operators grep for keep their text and fields.

The module keeps no state: the caller passes a frozen LogState (what was logged so far) and gets the next LogState.
"""

from __future__ import annotations

import dataclasses
import logging as levels
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from agent.model.plan import HeldBack, Plan
from agent.model.report import AuditReport, HostSummary, NovaVersions, Outcome, SourceStatus
from agent.telemetry import events
from agent.telemetry.finding_changes import Change, FindingChange, ReportedFinding, begins, changes, worth_reporting
from agent.telemetry.lines import Line, audit_line, counted, finding_fields, nova_speaks, speaks, views, written

# The parts of an error text that differ even if the same error occurs again: the request id and the time of the next
# request (agent/errors.py, agent/placement/http/client.py). They are removed before two errors are compared.
_OF_ONE_REQUEST = re.compile(r" \[req-[^\]\s]*\]|nothing is sent before \S+")

_EVENTS = {
    Change.APPEARED: events.FINDING_APPEARED,
    Change.CONFIRMED: events.FINDING_CONFIRMED,
    Change.CHANGED: events.FINDING_CHANGED,
    Change.GONE: events.FINDING_GONE,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """A source that audits could not read. ``times`` counts the consecutive audits that could not read the source.

    ``quiet``: the loss has not been logged. ``denied``: Placement refused the agent's credentials.
    """

    times: int
    quiet: bool
    denied: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """What the audits did since the last summary line in the log, as numbers."""

    audits: int = 0
    requests: int = 0
    conflicts: int = 0
    writes: int = 0
    outcomes: tuple[tuple[str, int], ...] = ()
    conflict_kinds: tuple[tuple[str, int], ...] = ()

    def plus(self, report: AuditReport) -> Counts:
        """Return these counts plus one audit."""
        outcomes = Counter(dict(self.outcomes)) + Counter([report.outcome.value])
        kinds = Counter(dict(self.conflict_kinds)) + Counter(dict(report.conflict_kinds))
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
    """What has been logged so far.

    A condition is a finding, an outcome or an unreadable source. ``spells`` counts how often each condition began since
    the last summary; only the 1st, 2nd, 4th, … is logged. ``error`` is the last audit's error, and how many audits in a
    row had it. ``changed`` are the changes of findings that the last audit logged. ``microversion`` is Placement's,
    ``nova_versions`` are those of nova's services.
    """

    findings: Mapping[str, ReportedFinding] = field(default_factory=dict)
    changed: tuple[FindingChange, ...] = ()
    lost: Mapping[str, Loss] = field(default_factory=dict)
    spells: Mapping[str, int] = field(default_factory=dict)
    outcome: Outcome | None = None
    error: tuple[str, int] | None = None
    held_back: tuple[HeldBack, ...] = ()
    view: HostSummary | None = None
    summary_at: float | None = None
    microversion: tuple[int, int] | None = None
    nova_versions: NovaVersions | None = None
    counts: Counts = field(default_factory=Counts)


def lines(
    state: LogState, report: AuditReport, now: float, summary_interval_s: float
) -> tuple[LogState, tuple[Line, ...]]:
    """Return the state for the next audit, and the lines that this audit logs; ``now`` is in monotonic seconds."""
    if report.outcome is Outcome.CANCELLED:
        return state, (audit_line(report),)
    spells = Counter(dict(state.spells))
    summary_due = state.summary_at is not None and now - state.summary_at >= summary_interval_s
    findings, changed = changes(state.findings, report, now, spells)
    lost, source_lines = _sources(state.lost, report.sources, spells)
    error, error_lines = _error(state.error, report)
    counts = state.counts.plus(report)
    # The measured free amounts change all the time, so a change of only these amounts logs no new resource view.
    view = replace(report.summary, free_ram_mib=None, free_disk_gib=None) if report.summary else state.view
    microversion = report.microversion or state.microversion
    nova_versions = report.nova_versions or state.nova_versions
    logged = (
        *source_lines,
        *((speaks(microversion),) if microversion and microversion != state.microversion else ()),
        *((nova_speaks(nova_versions),) if nova_versions and nova_versions != state.nova_versions else ()),
        *error_lines,
        *_outcome(state.outcome, report, spells),
        *(Line(levels.INFO, _EVENTS[change.change], finding_fields(change.seen)) for change in changed),
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
        nova_versions=nova_versions,
        counts=Counts() if summary_due else counts,
    )
    return after, tuple(replace(line, fields={"audit_id": report.audit_id, **line.fields}) for line in logged)


def _sources(
    before: Mapping[str, Loss], statuses: tuple[SourceStatus, ...], spells: Counter[str]
) -> tuple[dict[str, Loss], tuple[Line, ...]]:
    after = dict(before)
    logged: list[Line] = []
    for status in statuses:
        loss = after.pop(status.name, None)
        if status.ok:
            if loss and not loss.quiet:
                logged.append(Line(levels.INFO, events.SOURCE_BACK, {"source": status.name}))
            continue
        after[status.name], lines_of_it = _loss(loss, status, spells)
        logged.extend(lines_of_it)
    return after, tuple(logged)


def _loss(before: Loss | None, status: SourceStatus, spells: Counter[str]) -> tuple[Loss, tuple[Line, ...]]:
    times = before.times + 1 if before else 1
    is_newly_denied = status.denied and not (before and before.denied)
    condition = f"source {status.name} denied" if status.denied else f"source {status.name}"
    is_logged = worth_reporting(times) if before and not is_newly_denied else begins(condition, spells)
    after = Loss(times=times, quiet=not is_logged and (before is None or before.quiet), denied=status.denied)
    if not is_logged:
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
    return (same, times), (Line(levels.ERROR, events.AUDIT_ERROR, fields),) if worth_reporting(times) else ()


def _outcome(before: Outcome | None, report: AuditReport, spells: Counter[str]) -> tuple[Line, ...]:
    if report.outcome is before or not begins(f"outcome {report.outcome.value}", spells):
        return ()
    fields = {"outcome": report.outcome.value, "before": before.value if before else None}
    return (Line(levels.INFO, events.OUTCOME_CHANGED, fields),)


def _held_back(before: tuple[HeldBack, ...], plan: Plan) -> tuple[Line, ...]:
    return tuple(
        Line(levels.INFO, events.WRITE_HELD_BACK, dataclasses.asdict(held))
        for held in plan.held_back
        if held not in before
    )


def _summary(counts: Counts, findings: Mapping[str, ReportedFinding], report: AuditReport) -> tuple[Line, ...]:
    fields = {
        "audits": counts.audits,
        "outcomes": counted(counts.outcomes),
        "requests": counts.requests,
        "conflicts": counts.conflicts,
        "conflict_kinds": counted(counts.conflict_kinds),
        "writes": counts.writes,
        "findings": len(findings),
        "confirmed": sum(reported.seen.confirmed for reported in findings.values()),
        "outcome": report.outcome.value,
    }
    return (Line(levels.INFO, events.SUMMARY, fields),)
