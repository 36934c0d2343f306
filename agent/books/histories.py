"""Merge the findings' histories of two processes on this host, so that neither process loses what the other one saw.

The daemon and a command may audit at the same time. Both begin with the saved history, and both save a history. The
merged history has each finding once: with the earliest ``first_seen_at`` and the latest ``last_seen_at``. ``times`` is
the larger number of audits that saw the finding. But if the finding may have ended or changed, only later audits count.
Pure: no I/O.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Set

from agent.model.finding import History, Sighting


def merged(mine: History, stored: History, ended: Set[str] = frozenset()) -> History:
    """Return a history with the findings of ``mine`` and ``stored``.

    A finding of ``stored`` whose id is in ``ended`` has ended and is left out. The history's own fields come
    from ``mine``, except ``read_until``, which comes from the newer history.
    """
    is_newer = mine.boot != stored.boot or (mine.read_until or 0) >= (stored.read_until or 0)
    known = {one.id: one for one in stored.sightings if one.id not in ended}
    found = {one.id: _alone(one, mine) if mine.boot == stored.boot else _uncounted(one) for one in known.values()}
    for own in mine.sightings:
        other = known.get(own.id)
        if other is None:
            found[own.id] = _alone(own, stored) if mine.boot == stored.boot else own
        else:
            found[own.id] = _merged(own, other) if is_newer else _merged(other, own)
    return dataclasses.replace(
        mine,
        sightings=tuple(found[finding_id] for finding_id in sorted(found)),
        read_until=mine.read_until if is_newer else stored.read_until,
    )


def _alone(sighting: Sighting, other: History) -> Sighting:
    """Return the record of a finding that the history ``other`` lacks. Both histories are of the same boot.

    The last audit in ``other`` did not find the finding, so only later audits may count. If ``times`` counts one audit,
    and that audit is later, ``times`` stays. Otherwise ``times`` becomes 0, because it may include earlier audits.
    """
    is_later = sighting.times == 1 and sighting.counted_at > (other.read_until or 0)
    return sighting if is_later else _uncounted(sighting)


def _uncounted(sighting: Sighting) -> Sighting:
    return dataclasses.replace(sighting, times=0)


def _merged(newer: Sighting, older: Sighting) -> Sighting:
    # ``times`` counts the audits that saw the finding. The older count may replace the newer count only if:
    # - The evidence is equal.
    # - The newer audit could check the finding. If it could not, the newer count is 0.
    # - The two counts overlap in time. Without an overlap, the finding may have been gone between the two counts.
    is_equal = newer.evidence_digest == older.evidence_digest and newer.times > 0
    is_equal = is_equal and newer.stands_since <= older.last_seen_at
    counted = max(newer, older, key=lambda one: (one.times, one.counted_at)) if is_equal else newer
    starts = [one.stands_since for one in (newer, older) if one.stands_since] if is_equal and older.times else []
    return dataclasses.replace(
        newer,
        first_seen_at=min(newer.first_seen_at, older.first_seen_at),
        last_seen_at=max(newer.last_seen_at, older.last_seen_at),
        times=counted.times,
        counted_at=counted.counted_at,
        stands_since=min(starts, default=newer.stands_since),
        confirmed=newer.confirmed or older.confirmed,
        finding=newer.finding or older.finding,
        booked=newer.booked or older.booked,
    )
