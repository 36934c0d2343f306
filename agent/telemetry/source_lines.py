"""The log lines about sources that audits cannot read: a source is lost, is still lost, or is read again."""

from __future__ import annotations

import logging as levels
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from agent.model.finding import Finding, Severity
from agent.model.report import AuditReport, SourceStatus
from agent.telemetry import events
from agent.telemetry.event_log import Line
from agent.telemetry.finding_changes import begins, worth_reporting

SOURCE_UNAVAILABLE = "source-unavailable"
# The codes of findings about a source. The ``subject`` of such a finding is the source's name. Its fact ``frozen`` says
# what the agent leaves unchanged as long as it has no current data from the source.
_ABOUT_A_SOURCE = frozenset({SOURCE_UNAVAILABLE, "source-stale"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """A source that audits could not read. ``times`` counts the consecutive audits that could not read the source.

    ``since`` and ``began`` are the time of the first of these audits, in ISO 8601 UTC and in monotonic seconds.
    ``quiet``: the loss has not been logged. ``denied``: Placement refused the agent's credentials. ``error``: a line
    about this loss was logged at ERROR.
    """

    times: int
    since: str
    began: float
    quiet: bool
    denied: bool = False
    error: bool = False


def source_lines(
    before: Mapping[str, Loss], report: AuditReport, now: float, spells: Counter[str]
) -> tuple[dict[str, Loss], tuple[Line, ...]]:
    """Return the sources that are lost (unreadable) after this audit, and the lines to log.

    ``now`` is in monotonic seconds. If the audit did not try to read a source, because another source was unreadable,
    the untried source stays as it was before the audit, lost or not.
    """
    about = {f.finding.subject: f.finding for f in report.findings if f.finding.code in _ABOUT_A_SOURCE}
    after = dict(before)
    logged: list[Line] = []
    for status in report.sources:
        if not status.ok and not status.asked:
            continue
        loss = after.pop(status.name, None)
        if status.ok:
            logged.extend([_back(status, loss, now)] if loss and not loss.quiet else ())
            continue
        after[status.name], lines = _lost(loss, status, about.get(status.name), _Moment(report.started_at, now, spells))
        logged.extend(lines)
    return after, tuple(logged)


@dataclass(frozen=True, slots=True)
class _Moment:
    at: str
    now: float
    spells: Counter[str]


def _lost(
    before: Loss | None, status: SourceStatus, finding: Finding | None, moment: _Moment
) -> tuple[Loss, tuple[Line, ...]]:
    times = before.times + 1 if before else 1
    is_newly_denied = status.denied and not (before and before.denied)
    is_error = status.denied or _is_error(finding)
    is_newly_error = is_newly_denied or (is_error and not (before and before.error))
    if before and not is_newly_error:
        is_logged = worth_reporting(times)
    else:
        kind = "denied" if status.denied else "error" if is_newly_error else "lost"
        is_logged = begins(f"source {status.name} {kind}", moment.spells)
    after = Loss(
        times=times,
        since=before.since if before else status.lost_since or moment.at,
        began=before.began if before else moment.now,
        quiet=not is_logged and (before is None or before.quiet),
        denied=status.denied,
        error=is_error or bool(before and before.error),
    )
    if not is_logged:
        return after, ()
    level = levels.ERROR if is_newly_error else levels.WARNING
    line = _still_lost if before else _first_lost
    return after, (line(after, status, finding, level, moment.now),)


def _is_error(finding: Finding | None) -> bool:
    """Return whether the finding says that a source is unreadable, and is an error."""
    return finding is not None and finding.code == SOURCE_UNAVAILABLE and finding.severity is Severity.ERROR


def _first_lost(loss: Loss, status: SourceStatus, finding: Finding | None, level: int, _now: float) -> Line:
    fields = {
        "source": status.name,
        "error": status.error,
        "frozen": dict(finding.facts).get("frozen") if finding else None,
        "times": loss.times,
        "age_s": None if status.age_s is None else round(status.age_s),
    }
    return _line(events.SOURCE_LOST, fields, level)


def _still_lost(loss: Loss, status: SourceStatus, _finding: Finding | None, level: int, now: float) -> Line:
    fields = {
        "source": status.name,
        "error": status.error,
        "since": loss.since,
        "lost_for_s": round(now - loss.began),
        "times": loss.times,
    }
    return _line(events.SOURCE_STILL_LOST, fields, level)


def _line(event: events.Event, fields: Mapping[str, object], level: int) -> Line:
    known = {name: value for name, value in fields.items() if value is not None}
    return Line(event=event, fields=known, chosen_level=level)


def _back(status: SourceStatus, loss: Loss, now: float) -> Line:
    fields = {"source": status.name, "lost_for_s": round(now - loss.began), "audits": loss.times}
    return Line(event=events.SOURCE_BACK, fields=fields)
