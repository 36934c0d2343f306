"""Decide which lines an audit adds to the log.

The log reports changes, not states. A finding that stays the same is not logged again (finding_changes.py decides).
If a condition ends and begins repeatedly, the log reports only its 1st, 2nd, 4th, 8th, … beginning. Once per summary
interval, one line reports counts. Three lines have the same text and fields as lines of nova-compute, because
operators search logs for these lines.

The module keeps no state: the caller passes a frozen LogState (what was logged so far) and gets the next LogState.
"""

from __future__ import annotations

import logging as levels
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from agent.model.plan import HeldBack
from agent.model.report import AuditReport, HostSummary, NovaVersions, Outcome
from agent.telemetry import events
from agent.telemetry.event_log import Line
from agent.telemetry.finding_changes import (
    OUTCOMES_WITHOUT_FINDINGS,
    FindingChange,
    ReportedFinding,
    begins,
    changes,
    worth_reporting,
)
from agent.telemetry.finding_lines import Unknown, change_lines, unknown_lines
from agent.telemetry.finding_lines import counts as counts_of
from agent.telemetry.lines import audit_line, counted, held_back_lines, nova_speaks, speaks, views, written
from agent.telemetry.source_lines import Loss, source_lines
from agent.telemetry.subjects import subjects_of

# The parts of an error text that differ each time the same error occurs: the request id and the time of the next
# request (agent/errors.py, agent/placement/http/client.py). These parts are removed before two errors are compared.
_OF_ONE_REQUEST = re.compile(r" \[req-[^\]\s]*\]|the agent sends nothing before \S+")

