"""Decide which findings are confirmed, given what earlier audits saw.

A finding counts again only with equal evidence in the audit right after; one
that rests on *recorded* counts only when allocations were read in this audit, and
is not even told when it is new and they were not (principle 6). Pure: the time
is an argument.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

from agent.model.finding import Finding, History, SeenFinding, Sighting


@dataclass(frozen=True, slots=True, kw_only=True)
class Confirmed:
    """Findings to tell (sorted), the history to keep, and whether *recorded* must be read again at once."""

    findings: tuple[SeenFinding, ...]
    history: History
    recheck_recorded: bool
    unconfirmed_recorded: tuple[str, ...] = ()


def confirm(
    history: History, findings: Iterable[Finding], *, now: str, confirm_audits: int, recorded_is_fresh: bool
) -> Confirmed:
    """Findings with what their history says; those not seen any more are forgotten."""
    known = {sighting.id: sighting for sighting in history.sightings}
    told: list[SeenFinding] = []
    kept: list[Sighting] = []
    recheck = False
    for finding in findings:
        before = known.get(finding.id)
        trusted = recorded_is_fresh or not finding.rests_on_recorded
        if before is None and not trusted:
            recheck = True
            continue
        sighting = _seen_again(finding, before, now, _Counting(trusted=trusted, at_most=confirm_audits))
        kept.append(sighting)
        told.append(
            SeenFinding(
                finding=finding,
                confirmed=sighting.times >= confirm_audits,
                first_seen_at=sighting.first_seen_at,
            )
        )
    waiting = tuple(
        sorted(
            {
                seen.finding.consumer_uuid
                for seen in told
                if not seen.confirmed and seen.finding.rests_on_recorded and seen.finding.consumer_uuid
            }
        )
    )
    return Confirmed(
        findings=tuple(sorted(told, key=lambda s: (s.finding.severity.value, s.finding.code, s.finding.id))),
        history=History(sightings=tuple(sorted(kept, key=lambda s: s.id))),
        recheck_recorded=recheck,
        unconfirmed_recorded=waiting,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Counting:
    trusted: bool
    at_most: int


def _seen_again(finding: Finding, before: Sighting | None, now: str, counting: _Counting) -> Sighting:
    evidence = evidence_digest(finding)
    same = before is not None and before.evidence_digest == evidence
    times = (before.times if before and same else 0) + (1 if counting.trusted else 0)
    return Sighting(
        id=finding.id,
        code=finding.code,
        first_seen_at=before.first_seen_at if before else now,
        last_seen_at=now,
        # Not counted beyond need, so that a quiet history needs no new file.
        times=min(times, counting.at_most),
        evidence_digest=evidence,
    )


def evidence_digest(finding: Finding) -> str:
    """Of what the finding says, claims included: equal evidence, equal digest."""
    body = repr((finding.code, finding.expected, finding.actual, finding.evidence, finding.facts))
    return hashlib.sha256(body.encode()).hexdigest()
