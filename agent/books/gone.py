"""Say why a finding is gone. The possible reasons are tried in order, and the first true reason is reported.

The reasons: a repair, a source that is read again, a new configuration, a new identity of the host, a changed amount.
For the last reason, the agent compares the amounts of the finding's consumers now with their amounts when an audit last
saw the finding. The amounts are *promised* (by nova's database), *held* (on the host) and *recorded* (in Placement).
The agent compares only amounts from the finding's own sources, because only these were certainly read both times. Pure.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple

from agent.books.booked import BookedBy, booked_of, sum_of
from agent.books.confirm import finding_of, seen_of
from agent.model.audit import Reconfigured
from agent.model.finding import ABOUT_READS, Booked, Finding, GoneFinding, GoneReason, SeenFinding, Sighting
from agent.model.snapshot import PLACEMENT, STATE
from agent.text.amounts import with_class

_HOST = "host"
# For each source: the source's name in texts, and why a finding is gone if only this source changed.
_BOOKS = MappingProxyType(
    {
        PLACEMENT: ("placement", GoneReason.PLACEMENT_CHANGED),
        STATE: ("cloud", GoneReason.CLOUD_CHANGED),
        _HOST: ("host", GoneReason.HOST_CHANGED),
    }
)


class Repair(NamedTuple):
    """A change that the journal records as done. ``actor`` names who made the change; None if unknown."""

    entry_id: str
    at: str
    finding_id: str | None
    consumer_uuid: str | None
    why: str
    actor: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Present:
    """What this audit knows besides the findings: the present amounts in the books, and other reasons why findings end.

    ``reconfigured``: the last change of the configuration, None if there was none.
    ``root_before`` and ``root`` are the uuids of the host's provider in the last audit and now.
    ``wrote``: the consumers and providers that this agent itself wrote since the last audit's reads.
    """

    booked: BookedBy = field(default_factory=lambda: MappingProxyType({}))
    repairs: tuple[Repair, ...] = ()
    reconfigured: Reconfigured | None = None
    root_before: str | None = None
    root: str | None = None
    wrote: frozenset[str] = frozenset()


def gone(sighting: Sighting, now: Present) -> GoneFinding:
    """Return the ended finding with the reason of its end. If several reasons are true, the first one is reported."""
    seen = seen_of(sighting)
    repair = _repair(seen, now)
    if repair is not None:
        words = f"{repair.why} (journal entry {repair.entry_id}{f', {repair.actor}' if repair.actor else ''})"
        return GoneFinding(
            seen=seen, reason=GoneReason.HEALED, words=words, entry_id=repair.entry_id, actor=repair.actor
        )
    reason, words = _reason(sighting, now)
    return GoneFinding(seen=seen, reason=reason, words=words)


def _repair(seen: SeenFinding, now: Present) -> Repair | None:
    """Return the newest repair that may have ended the finding; None if there is none.

    Such a repair was made after an audit last saw the finding. It was for this finding, for a finding that caused this
    finding, or for this finding's consumer.
    """
    ids = {seen.finding.id, *seen.caused_by}
    consumer = seen.finding.consumer_uuid
    fitting = [
        one
        for one in now.repairs
        if one.at >= seen.last_seen_at
        and (one.finding_id in ids or (consumer is not None and one.consumer_uuid == consumer))
    ]
    return max(fitting, key=lambda one: one.at, default=None)


def _reason(sighting: Sighting, now: Present) -> tuple[GoneReason, str]:
    finding = finding_of(sighting)
    if finding.code in ABOUT_READS:
        return GoneReason.SOURCE_BACK, f"{finding.subject or 'the source'} was read again"
    if now.reconfigured is not None and sighting.last_seen_at < now.reconfigured.at:
        return GoneReason.CONFIGURATION_CHANGED, now.reconfigured.words
    if now.root_before not in (None, now.root) and finding.provider_uuid == now.root_before:
        return GoneReason.IDENTITY_CHANGED, f"the uuid of this host's provider changed: {now.root_before} -> {now.root}"
    return _of_books(sighting, finding, now)


def _of_books(sighting: Sighting, finding: Finding, now: Present) -> tuple[GoneReason, str]:
    rests_on = {source if source in _BOOKS else _HOST for source in finding.rests_on} or set(_BOOKS)
    before, after = _by_class(sighting.booked), _by_class(booked_of(finding, now.booked))
    changes = {}
    for number, book in enumerate((STATE, _HOST, PLACEMENT)):
        classes = [name for name in sorted({*before, *after}) if _at(before, name)[number] != _at(after, name)[number]]
        if book in rests_on and classes:
            was, is_now = (_text((name, _at(side, name)[number]) for name in classes) for side in (before, after))
            changes[book] = f"{_BOOKS[book][0]}: {was} -> {is_now}{_whose(book, finding, now)}"
    if len(changes) == 1:
        ((book, words),) = changes.items()
        return _BOOKS[book][1], words
    if changes:
        return GoneReason.SEVERAL, "; ".join(changes.values())
    words = f"no longer found; before: {finding.actual}"
    return (_BOOKS[next(iter(rests_on))][1] if len(rests_on) == 1 else GoneReason.SEVERAL), words


def _whose(book: str, finding: Finding, now: Present) -> str:
    """Return a remark in brackets if the change is in Placement and this agent did not make it, else ""."""
    if book != PLACEMENT or {finding.consumer_uuid, finding.provider_uuid} & now.wrote:
        return ""
    return " (this agent did not make this change)"


_Amounts = tuple[int | None, int | None, int | None]


def _by_class(booked: Iterable[Booked]) -> dict[str, _Amounts]:
    found: dict[str, list[Booked]] = defaultdict(list)
    for one in booked:
        found[one.resource_class].append(one)
    return {
        name: (sum_of(b.promised for b in some), sum_of(b.held for b in some), sum_of(b.recorded for b in some))
        for name, some in found.items()
    }


def _at(side: Mapping[str, _Amounts], name: str) -> _Amounts:
    return side.get(name, (None, None, None))


def _text(amounts: Iterable[tuple[str, int | None]]) -> str:
    return ", ".join(with_class(name, amount) for name, amount in amounts if amount is not None) or "nothing"