_OUTCOME_LEVELS = {
    Outcome.PARTIAL: levels.WARNING,
    Outcome.REFUSED: levels.WARNING,
    Outcome.UNREADABLE: levels.ERROR,
    Outcome.CRASHED: levels.ERROR,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """The numbers of audits, requests, conflicts and writes since the last summary line in the log.

    Before the first summary line, the numbers are those since the start of the process.
    """

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

    def fields(self) -> dict[str, object]:
        """Return the counts (audits, requests, conflicts, writes) by name, for a log line or a report."""
        return {
            "audits": self.audits,
            "outcomes": counted(self.outcomes),
            "requests": self.requests,
            "conflicts": self.conflicts,
            "conflict_kinds": counted(self.conflict_kinds),
            "writes": self.writes,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class LogState:
    """What has been logged so far.

    ``changed``: the changes of findings that the last audit logged.
    ``unknown``: the findings that the log reported as unknown, because a source could not be read.
    ``subjects``: for each finding's id, a text that says what the finding is about.
    ``spells``: how often each condition began since the last summary line. A condition is a finding, an outcome of an
    audit, or an unreadable source. The log reports only its 1st, 2nd, 4th, … beginning.
    ``error``: the last audit's error, and the number of audits in a row with this error.
    ``microversion``: the newest microversion of Placement. ``nova_versions``: the versions of nova's services.
    ``counts``: the numbers of audits, requests and writes since the last summary line. ``total``: those since the start
    of the process.
    """

    findings: Mapping[str, ReportedFinding] = field(default_factory=dict)
    changed: tuple[FindingChange, ...] = ()
    lost: Mapping[str, Loss] = field(default_factory=dict)
    unknown: Unknown = field(default_factory=dict)
    subjects: Mapping[str, str] = field(default_factory=dict)
    spells: Mapping[str, int] = field(default_factory=dict)
    outcome: Outcome | None = None
    error: tuple[str, int] | None = None
    held_back: tuple[HeldBack, ...] = ()
    view: HostSummary | None = None
    summary_at: float | None = None
    microversion: tuple[int, int] | None = None
    nova_versions: NovaVersions | None = None
    counts: Counts = field(default_factory=Counts)
    total: Counts = field(default_factory=Counts)


def lines(
    state: LogState, report: AuditReport, now: float, summary_interval_s: float
) -> tuple[LogState, tuple[Line, ...]]:
    """Return the state for the next audit, and the lines that this audit logs. ``now`` is in monotonic seconds."""
    if report.outcome is Outcome.CANCELLED:
        return state, (audit_line(report),)
    spells = Counter(dict(state.spells))
    summary_due = state.summary_at is not None and now - state.summary_at >= summary_interval_s
    findings, changed = changes(state.findings, report, now, spells)
    lost, lines_of_sources = source_lines(state.lost, report, now, spells)
    subjects = subjects_of(report, state.subjects)
    unknown, lines_of_unknown = unknown_lines(state.unknown, report, spells)
    error, error_lines = _error(state.error, report)
    counts = state.counts.plus(report)
    # The measured free amounts change all the time. If nothing else has changed, do not log the resource view again.
    view = replace(report.summary, free_ram_mib=None, free_disk_gib=None) if report.summary else state.view
    microversion = report.microversion or state.microversion
    nova_versions = report.nova_versions or state.nova_versions
    logged = (
        *lines_of_sources,
        *((speaks(microversion),) if microversion and microversion != state.microversion else ()),
        *((nova_speaks(nova_versions),) if nova_versions and nova_versions != state.nova_versions else ()),
        *error_lines,
        *_outcome(state.outcome, report, spells),
        *lines_of_unknown,
        *change_lines(changed, state.findings, subjects),
        *written(report),
        *held_back_lines(state.held_back, report, spells),
        *((_first_audit(report),) if state.outcome is None else ()),
        *(_summary(counts, findings, report) if summary_due else ()),
        *(views(report.summary) if report.summary and (summary_due or view != state.view) else ()),
        audit_line(report),
    )
    after = LogState(
        findings=findings,
        changed=changed,
        lost=lost,
        unknown=unknown,
        subjects={name: text for name, text in subjects.items() if name in findings},
        spells={} if summary_due else spells,
        outcome=report.outcome,
        error=error,
        held_back=report.plan.held_back,
        view=view,
        summary_at=now if summary_due or state.summary_at is None else state.summary_at,
        microversion=microversion,
        nova_versions=nova_versions,
        counts=Counts() if summary_due else counts,
        total=state.total.plus(report),
    )
    return after, tuple(replace(line, fields={"audit_id": report.audit_id, **line.fields}) for line in logged)


def _error(before: tuple[str, int] | None, report: AuditReport) -> tuple[tuple[str, int] | None, tuple[Line, ...]]:
    if report.error is None:
        return None, ()
    same = _OF_ONE_REQUEST.sub("", report.error)
    times = before[1] + 1 if before and before[0] == same else 1
    fields = {"error": report.error, "outcome": report.outcome.value, "times": times}
    return (same, times), (Line(event=events.AUDIT_ERROR, fields=fields),) if worth_reporting(times) else ()


def _outcome(before: Outcome | None, report: AuditReport, spells: Counter[str]) -> tuple[Line, ...]:
    if report.outcome is before or not begins(f"outcome {report.outcome.value}", spells):
        return ()
    fields = {"outcome": report.outcome.value, "before": before.value if before else None}
    level = _OUTCOME_LEVELS.get(report.outcome, levels.INFO)
    return (Line(event=events.OUTCOME_CHANGED, chosen_level=level, fields=fields),)


def _first_audit(report: AuditReport) -> Line:
    """Return the line about the first audit of this process."""
    fields = {
        "outcome": report.outcome.value,
        **counts_of(report.findings),
        **_unread_and_role(report),
        "duration_ms": round(report.duration_ms),
        "writes": report.writes_done,
    }
    return Line(event=events.FIRST_AUDIT_DONE, fields=fields)


def _unread_and_role(report: AuditReport) -> dict[str, object]:
    return {"unread": tuple(source.name for source in report.sources if not source.ok), "role": report.role}


def _summary(counts: Counts, findings: Mapping[str, ReportedFinding], report: AuditReport) -> tuple[Line, ...]:
    looked = report.outcome not in OUTCOMES_WITHOUT_FINDINGS
    live = report.findings if looked else tuple(reported.seen for reported in findings.values())
    fields = {
        **counts.fields(),
        **counts_of(live),
        **_unread_and_role(report),
        "confirmed": sum(seen.confirmed for seen in live),
        "outcome": report.outcome.value,
    }
    return (Line(event=events.SUMMARY, fields=fields),)
