"""A claim says: this consumer takes this amount of this resource class, for this reason, according to this source."""

from __future__ import annotations

import enum
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from agent.model.placement import ProviderKey


class Cause(enum.Enum):
    """Why a consumer takes an amount of a resource."""

    INSTANCE = "instance"
    MIGRATION_IN = "migration-in"
    REVERT_HOLD = "revert-hold"
    RESIZE_HERE = "resize-here"
    FOREIGN_GUEST = "foreign-guest"
    FOREIGN_VOLUME = "foreign-volume"
    VOLUME_ORPHANED = "volume-orphaned"
    BLOCK_STORAGE = "block-storage"
    THIN_POOL = "thin-pool"
    HOST_RESERVED = "host-reserved"
    RECORDED_ONLY = "recorded-only"
    USAGE_UNLISTED = "usage-unlisted"


UNMANAGED_CAUSES = frozenset(
    {Cause.FOREIGN_GUEST, Cause.FOREIGN_VOLUME, Cause.VOLUME_ORPHANED, Cause.BLOCK_STORAGE, Cause.THIN_POOL}
)


class Origin(NamedTuple):
    """The source of a fact and the key to look the fact up again, e.g. ("nova", "instances", uuid)."""

    system: str
    kind: str
    key: str = ""

    def __str__(self) -> str:
        return " ".join(part for part in self if part)


@dataclass(frozen=True, slots=True, kw_only=True)
class Consumer:
    """The consumer that takes the amount of a claim.

    ``uuid`` is the uuid that Placement uses for the consumer, None if the consumer has no uuid. ``kind`` is instance,
    migration, domain, volume, host or unknown. For a consumer without a uuid (a volume), ``key`` is the consumer's
    name (``vg/lv``).
    """

    key: str
    kind: str
    name: str = ""
    uuid: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """An amount of one resource class that one consumer takes from one provider.

    ``amount`` is in the unit of the class: vCPUs for VCPU, MiB for MEMORY_MB, GiB rounded up for DISK_GB.
    ``size_bytes`` is the exact size, for storage claims only. If the consumer is a migration, ``instance_uuid`` is the
    instance that moves.
    """

    consumer: Consumer
    cause: Cause
    resource_class: str
    amount: int
    provider_key: ProviderKey
    source: Origin
    size_bytes: int | None = None
    instance_uuid: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ledger:
    """What consumers take, according to one source (nova, host or Placement). Sorted, so that equals compare equal."""

    claims: tuple[Claim, ...] = ()

    @classmethod
    def of(cls, claims: Iterable[Claim]) -> Ledger:
        """Sort the claims."""
        return cls(claims=tuple(sorted(claims, key=_claim_order)))

    def total(self, resource_class: str) -> int:
        """Return the sum of the amounts of one class."""
        return sum(c.amount for c in self.claims if c.resource_class == resource_class)

    def by_consumer(self) -> dict[str, tuple[Claim, ...]]:
        """Return the claims, grouped by the consumer's key."""
        grouped: dict[str, list[Claim]] = defaultdict(list)
        for claim in self.claims:
            grouped[claim.consumer.key].append(claim)
        return {key: tuple(claims) for key, claims in grouped.items()}


def _claim_order(claim: Claim) -> tuple[object, ...]:
    # Every field is part of the key, so that the order of the sorted claims does not depend on the order of the input.
    # repr() as the key is too slow: it took half of an audit's time (benchmarks/).
    consumer = claim.consumer
    return (
        consumer.key,
        claim.resource_class,
        claim.provider_key,
        claim.cause.value,
        claim.amount,
        claim.source,
        (consumer.kind, consumer.name, *_sort_key(consumer.uuid)),
        _sort_key(claim.instance_uuid),
        () if claim.size_bytes is None else (claim.size_bytes,),
    )


def _sort_key(text: str | None) -> tuple[str, ...]:
    """Return a sort key for an optional text. None sorts before any text."""
    return () if text is None else (text,)
