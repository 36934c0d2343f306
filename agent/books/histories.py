"""Merge the histories that two processes of this host saved, so that neither loses what the other one saw.

The daemon and a command may audit at the same time. Both begin with the saved history, and both save. The merged
history has each finding once: with the earliest ``first_seen_at``, the latest ``last_seen_at``, and the larger count.
Pure.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Set

from agent.model.finding import History, Sighting


def merged(ours: History, theirs: History, ended: Set[str] = frozenset()) -> History:
    """Return our history with what ``theirs`` knows besides. ``ended``: the findings that our audits checked and ended.

    Everything but the findings comes from ``ours``.
    """
    is_newer = ours.boot != theirs.boot or (ours.read_until or 0) >= (theirs.read_until or 0)
    found = {one.id: one for one in theirs.sightings if one.id not in ended}
    for own in ours.sightings:
        other = found.get(own.id)
        if other is None:
            # A later audit of the other process did not find it: our next audit decides, and counts from 0.
            found[own.id] = own if is_newer else dataclasses.replace(own, times=0)
        else:
            found[own.id] = _merged(own, other) if is_newer else _merged(other, own)
    return dataclasses.replace(
        ours,
        sightings=tuple(found[finding_id] for finding_id in sorted(found)),
        read_until=ours.read_until if is_newer else theirs.read_until,
    )


def _merged(newer: Sighting, older: Sighting) -> Sighting:
    # An audit that could not check the finding set the count to 0: an older count does not bring it back.
    is_equal = newer.evidence_digest == older.evidence_digest and newer.times > 0
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
