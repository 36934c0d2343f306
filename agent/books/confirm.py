"""Decide after an audit which findings are live (not gone), and which of the live findings are confirmed.

A finding ends only if an audit checked it and did not find it (checks.py). A finding that the audit could not check
stays, with the state *unknown*, its last text, and its ``first_seen_at``.

A finding is confirmed when enough audits in a row have seen it with equal evidence. The counter ``times`` counts these
audits. If two audits are only milliseconds apart, the second does not count: both audits may see the same moment while
nova builds an instance. If two audits are weeks apart, the count starts again at 1: the two audits do not show that the
finding existed all the time.

Some findings are about allocations in Placement (``rests_on_recorded``). The agent caches allocations, and its cache
may be outdated, because the removal of an allocation changes no generation in Placement. So an audit with cached
allocations does not count such a finding. It does not even report such a finding if the finding is new.

A confirmed finding stays confirmed until it is gone. An audit that could not check the finding sets ``times`` to 0. An
audit with other evidence sets ``times`` to 1. heal uses ``times``. The functions of this module are pure: the time is
an argument.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from agent.books.booked import BookedBy, booked_of
from agent.books.checks import Checks
from agent.model.finding import (
    STEADY_AUDITS,
    Finding,
    FindingState,
    History,
    SeenFinding,
    Severity,
    Sighting,
)
from agent.model.snapshot import LIBVIRT, PLACEMENT, STATE


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditReads:
    """When one audit read its sources, and what it could check.

    ``at`` is when the reads began. ``ended`` is when they ended; None means the same moment. Both times are in seconds
    since the machine's boot (monotonic). ``boot`` is the id of that boot.

    An audit increases a finding's count only under two conditions:
    - The audit's reads begin at least ``apart_s`` after the end of the reads that last increased the count.
    - The audit's reads begin at most ``within_s`` after the end of the previous audit's reads. None means no limit.

    ``generations`` maps consumer uuids to the consumers' generations in Placement. None means that the generations are
    not part of the evidence. With generations, each change of a consumer's generation restarts the count of the
    consumer's findings. The maximum count is ``most_times``.
    """

    now: str
    confirm_audits: int
    checks: Checks = field(default_factory=Checks)
    at: int = 0
    ended: int | None = None
    boot: str = ""
    apart_s: float = 0.0
    within_s: float | None = None
    generations: Mapping[str, int | None] | None = None

    @property
    def most_times(self) -> int:
        """The maximum of the counter ``times``. Without a maximum, every audit would change the history file."""
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
    """The result of ``confirm``: the live findings (sorted), the findings that are gone, and the history to keep.

    - ``gone``: for each finding that is gone, its last record in the history.
    - ``recheck_recorded``: the allocations must be read again at once. The reason is a new finding about cached
      allocations, which may be outdated.
    - ``awaits_recorded``: the next audit must read the allocations, because a live finding is about allocations. The
      cache is not enough: the removal of an allocation changes no generation in Placement, so the agent would not
      notice the removal.
    - ``unconfirmed_recorded``: the consumers whose allocations the next audit should read first. A finding about these
      allocations is not confirmed yet or could not be checked.
    """

    findings: tuple[SeenFinding, ...]
    history: History
    recheck_recorded: bool
    awaits_recorded: bool = False
    unconfirmed_recorded: tuple[str, ...] = ()
    gone: tuple[Sighting, ...] = ()


def confirm(
    history: History, findings: Iterable[Finding], reads: AuditReads, booked: BookedBy | None = None
) -> Confirmed:
    """Return the live findings after this audit, with their history.

    ``booked`` has the amounts that this audit read in nova's database (*promised*), in libvirt and the storage (*held*)
    and in Placement's allocations (*recorded*).

    A finding that this audit could not check stays in the history.
    """
    known = {sighting.id: sighting for sighting in _in_a_row(history, reads)}
    kept: dict[str, Sighting] = {}
    recheck = False
    for finding in findings:
        before = known.get(finding.id)
        if before is None and finding.rests_on_recorded and not reads.checks.recorded_is_fresh:
            recheck = True
            continue
        kept[finding.id] = _found(finding, before, reads, booked or {})
    gone: list[Sighting] = []
    for sighting in known.values():
        if sighting.id in kept:
            continue
        because = reads.checks.missing(finding_of(sighting), sighting.booked)
        if because:
            kept[sighting.id] = _unchecked(sighting, because)
        else:
            gone.append(sighting)
    live = tuple(sorted((seen_of(sighting) for sighting in kept.values()), key=_for_people))
    recorded = [seen for seen in live if seen.finding.rests_on_recorded]
    waiting = {seen.finding.consumer_uuid for seen in recorded if seen.times == 0 or not seen.confirmed}
    return Confirmed(
        findings=live,
        history=dataclasses.replace(
            history,
            sightings=tuple(sorted(kept.values(), key=lambda s: s.id)),
            boot=reads.boot,
            read_until=reads.seen_at,
        ),
        recheck_recorded=recheck,
        awaits_recorded=bool(recorded),
        unconfirmed_recorded=tuple(sorted(uuid for uuid in waiting if uuid)),
        gone=tuple(sorted(gone, key=lambda sighting: _for_people(seen_of(sighting)))),
    )


def seen_of(sighting: Sighting) -> SeenFinding:
    """Return the finding with the state that reports show: seen, confirmed or unknown."""
    known = FindingState.CONFIRMED if sighting.confirmed else FindingState.SEEN
    return SeenFinding(
        finding=finding_of(sighting),
        confirmed=sighting.confirmed,
        first_seen_at=sighting.first_seen_at,
        stands_since=sighting.stands_since,
        times=sighting.times,
        state=FindingState.UNKNOWN if sighting.unknown_because else known,
        last_seen_at=sighting.last_seen_at,
        unknown_because=sighting.unknown_because,
        caused_by=sighting.caused_by,
    )


def not_checked(sightings: Iterable[Sighting]) -> tuple[SeenFinding, ...]:
    """Return the live findings after an audit that ended before it could check any finding."""
    unknown = (_unchecked(s, tuple(sorted(finding_of(s).rests_on)) or (LIBVIRT, PLACEMENT, STATE)) for s in sightings)
    return tuple(sorted(map(seen_of, unknown), key=_for_people))


def finding_of(sighting: Sighting) -> Finding:
    """Return the finding as last seen. If the history has no text of the finding, the returned text says so."""
    return sighting.finding or Finding(
        code=sighting.code,
        severity=Severity.WARNING,
        remedy="wait: the agent knows the details again when an audit has checked this finding",
        expected="",
        actual="before its restart the agent saved only that this finding existed",
        saved_id=sighting.id,
    )


def confirmed_now(
    findings: Iterable[Finding], history: History, reads: AuditReads
) -> frozenset[tuple[str, str | None]]:
    """Return (code, provider uuid) of the findings that this audit will report as confirmed.

    So this audit may already act on these findings. Findings that compare allocations are left out.
    """
    known = {sighting.id: sighting for sighting in _in_a_row(history, reads)}
    return frozenset(
        (finding.code, finding.provider_uuid)
        for finding in findings
        if not finding.rests_on_recorded
        and _found(finding, known.get(finding.id), reads, {}).times >= reads.confirm_audits
    )


def _in_a_row(history: History, reads: AuditReads) -> Iterable[Sighting]:
    """Return the history's sightings. After a reboot or a long time without an audit, all counts become 0."""
    if reads.follows(history):
        return history.sightings
    return (dataclasses.replace(sighting, times=0) for sighting in history.sightings)


