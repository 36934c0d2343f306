"""Describe a running daemon in words, for the report that SIGUSR2 causes: queue, audit, sources, findings.

The report contains no secrets: its stack traces have no values of variables, and no section has the value of an option.
Pure: no I/O.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from agent.model.finding import SeenFinding
from agent.model.report import AuditReport, SourceStatus
from agent.text.wording import printable

NONE = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """What a daemon is doing.

    ``waiting``: the reasons for the next audit. ``running_s``: how many seconds the running audit has run, 0 between
    audits. ``reading``: the source that this audit is reading, empty outside a read. ``is_healthy``: whether the agent
    feeds systemd's watchdog. ``misses``: how many reads of libvirt in a row have timed out. ``bus_failures``: how many
    times in a row the broker did not accept a message. ``counters``: numbers about the audits of this process.
    """

    waiting: tuple[str, ...]
    report: AuditReport | None
    running_s: float = 0.0
    reading: str = ""
    is_healthy: bool = True
    misses: int = 0
    bus_failures: int = 0
    counters: Mapping[str, object] = field(default_factory=lambda: MappingProxyType({}))


def fields_of(condition: Condition) -> dict[str, Any]:
    """Return the daemon's state as fields of the log line that the daemon writes after the report for SIGUSR2."""
    report = condition.report
    return {
        "waiting": condition.waiting,
        "last_audit_id": report.audit_id if report else None,
        "last_audit_at": report.started_at if report else None,
        "outcome": report.outcome.value if report else None,
        "sources": tuple(f"{source.name}: {source.error or 'ok'}" for source in report.sources) if report else (),
        "findings": tuple(seen.finding.code for seen in report.findings) if report else (),
    }


def sections(condition: Condition, now: str) -> tuple[tuple[str, str], ...]:
    """Return (title, text) of each section of the state dump, without control characters; ``now`` is ISO 8601 UTC."""
    report = condition.report
    bodies = {
        "Audit queue": condition.waiting,
        "Last audit": _audit(report) if report else (),
        "Sources": [_source(source) for source in report.sources] if report else (),
        "Live findings": [_finding(seen, now) for seen in report.findings] if report else (),
        "Health": _health(condition),
        "Counters": [f"{name}: {_counted(value)}" for name, value in condition.counters.items()],
    }
    return tuple((title, _text(lines)) for title, lines in bodies.items())


def _audit(report: AuditReport) -> list[str]:
    return [
        f"id: {report.audit_id}",
        f"began: {report.started_at}, took {report.duration_ms:.0f} ms, because of {', '.join(report.reasons)}",
        f"outcome: {report.outcome.value}, role {report.role}, {report.writes_done} writes, {report.requests} requests",
        f"error: {report.error or NONE}",
    ]


def _source(source: SourceStatus) -> str:
    if source.ok:
        return f"{source.name}: read in {source.duration_ms:.0f} ms"
    if not source.asked:
        return f"{source.name}: not asked: {source.not_asked_because}"
    since = f" since {source.lost_since}" if source.lost_since else ""
    return f"{source.name}: lost{since}: {source.error}"


def _finding(seen: SeenFinding, now: str) -> str:
    finding = seen.finding
    age = _age(seen.first_seen_at, now)
    return f"{finding.severity.value} {finding.code} {seen.state.value}, {age}, id {finding.id}"


def _age(since: str, now: str) -> str:
    try:
        seconds = (datetime.datetime.fromisoformat(now) - datetime.datetime.fromisoformat(since)).total_seconds()
    except (ValueError, TypeError):
        return "of unknown age"
    return f"{max(0.0, seconds):.0f} s old"


def _health(condition: Condition) -> list[str]:
    where = f" and is reading {condition.reading}" if condition.reading else ""
    loop = f"the current audit has taken {condition.running_s:.0f} s{where}" if condition.running_s else "waits"
    return [
        f"audit loop: {loop}",
        f"watchdog: {'fed' if condition.is_healthy else 'not fed, systemd will restart the agent'}",
        f"reads of libvirt that timed out in a row: {condition.misses}",
        f"messages in a row that the broker did not accept: {condition.bus_failures}",
    ]


def _counted(value: object) -> str:
    return (", ".join(map(str, value)) or NONE) if isinstance(value, tuple) else str(value)


def _text(lines: Iterable[str]) -> str:
    return "\n".join(printable(line) for line in lines) or NONE
