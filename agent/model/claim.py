"""Claims: every unit of a resource has an owner (the consumer) and a cause, and a place where that was read."""

from __future__ import annotations

import enum
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from agent.model.placement import ProviderKey


class Cause(enum.Enum):
    """Why a unit is taken."""

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
    """Where a fact came from and how to look it up again, e.g. ("nova", "instances", uuid)."""

    system: str
    kind: str
    key: str = ""

    def __str__(self) -> str:
        return " ".join(part for part in self if part)


@dataclass(frozen=True, slots=True, kw_only=True)
class Consumer:
    """Who holds something: ``uuid`` in Placement's sense where it has one.

    ``kind`` is instance, migration, domain, volume, host or unknown. For things
    that have no consumer uuid (a volume) ``key`` is their own name (``vg/lv``).
    """

    key: str
    kind: str
    name: str = ""
    uuid: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """``amount`` of one class of one provider (VCPU: vCPUs, MEMORY_MB: MiB, DISK_GB: GiB, rounded up).

    ``size_bytes`` is exact, for storage claims only. ``instance_uuid`` says whose
    it really is where the consumer is a migration.
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
    """One of the three books. Claims are kept sorted, so equal content is equal."""

    claims: tuple[Claim, ...] = ()

    @classmethod
    def of(cls, claims: Iterable[Claim]) -> Ledger:
        """A ledger of these claims, in the one order that makes equal books equal."""
        return cls(claims=tuple(sorted(claims, key=_claim_order)))

    def total(self, resource_class: str) -> int:
        """Sum of the amounts of one class."""
        return sum(c.amount for c in self.claims if c.resource_class == resource_class)

    def by_consumer(self) -> dict[str, tuple[Claim, ...]]:
        """Claims by the consumer's key."""
        grouped: dict[str, list[Claim]] = defaultdict(list)
        for claim in self.claims:
            grouped[claim.consumer.key].append(claim)
        return {key: tuple(claims) for key, claims in grouped.items()}

    def merge(self, other: Ledger) -> Ledger:
        """Both books in one; associative and commutative."""
        return Ledger.of(self.claims + other.claims)


def _claim_order(claim: Claim) -> tuple[object, ...]:
    # Every field, so that the order is the same for any input; no repr(), which took half of an audit (benchmarks/).
    consumer = claim.consumer
    return (
        consumer.key,
        claim.resource_class,
        claim.provider_key,
        claim.cause.value,
        claim.amount,
        claim.source,
        (consumer.kind, consumer.name, *_given(consumer.uuid)),
        _given(claim.instance_uuid),
        () if claim.size_bytes is None else (claim.size_bytes,),
    )


def _given(text: str | None) -> tuple[str, ...]:
    """What cannot be compared with text made comparable: None comes before any."""
    return () if text is None else (text,)
