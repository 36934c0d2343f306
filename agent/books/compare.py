"""Put the three books side by side, consumer by consumer and class by class; verdict.py judges each row.

What a missing book says is unknown, not zero: without the state source nothing
about guests is concluded. *Held* counts as present when the guest is defined,
whatever of the class it holds, since the disk of a guest may lie anywhere.

What a newcomer would get wrong: what is promised of child providers names none of
them (the scheduler chooses), so it is compared with the sum over all that the
consumer holds outside the root; and of a provider that shares with our root only what is
left of this host's own guests is a row, because nearly all on it is other hosts'.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from agent.books.verdict import Case, Known, known_of, verdict
from agent.model.books import Books
from agent.model.claim import Cause, Claim, Consumer, Origin
from agent.model.compared import Row
from agent.model.nova import Instance, Migration, NovaState
from agent.model.placement import ROOT, PlacementView, ProviderKey
from agent.model.snapshot import Snapshot

# Some child of the root, whichever: where a promise of a child's class is kept.
CHILD = ProviderKey("child", "")
SHARED = "shared"

_Key = tuple[str, ProviderKey, str]
_Claims = dict[str, list[Claim]]


def compare(snapshot: Snapshot, written: Books, state: NovaState | None, node: str | None) -> tuple[Row, ...]:  # noqa: ARG001
    """Rows sorted by consumer, class and provider."""
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
    """What guests that this host once had still hold of providers that share with it."""
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
    """Whether it is an instance that was deleted here, or the source's half of a move away from here that is over.

    An instance that lives on takes its part of a sharing provider along, wherever it goes.
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
    promised, held, recorded = (_sum(books.get(book)) for book in ("promised", "held", "recorded"))
    claims = tuple(claim for book in ("promised", "held", "recorded") for claim in books.get(book, ()))
    migration = known.migrations.get(consumer)
    instance = known.instances.get(migration.instance_uuid if migration else consumer)
    case = Case(
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
        verdict=verdict(known, case),
        cause=case.cause,
        claims=(*claims, *_stood_for(known, consumer, resource_class)),
        instance=instance,
        migration=migration,
        consumer_kind=_kind(claims[0], instance, migration),
        consumer_name=claims[0].consumer.name or (instance.name if instance else ""),
    )


def _stood_for(known: Known, consumer: str, resource_class: str) -> tuple[Claim, ...]:
    """What the host holds that a consumer of ours stands for: its evidence, counted in rows of its own."""
    cause = known.ours.get(consumer)
    if cause is None:
        return ()
    unmanaged = known.written.unmanaged.claims
    return tuple(claim for claim in unmanaged if claim.cause is cause and claim.resource_class == resource_class)


def _sum(claims: list[Claim] | None) -> int | None:
    return sum(claim.amount for claim in claims) if claims else None


def _provider(place: ProviderKey, books: _Claims) -> ProviderKey:
    """Of a promise on some child: the one that keeps it, where it is a single one."""
    holding = {claim.provider_key for claim in books.get("recorded", ())} if place == CHILD else set()
    return holding.pop() if len(holding) == 1 else place


def _kind(claim: Claim, instance: Instance | None, migration: Migration | None) -> str:
    if claim.consumer.kind == "volume":
        return "volume"
    if migration is not None:
        return "migration"
    return "instance" if instance is not None else claim.consumer.kind