_LOUDEST_FIRST = tuple(Severity)


def _for_people(seen: SeenFinding) -> tuple[int, str, str, str, str]:
    finding = seen.finding
    about = finding.resource_class or "", finding.subject or finding.consumer_uuid or "", finding.id
    return (_LOUDEST_FIRST.index(finding.severity), finding.code, *about)


def _found(finding: Finding, before: Sighting | None, reads: AuditReads, booked: BookedBy) -> Sighting:
    """Return the new history record (sighting) of a finding that this audit found."""
    because = reads.checks.missing_though_found(finding)
    if because and before is not None:
        return _unchecked(before, because)
    evidence = _evidence(finding, before, reads)
    same = before is not None and before.evidence_digest == evidence
    times, counted_at = (before.times, before.counted_at) if before and same else (0, 0)
    in_a_row = times > 0
    if not because and (times == 0 or reads.at - counted_at >= reads.apart_s):
        counted_at = reads.seen_at if times < reads.most_times else counted_at
        times = min(times + 1, reads.most_times)
    return Sighting(
        id=finding.id,
        code=finding.code,
        first_seen_at=before.first_seen_at if before else reads.now,
        last_seen_at=reads.now,
        times=times,
        evidence_digest=evidence,
        stands_since=(before.stands_since or before.first_seen_at) if before and in_a_row else reads.now,
        counted_at=counted_at,
        confirmed=times >= reads.confirm_audits or (before is not None and before.confirmed),
        finding=finding,
        booked=booked_of(finding, booked),
        caused_by=before.caused_by if before else (),
        unknown_because=because,
    )


def _evidence(finding: Finding, before: Sighting | None, reads: AuditReads) -> str:
    if reads.generations is None and before is not None and before.finding == finding:
        # The finding equals the history's finding, so reuse the digest in the history. Comparing two findings is faster
        # than computing a digest. On an unchanged host both findings contain mostly the same objects, and Python
        # compares an object with itself at once.
        return before.evidence_digest
    return evidence_digest(finding, (reads.generations or {}).get(finding.consumer_uuid or ""))


def _unchecked(before: Sighting, because: tuple[str, ...]) -> Sighting:
    """Return the history record of a finding that this audit could not check. The finding keeps its last text."""
    return dataclasses.replace(before, times=0, unknown_because=because)


def evidence_digest(finding: Finding, generation: int | None = None) -> str:
    """Return a digest of the finding's evidence: its code, texts, amounts and facts.

    ``generation`` is the consumer's generation in Placement; None leaves the generation out of the digest.
    """
    parts = (finding.code, finding.expected, finding.actual, finding.evidence, finding.facts)
    body = repr(parts if generation is None else (*parts, generation))
    return hashlib.sha256(body.encode()).hexdigest()
