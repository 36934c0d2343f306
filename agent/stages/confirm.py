"""Decide which findings are confirmed, given what earlier audits saw.

A finding counts again only with equal evidence in the audit right after; one
that rests on *recorded* counts only when allocations were read in this audit, and
is not even told when it is new and they were not (principle 6). Pure: the time
is an argument.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

from agent.model.finding import Finding, History, SeenFinding, Severity, Sighting


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """How this audit looked: when, whether allocations were read in it, whether every source answered."""

    now: str
    confirm_audits: int
    recorded_is_fresh: bool
    all_read: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Confirmed:
    """Findings to tell (sorted) and the history to keep.

    ``recheck_recorded``: something new was held back, so *recorded* is to be read
    again at once. ``awaits_recorded``: something told rests on it, so the next audit
    reads it too: to confirm it, and so as not to tell for ten audits what a DELETE,
    which raises no generation, has mended. ``unconfirmed_recorded`` are the consumers
    of what is not confirmed yet.
    """

    findings: tuple[SeenFinding, ...]
    history: History
    recheck_recorded: bool
    awaits_recorded: bool = False
    unconfirmed_recorded: tuple[str, ...] = ()


def confirm(history: History, findings: Iterable[Finding], look: Look) -> Confirmed:
    """Findings with what their history says.

    Those not seen any more are forgotten, but while a source is unread only their
    count is: nobody looked, so when they were first seen stands.
    """
    known = {sighting.id: sighting for sighting in history.sightings}
    told: list[SeenFinding] = []
    kept: dict[str, Sighting] = {}
    recheck = False
    for finding in findings:
        before = known.get(finding.id)
        if before is None and not _is_trusted(finding, look):
            recheck = True
            continue
        sighting = _seen_again(finding, before, look)
        kept[sighting.id] = sighting
        confirmed = sighting.times >= look.confirm_audits
        told.append(
            SeenFinding(
                finding=finding,
                confirmed=confirmed,
                first_seen_at=sighting.first_seen_at,
                stands_since=sighting.stands_since,
            )
        )
    lost = () if look.all_read else (s for s in known.values() if s.id not in kept)
    unseen = tuple(dataclasses.replace(sighting, times=0) for sighting in lost)
    waiting = [seen.finding for seen in told if not seen.confirmed and seen.finding.rests_on_recorded]
    return Confirmed(
        findings=tuple(sorted(told, key=_for_people)),
        history=dataclasses.replace(history, sightings=tuple(sorted((*kept.values(), *unseen), key=lambda s: s.id))),
        recheck_recorded=recheck,
        # What is counted anew from the next audit on must not wait for the one after it to be counted at all.
        awaits_recorded=bool(unseen) or any(seen.finding.rests_on_recorded for seen in told),
        unconfirmed_recorded=tuple(sorted({f.consumer_uuid for f in waiting if f.consumer_uuid})),
    )


def confirmed_now(
    findings: Iterable[Finding], sightings: Iterable[Sighting], confirm_audits: int
) -> frozenset[tuple[str, str | None]]:
    """(code, provider uuid) of the findings that this audit will tell as confirmed.

    For what acts on a finding in the audit that confirms it. One that rests on *recorded* is never among them.
    """
    times = {(s.id, s.evidence_digest): s.times for s in sightings}
    return frozenset(
        (finding.code, finding.provider_uuid)
        for finding in findings
        if not finding.rests_on_recorded and times.get((finding.id, evidence_digest(finding)), 0) + 1 >= confirm_audits
    )


_LOUDEST_FIRST = tuple(Severity)


def _for_people(seen: SeenFinding) -> tuple[int, str, str, str, str]:
    finding = seen.finding
    about = finding.resource_class or "", finding.subject or finding.consumer_uuid or "", finding.id
    return (_LOUDEST_FIRST.index(finding.severity), finding.code, *about)


def _is_trusted(finding: Finding, look: Look) -> bool:
    return look.recorded_is_fresh or not finding.rests_on_recorded


def _seen_again(finding: Finding, before: Sighting | None, look: Look) -> Sighting:
    evidence = evidence_digest(finding)
    same = before is not None and before.evidence_digest == evidence
    times = (before.times if before and same else 0) + (1 if _is_trusted(finding, look) else 0)
    in_a_row = before is not None and same and before.times > 0
    return Sighting(
        id=finding.id,
        code=finding.code,
        first_seen_at=before.first_seen_at if before else look.now,
        last_seen_at=look.now,
        # Not counted beyond need, so that a quiet history needs no new file.
        times=min(times, look.confirm_audits),
        evidence_digest=evidence,
        stands_since=(before.stands_since or before.first_seen_at) if before and in_a_row else look.now,
    )


def evidence_digest(finding: Finding) -> str:
    """Of what the finding says, claims included: equal evidence, equal digest."""
    body = repr((finding.code, finding.expected, finding.actual, finding.evidence, finding.facts))
    return hashlib.sha256(body.encode()).hexdigest()
