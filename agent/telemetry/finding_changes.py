"""Decide which changes of findings to log and to send as notifications. Pure: no I/O.

A finding appears, is confirmed (enough audits found it), changes, and is gone. It is gone only if the audit's report
says so: a finding that an audit could not check stays in the report, and nothing is logged about it. In the first audit
of a process, the findings that an earlier process knew are the baseline, so that a restart logs only the changes since
then.

A finding that comes and goes is logged at its 1st, 2nd, 4th, … appearance. If the numbers of a finding change all the
time, the changes are logged at growing intervals. Each logged "appeared" is followed by exactly one "gone", so a reader
of the log always knows the present findings.
"""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from agent.model.finding import FindingState, GoneFinding, SeenFinding
from agent.model.report import AuditReport, Outcome

#: For this many seconds after the report of a change, further changes of the finding are not reported. This gap doubles
#: with each report, up to GAP_CAP_S.
GAP_FIRST_S = 60.0
GAP_CAP_S = 3600.0

#: Outcomes of audits that did not decide about findings.
OUTCOMES_WITHOUT_FINDINGS = frozenset({Outcome.CRASHED, Outcome.CANCELLED})


class Change(enum.Enum):
    """What has happened to a finding since it was last reported."""

    APPEARED = "appeared"
    CONFIRMED = "confirmed"
    CHANGED = "changed"
    GONE = "gone"


@dataclass(frozen=True, slots=True, kw_only=True)
class FindingChange:
    """One change of a finding. If the finding is gone, ``seen`` is its last reported form, and ``gone`` the reason."""

    change: Change
    seen: SeenFinding
    gone: GoneFinding | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportedFinding:
    """A finding as last reported.

    ``quiet``: the finding appears so often that its last appearance was not reported. The end of a quiet finding is not
    reported either. ``reported_at`` is the time of the last report, or of a quiet finding's appearance, in monotonic
    seconds. In the next ``gap_s`` seconds, at most the end of the finding is reported.
    """

    seen: SeenFinding
    reported_at: float
    gap_s: float = 0.0
    quiet: bool = False


def changes(
    before: Mapping[str, ReportedFinding], report: AuditReport, now: float, spells: Counter[str]
) -> tuple[dict[str, ReportedFinding], tuple[FindingChange, ...]]:
    """Return the present findings by id, each in the form that was last logged, and this audit's changes to log.

    ``now`` is in monotonic seconds. ``spells`` counts the appearances of each finding; this function increments the
    counts.
    """
    if report.outcome in OUTCOMES_WITHOUT_FINDINGS:
        return dict(before), ()
    known = _remembered(report, now) | dict(before)
    after: dict[str, ReportedFinding] = {}
    reported: list[FindingChange] = []
    for seen in report.findings:
        old = known.pop(seen.finding.id, None)
        after[seen.finding.id], found = _kept(old, seen, now) if old else _new(seen, now, spells)
        reported.extend(found)
    for gone in report.gone:
        old = known.pop(gone.seen.finding.id, None)
        if old is not None and not old.quiet:
            reported.append(FindingChange(change=Change.GONE, seen=old.seen, gone=gone))
    # Keep the findings that are left in ``known``. This audit could not check them, so they are not gone.
    return known | after, tuple(reported)


def _remembered(report: AuditReport, now: float) -> dict[str, ReportedFinding]:
    return {seen.finding.id: ReportedFinding(seen=seen, reported_at=now) for seen in report.remembered}


def worth_reporting(times: int) -> bool:
    """Return whether occurrence number ``times`` of a condition is reported: True for 1, 2, 4, 8 and so on."""
    return times.bit_count() == 1


def begins(condition: str, spells: Counter[str]) -> bool:
    """Count that the condition began once more. Return whether to report this (``worth_reporting``)."""
    spells[condition] += 1
    return worth_reporting(spells[condition])


def _new(seen: SeenFinding, now: float, spells: Counter[str]) -> tuple[ReportedFinding, tuple[FindingChange, ...]]:
    quiet = not begins(f"finding {seen.finding.id}", spells)
    gap_s = GAP_FIRST_S if quiet else 0.0
    reported = ReportedFinding(seen=seen, reported_at=now, quiet=quiet, gap_s=gap_s)
    return reported, () if quiet else (FindingChange(change=Change.APPEARED, seen=seen),)


def _kept(old: ReportedFinding, seen: SeenFinding, now: float) -> tuple[ReportedFinding, tuple[FindingChange, ...]]:
    if seen.state is FindingState.UNKNOWN:
        return old, ()
    change = _change(old, seen)
    if change is None or now - old.reported_at < old.gap_s:
        return old, ()
    is_calm = now - old.reported_at > 2 * max(old.gap_s, GAP_FIRST_S)
    gap_s = GAP_FIRST_S if is_calm or not old.gap_s else min(GAP_CAP_S, old.gap_s * 2)
    reported = ReportedFinding(seen=seen, reported_at=now, gap_s=gap_s)
    return reported, (FindingChange(change=change, seen=seen),)


def _change(old: ReportedFinding, seen: SeenFinding) -> Change | None:
    if old.quiet:
        return Change.APPEARED
    was, now_is = old.seen.finding, seen.finding
    # An older version of the agent saved findings without their texts. Such a finding (it has a ``saved_id``) has no
    # text to compare.
    is_told = not was.saved_id
    if is_told and (was.expected, was.actual, was.severity) != (now_is.expected, now_is.actual, now_is.severity):
        return Change.CHANGED
    return Change.CONFIRMED if seen.confirmed and not old.seen.confirmed else None
