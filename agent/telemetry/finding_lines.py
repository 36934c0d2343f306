"""The log lines about findings: what changed, and which findings are unknown while a source cannot be read."""

from __future__ import annotations

import logging as levels
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from agent.model.finding import FindingState, GoneFinding, SeenFinding, Severity
from agent.model.report import AuditReport
from agent.telemetry import events
from agent.telemetry.event_log import Line
from agent.telemetry.finding_changes import (
    OUTCOMES_WITHOUT_FINDINGS,
    Change,
    FindingChange,
    ReportedFinding,
    begins,
)

_EVENTS = {
    Change.APPEARED: events.FINDING_APPEARED,
    Change.CONFIRMED: events.FINDING_CONFIRMED,
    Change.CHANGED: events.FINDING_CHANGED,
}
_LEVELS = {Severity.ERROR: levels.ERROR, Severity.WARNING: levels.WARNING, Severity.INFO: levels.INFO}
SOURCE_UNAVAILABLE = "source-unavailable"

#: Maps the name of a lost source to the ids of the findings that were logged as unknown because of the loss.
Unknown = Mapping[str, frozenset[str]]


def change_lines(
    changed: Iterable[FindingChange], before: Mapping[str, ReportedFinding], subjects: Mapping[str, str]
) -> tuple[Line, ...]:
    """Return a line for each change.

    The keys of ``before`` and ``subjects`` are finding ids. ``before`` has the findings as last reported. The texts in
    ``subjects`` say what each finding is about.
    """
    return tuple(
        _gone_line(change.seen, change.gone, subjects.get(change.seen.finding.id))
        if change.change is Change.GONE
        else Line(
            event=_EVENTS[change.change],
            chosen_level=finding_level(change.seen),
            fields=finding_fields(change.seen, subjects.get(change.seen.finding.id)),
        )
        for change in changed
        if not _repeats_the_source(change, before)
    )


def finding_level(seen: SeenFinding) -> int:
    """Return the log level for the finding's severity, at most WARNING while the finding is not confirmed."""
    level = _LEVELS[seen.finding.severity]
    return level if seen.confirmed else min(level, levels.WARNING)


def finding_fields(seen: SeenFinding, subject: str | None) -> dict[str, Any]:
    """Return the fields of a finding for its log line, without the fields that are None.

    ``fix`` is the first command that the finding suggests to the operator.
    """
    finding = seen.finding
    fields = {
        "code": finding.code,
        "finding_id": finding.id,
        "severity": finding.severity.value,
        "state": seen.state.value,
        "confirmed": seen.confirmed,
        "caused_by": seen.caused_by or None,
        "provider_uuid": finding.provider_uuid,
        "consumer_uuid": finding.consumer_uuid,
        "resource_class": finding.resource_class,
        "subject": subject or finding.subject or None,
        "expected": finding.expected,
        "actual": finding.actual,
        "remedy": finding.remedy,
        "fix": next((remedy.command for remedy in finding.remedies if remedy.command), None),
        "first_seen_at": seen.first_seen_at,
    }
    known = {name for name, value in fields.items() if value is not None}
    facts = ((name, value) for name, value in finding.facts if name not in known)
    return {name: value for name, value in (*fields.items(), *facts) if value is not None}


def unknown_lines(
    before: Unknown, report: AuditReport, spells: Counter[str]
) -> tuple[dict[str, frozenset[str]], tuple[Line, ...]]:
    """Return the unknown findings and the lines to log.

    The first value maps each unreadable source to the ids of the findings that are unknown because of this source.
    One line is logged when the findings of a source become unknown, and another line when the source was read again.
    """
    if report.outcome in OUTCOMES_WITHOUT_FINDINGS:
        return dict(before), ()
    unread = {source.name for source in report.sources if not source.ok}
    hidden: dict[str, list[SeenFinding]] = defaultdict(list)
    for seen in report.findings:
        if seen.state is FindingState.UNKNOWN:
            for source in unread.intersection(seen.unknown_because):
                hidden[source].append(seen)
    after = {name: ids for name, ids in before.items() if name in unread}
    lines = [_known_again_line(name, ids, report) for name, ids in before.items() if name not in unread]
    for name, findings in sorted(hidden.items()):
        if name in before:
            after[name] = before[name] | {seen.finding.id for seen in findings}
        elif begins(f"findings unknown {name}", spells):
            after[name] = frozenset(seen.finding.id for seen in findings)
            lines.append(_unknown_line(name, findings))
    return after, tuple(lines)


def counts(findings: Iterable[SeenFinding]) -> dict[str, int]:
    """Return the number of all findings, and the numbers of findings of four kinds.

    ``causes`` counts the findings with an empty ``caused_by``. ``not_known`` counts the findings whose state is
    unknown now.
    """
    listed = tuple(findings)
    return {
        "findings": len(listed),
        "causes": sum(not seen.caused_by for seen in listed),
        "errors": sum(seen.finding.severity is Severity.ERROR for seen in listed),
        "warnings": sum(seen.finding.severity is Severity.WARNING for seen in listed),
        "not_known": sum(seen.state is FindingState.UNKNOWN for seen in listed),
    }


def _repeats_the_source(change: FindingChange, before: Mapping[str, ReportedFinding]) -> bool:
    """Return whether the finding says that a source is unreadable, and only the error text changed.

    The log lines about the source already have the new error text, so a line about the finding would repeat it.
    """
    old = before.get(change.seen.finding.id)
    return (
        change.change is Change.CHANGED
        and change.seen.finding.code == SOURCE_UNAVAILABLE
        and old is not None
        and old.seen.finding.severity is change.seen.finding.severity
    )


def _gone_line(seen: SeenFinding, gone: GoneFinding | None, subject: str | None) -> Line:
    fields = {**finding_fields(seen, subject), "state": "gone"}
    for name in ("fix", "remedy"):
        fields.pop(name, None)
    if gone is not None:
        why = {"reason": gone.reason.value, "words": gone.words, "entry_id": gone.entry_id, "actor": gone.actor}
        fields |= {name: value for name, value in why.items() if value}
    return Line(event=events.FINDING_GONE, fields=fields)


def _unknown_line(source: str, findings: list[SeenFinding]) -> Line:
    fields = {
        "source": source,
        "count": len(findings),
        "last_seen_at": max(seen.last_seen_at for seen in findings) or None,
        "codes": tuple(sorted({seen.finding.code for seen in findings})),
    }
    return Line(event=events.FINDINGS_UNKNOWN, fields={name: v for name, v in fields.items() if v is not None})


def _known_again_line(source: str, ids: frozenset[str], report: AuditReport) -> Line:
    known = [s for s in report.findings if s.finding.id in ids and s.state is not FindingState.UNKNOWN]
    still_unknown = [s for s in report.findings if s.finding.id in ids and s.state is FindingState.UNKNOWN]
    fields = {"source": source, "count": len(known), "gone": len(ids) - len(known) - len(still_unknown)}
    return Line(event=events.FINDINGS_KNOWN_AGAIN, fields=fields)
