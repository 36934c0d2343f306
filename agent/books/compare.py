"""Compare nova's database (*promised*), the host (*held*) and Placement's allocations (*recorded*).

The result has one row for each consumer, resource class and provider, with the verdict of verdict.py.

If a source could not be read, its amounts are unknown, not zero. For example, without nova's database, the verdict
about every guest is "unknown". In *held*, a guest counts as present if libvirt defines the guest, even with the amount
0: a guest takes no DISK_GB if its disk is on another store.

Some classes are on child providers. The scheduler chooses the child, and nova's database does not say which. So a
*promised* amount of such a class is compared with the sum of the consumer's allocations outside the root.

On a sharing provider outside the tree, nearly all allocations belong to consumers on other hosts. So only allocations
of this host's former guests become rows.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from agent.books.verdict import ConsumerClass, Known, known_of, verdict
from agent.model.books import Books
from agent.model.claim import Cause, Claim, Consumer, Origin
from agent.model.compared import Row
from agent.model.nova import Instance, Migration, NovaState
from agent.model.placement import ROOT, PlacementView, ProviderKey
from agent.model.snapshot import Snapshot

# A key that means "some child of the root provider": nova's database does not say which child an instance uses.
CHILD = ProviderKey("child", "")
SHARED = "shared"

_Key = tuple[str, ProviderKey, str]
_Claims = dict[str, list[Claim]]


def compare(snapshot: Snapshot, written: Books, state: NovaState | None) -> tuple[Row, ...]:
    """Compare nova, the host and Placement; return one row per consumer, provider and class, sorted in this order."""
    known = known_of(snapshot, written, state)
    of_children = {(c.consumer.key, c.resource_class) for c in written.promised.claims if c.provider_key == CHILD}
    grouped: dict[_Key, _Claims] = defaultdict(lambda: defaultdict(list))
    for book, ledger in (("promised", written.promised), ("held", written.held), ("recorded", written.recorded)):
        for claim in ledger.claims:
            on_child = claim.provider_key != ROOT and (claim.consumer.key, claim.resource_class) in of_children
            place = CHILD if on_child else claim.provider_key
            grouped[claim.consumer.key, place, claim.resource_class][book].append(claim)
    for claim in _left_on_shared(known, snapshot.placement.value):
        grouped[claim.consumer.key, claim.provider_key, claim.resource_class]["recorded"].append(claim)
    return tuple(_row(known, key, books) for key, books in sorted(grouped.items(), key=lambda item: item[0]))


def _left_on_shared(known: Known, view: PlacementView | None) -> Iterable[Claim]:
    """Yield the allocations that former guests of this host still have on sharing providers."""
    for sharing in view.shared if view else ():
        for held in sharing.allocations:
            if _was_here(known, held.consumer_uuid):
                yield Claim(
                    consumer=Consumer(key=held.consumer_uuid, kind="unknown", uuid=held.consumer_uuid),
                    cause=Cause.RECORDED_ONLY,
                    resource_class=held.resource_class,
                    amount=held.amount,
                    provider_key=ProviderKey(SHARED, sharing.provider.uuid),
                    source=Origin("placement", "allocations", held.consumer_uuid),
                )


def _was_here(known: Known, consumer: str) -> bool:
    """Return whether the consumer is an instance deleted on this host, or a finished migration away from this host.

    Return False for an instance that moved to another host: that host may use the same sharing provider.
    """
    if known.state is None:
        return False
    migration = known.migrations.get(consumer)
    if migration is not None:
        return migration.source_host == known.state.host and not migration.in_progress
    instance = known.instances.get(consumer)
    return instance is not None and instance.deleted and instance.host == known.state.host


def _row(known: Known, key: _Key, books: _Claims) -> Row:
    consumer, place, resource_class = key
    of_book = [books.get(book, ()) for book in ("promised", "held", "recorded")]
    promised, held, recorded = (sum(claim.amount for claim in found) if found else None for found in of_book)
    claims = tuple(claim for found in of_book for claim in found)
    migration = known.migrations.get(consumer)
    instance = known.instances.get(migration.instance_uuid if migration else consumer)
    item = ConsumerClass(
        consumer=consumer,
        instance=instance,
        migration=migration,
        resource_class=resource_class,
        cause=claims[0].cause,
        promised=promised,
        recorded=recorded,
    )
    return Row(
        key=consumer,
        provider_key=_provider(place, books),
        resource_class=resource_class,
        promised=promised,
        held=held,
        recorded=recorded,
        verdict=verdict(known, item),
        cause=item.cause,
        claims=(*claims, *_stood_for(known, consumer, resource_class)),
        instance=instance,
        migration=migration,
        consumer_kind=_kind(claims[0], instance, migration),
        consumer_name=claims[0].consumer.name or (instance.name if instance else ""),
    )


def _stood_for(known: Known, consumer: str, resource_class: str) -> tuple[Claim, ...]:
    """Return the claims of ``resource_class`` that are the reason why the agent created this consumer.

    Return () if nova or another program created the consumer.
    """
    cause = known.own_consumers.get(consumer)
    if cause is None:
        return ()
    unmanaged = known.written.unmanaged.claims
    return tuple(claim for claim in unmanaged if claim.cause is cause and claim.resource_class == resource_class)


def _provider(place: ProviderKey, books: _Claims) -> ProviderKey:
    """Return ``place``, but replace CHILD by the provider that has the consumer's allocation.

    CHILD stays if the consumer has no allocation, or allocations on several providers.
    """
    holding = {claim.provider_key for claim in books.get("recorded", ())} if place == CHILD else set()
    return holding.pop() if len(holding) == 1 else place


def _kind(claim: Claim, instance: Instance | None, migration: Migration | None) -> str:
    if claim.consumer.kind == "volume":
        return "volume"
    if migration is not None:
        return "migration"
    return "instance" if instance is not None else claim.consumer.kind
