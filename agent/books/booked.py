"""Collect the amounts that the three books have for a finding's consumers.

The books are named "promised" (nova's database), "held" (libvirt and storage) and "recorded" (Placement's allocations).
When a finding ends, a comparison with these amounts shows why the finding ended. Pure: no I/O.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import TypeAlias

from agent.books.compare import SHARED
from agent.model.compared import Row
from agent.model.finding import Booked, Finding
from agent.model.memo import for_the_same_arguments

#: By consumer key: the amounts in nova's database (promised), on the host (held) and in Placement (recorded).
BookedBy: TypeAlias = Mapping[str, tuple[Booked, ...]]
#: The key of the host's totals in BookedBy. Each resource class has one total.
ALL = ""


@for_the_same_arguments
def booked_by(rows: tuple[Row, ...]) -> BookedBy:
    """Return the promised, held and recorded amounts by consumer key; the key ALL has the host's totals."""
    found: dict[str, list[Booked]] = defaultdict(list)
    totals: dict[str, list[tuple[int | None, int | None, int | None]]] = defaultdict(list)
    for row in rows:
        shared = row.provider_key.kind == SHARED
        found[row.key].append(Booked(row.key, row.resource_class, row.promised, row.held, row.recorded, shared))
        if not shared:
            totals[row.resource_class].append((row.promised, row.held, row.recorded))
    every = tuple(_total(name, amounts) for name, amounts in sorted(totals.items()))
    return {ALL: every, **{key: tuple(booked) for key, booked in found.items()}}


def _total(name: str, amounts: list[tuple[int | None, int | None, int | None]]) -> Booked:
    promised, held, recorded = (sum_of(book) for book in zip(*amounts, strict=True))
    return Booked(ALL, name, promised, held, recorded)


def booked_of(finding: Finding, booked: BookedBy) -> tuple[Booked, ...]:
    """Return what nova's database, the host and Placement say about the subject of the finding.

    - If the evidence names exactly one consumer: this consumer's amounts. The consumer may differ from
      ``consumer_uuid``: for a volume that is named after an instance, the consumer is the volume.
    - Else, if the finding has a ``consumer_uuid``: the amounts of this consumer.
    - Else, if the finding has a resource class: the host's sums for this class.
    """
    keys = list(dict.fromkeys(claim.consumer.key for claim in finding.evidence))
    if finding.consumer_uuid and len(keys) != 1:
        keys = [finding.consumer_uuid]
    elif len(keys) != 1:
        keys = [ALL] if finding.resource_class else []
    wanted = finding.resource_class
    return tuple(one for key in keys for one in booked.get(key, ()) if wanted in (None, one.resource_class))


def sum_of(amounts: Iterable[int | None]) -> int | None:
    """Return the sum of the amounts that are known; None if no amount is known."""
    known = [amount for amount in amounts if amount is not None]
    return sum(known) if known else None
