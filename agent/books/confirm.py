"""Decide which findings are confirmed, given what earlier audits saw.

A finding counts again only with equal evidence in the audit right after, and only when that
audit came neither too soon nor too late: two looks within milliseconds see the same moment of
a build, and two that are weeks apart say nothing about the time between. One that rests on
*recorded* counts only when allocations were read in this audit, and is not even told when
it is new and they were not (principle 6). Pure: the time is an argument.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

from agent.model.finding import Finding, History, SeenFinding, Severity, Sighting


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """How this audit looked: when, whether allocations were read in it, whether every source answered.

    ``at`` is when its reads began, ``ended`` when they had ended (None: at once), both in seconds since the machine's
    start (monotonic), ``boot`` which start that was. A look that confirms begins at least ``apart_s`` after the one
    before it had ended, and at most ``within_s`` (None: at any time): a read that hangs puts two looks no further
    apart.
    """

    now: str
    confirm_audits: int
    recorded_is_fresh: bool
    all_read: bool = True
    at: int = 0
    ended: int | None = None
    boot: str = ""
    apart_s: float = 0.0
    within_s: float | None = None

    @property
    def seen_at(self) -> int:
        """When everything had been read."""
        return self.at if self.ended is None else self.ended

    def follows(self, history: History) -> bool:
        """Whether this look is the one after the last in the history; after a restart of the machine none is."""
        if history.looked_at is None or history.boot != self.boot:
            return False
        since_s = self.at - history.looked_at
        return since_s >= 0 and (self.within_s is None or since_s <= self.within_s)


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
    known = {sighting.id: sighting for sighting in _in_a_row(history, look)}
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
        history=dataclasses.replace(
            history,
            sightings=tuple(sorted((*kept.values(), *unseen), key=lambda s: s.id)),
            boot=look.boot,
            looked_at=look.seen_at,
        ),
        recheck_recorded=recheck,
        # What is counted anew from the next audit on must not wait for the one after it to be counted at all.
        awaits_recorded=bool(unseen) or any(seen.finding.rests_on_recorded for seen in told),
        unconfirmed_recorded=tuple(sorted({f.consumer_uuid for f in waiting if f.consumer_uuid})),
    )


def confirmed_now(findings: Iterable[Finding], history: History, look: Look) -> frozenset[tuple[str, str | None]]:
    """(code, provider uuid) of the findings that this audit will tell as confirmed.

    For what acts on a finding in the audit that confirms it. One that rests on *recorded* is never among them.
    """
    known = {sighting.id: sighting for sighting in _in_a_row(history, look)}
    return frozenset(
        (finding.code, finding.provider_uuid)
        for finding in findings
        if not finding.rests_on_recorded
        and _seen_again(finding, known.get(finding.id), look).times >= look.confirm_audits
    )


def _in_a_row(history: History, look: Look) -> Iterable[Sighting]:
    """The sightings as this look may go on from them: after too long a time nothing is in a row with them."""
    if look.follows(history):
        return history.sightings
    return (dataclasses.replace(sighting, times=0) for sighting in history.sightings)


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
    times, counted_at = (before.times, before.counted_at) if before and same else (0, 0)
    if _is_trusted(finding, look) and (times == 0 or look.at - counted_at >= look.apart_s):
        # Not counted beyond need, so that a quiet history needs no new file.
        counted_at = look.seen_at if times < look.confirm_audits else counted_at
        times = min(times + 1, look.confirm_audits)
    in_a_row = before is not None and same and before.times > 0
    return Sighting(
        id=finding.id,
        code=finding.code,
        first_seen_at=before.first_seen_at if before else look.now,
        last_seen_at=look.now,
        times=times,
        evidence_digest=evidence,
        stands_since=(before.stands_since or before.first_seen_at) if before and in_a_row else look.now,
        counted_at=counted_at,
    )


def evidence_digest(finding: Finding) -> str:
    """Of what the finding says, claims included: equal evidence, equal digest."""
    body = repr((finding.code, finding.expected, finding.actual, finding.evidence, finding.facts))
    return hashlib.sha256(body.encode()).hexdigest()
