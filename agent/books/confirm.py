"""Decide which findings are confirmed, given what earlier audits saw.

A finding is confirmed when enough audits in a row have seen it with equal evidence. Two audits count as two only if the
time between them is neither too short nor too long: within milliseconds, both may see the same moment while nova builds
an instance; two audits weeks apart say nothing about the time between.

The removal of an allocation raises no generation in Placement, so cached allocations may be outdated. Therefore only an
audit that read allocations counts a finding that rests on *recorded* (the book of Placement's allocations). Other
audits do not even report such a finding if it is new. Pure: the time is an argument.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from agent.model.finding import STEADY_AUDITS, Finding, History, SeenFinding, Severity, Sighting


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditReads:
    """When and how one audit read its sources, whether it read allocations, and whether all reads succeeded.

    ``at`` is when the reads began, ``ended`` when they ended (None: at the same moment), both in seconds since the
    machine's boot (monotonic). ``boot`` is the id of that boot.

    An audit counts a finding again only if the audit's reads begin at least ``apart_s`` after the end of the reads that
    last counted the finding, and at most ``within_s`` (None: no limit) after the end of the last audit's reads. So the
    time that a hanging read takes does not count.

    ``generations`` are the consumers' generations in Placement by consumer uuid, if they are part of the evidence (else
    None). Then a finding counts from 0 again after any change of its consumer's allocations, and up to STEADY_AUDITS.
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
    generations: Mapping[str, int | None] | None = None

    @property
    def most_times(self) -> int:
        """The number at which the count of audits stops, so that the agent need not save the history in every audit."""
        return max(self.confirm_audits, STEADY_AUDITS if self.generations is not None else 0)

    @property
    def seen_at(self) -> int:
        """The moment when all reads had ended."""
        return self.at if self.ended is None else self.ended

    def follows(self, history: History) -> bool:
        """Return whether this audit continues the history: same boot, at most ``within_s`` after the last audit."""
        if history.read_until is None or history.boot != self.boot:
            return False
        since_s = self.at - history.read_until
        return since_s >= 0 and (self.within_s is None or since_s <= self.within_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class Confirmed:
    """Findings to report (sorted) and the history to keep.

    - ``recheck_recorded``: allocations must be read again at once, because a new finding rests on cached allocations.
    - ``awaits_recorded``: the next audit must read the allocations, because a reported finding rests on them or a
      count was reset. A DELETE of an allocation raises no generation: with cached allocations, up to ten audits would
      still report the finding.
    - ``unconfirmed_recorded``: consumers of findings about allocations (*recorded*) that are not confirmed yet.
    """

    findings: tuple[SeenFinding, ...]
    history: History
    recheck_recorded: bool
    awaits_recorded: bool = False
    unconfirmed_recorded: tuple[str, ...] = ()


def confirm(history: History, findings: Iterable[Finding], reads: AuditReads) -> Confirmed:
    """Return this audit's findings with their history.

    A finding that this audit did not see leaves the history. But if a source could not be read, the audit may have
    missed the finding: it then stays in the history with its ``first_seen_at``, and only its count is reset.
    """
    known = {sighting.id: sighting for sighting in _in_a_row(history, reads)}
    seen_now: list[SeenFinding] = []
    kept: dict[str, Sighting] = {}
    recheck = False
    for finding in findings:
        before = known.get(finding.id)
        if before is None and not _is_trusted(finding, reads):
            recheck = True
            continue
        sighting = _seen_again(finding, before, reads)
        kept[sighting.id] = sighting
        confirmed = sighting.times >= reads.confirm_audits
        seen_now.append(
            SeenFinding(
                finding=finding,
                confirmed=confirmed,
                first_seen_at=sighting.first_seen_at,
                stands_since=sighting.stands_since,
                times=sighting.times,
            )
        )
    lost = () if reads.all_read else (s for s in known.values() if s.id not in kept)
    unseen = tuple(dataclasses.replace(sighting, times=0) for sighting in lost)
    waiting = [seen.finding for seen in seen_now if not seen.confirmed and seen.finding.rests_on_recorded]
    return Confirmed(
        findings=tuple(sorted(seen_now, key=_for_people)),
        history=dataclasses.replace(
            history,
            sightings=tuple(sorted((*kept.values(), *unseen), key=lambda s: s.id)),
            boot=reads.boot,
            read_until=reads.seen_at,
        ),
        recheck_recorded=recheck,
        # The next audit can count findings about allocations (also those in ``unseen``) only if it reads allocations.
        awaits_recorded=bool(unseen) or any(seen.finding.rests_on_recorded for seen in seen_now),
        unconfirmed_recorded=tuple(sorted({f.consumer_uuid for f in waiting if f.consumer_uuid})),
    )


def confirmed_now(
    findings: Iterable[Finding], history: History, reads: AuditReads
) -> frozenset[tuple[str, str | None]]:
    """Return (code, provider uuid) of the findings that this audit will report as confirmed.

    The same audit may act on these findings. Findings that rest on allocations (*recorded*) are never included.
    """
    known = {sighting.id: sighting for sighting in _in_a_row(history, reads)}
    return frozenset(
        (finding.code, finding.provider_uuid)
        for finding in findings
        if not finding.rests_on_recorded
        and _seen_again(finding, known.get(finding.id), reads).times >= reads.confirm_audits
    )


def _in_a_row(history: History, reads: AuditReads) -> Iterable[Sighting]:
    """Return the history's sightings. All counts become 0 if this audit does not follow the last one (``follows``)."""
    if reads.follows(history):
        return history.sightings
    return (dataclasses.replace(sighting, times=0) for sighting in history.sightings)


_LOUDEST_FIRST = tuple(Severity)


def _for_people(seen: SeenFinding) -> tuple[int, str, str, str, str]:
    finding = seen.finding
    about = finding.resource_class or "", finding.subject or finding.consumer_uuid or "", finding.id
    return (_LOUDEST_FIRST.index(finding.severity), finding.code, *about)


def _is_trusted(finding: Finding, reads: AuditReads) -> bool:
    return reads.recorded_is_fresh or not finding.rests_on_recorded


def _seen_again(finding: Finding, before: Sighting | None, reads: AuditReads) -> Sighting:
    evidence = evidence_digest(finding, (reads.generations or {}).get(finding.consumer_uuid or ""))
    same = before is not None and before.evidence_digest == evidence
    times, counted_at = (before.times, before.counted_at) if before and same else (0, 0)
    if _is_trusted(finding, reads) and (times == 0 or reads.at - counted_at >= reads.apart_s):
        counted_at = reads.seen_at if times < reads.most_times else counted_at
        times = min(times + 1, reads.most_times)
    in_a_row = before is not None and same and before.times > 0
    return Sighting(
        id=finding.id,
        code=finding.code,
        first_seen_at=before.first_seen_at if before else reads.now,
        last_seen_at=reads.now,
        times=times,
        evidence_digest=evidence,
        stands_since=(before.stands_since or before.first_seen_at) if before and in_a_row else reads.now,
        counted_at=counted_at,
    )


def evidence_digest(finding: Finding, generation: int | None = None) -> str:
    """Return a digest of everything that the finding says, claims included. Equal evidence has equal digests.

    ``generation`` is the consumer's generation in Placement, None if it is not part of the evidence.
    """
    parts = (finding.code, finding.expected, finding.actual, finding.evidence, finding.facts)
    body = repr(parts if generation is None else (*parts, generation))
    return hashlib.sha256(body.encode()).hexdigest()
