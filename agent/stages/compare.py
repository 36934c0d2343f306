"""Compare the three books, consumer by consumer and class by class: one table (design 3.3).

What a missing book says is unknown, not zero: without the state source nothing
about guests is concluded. *Held* counts as present when the guest is defined,
whatever of the class it holds, since the disk of a guest may lie anywhere.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from agent.model.books import Books
from agent.model.claim import UNMANAGED_CAUSES, Cause, Claim
from agent.model.compared import Row
from agent.model.host import HostFacts
from agent.model.nova import Instance, Migration, NovaState
from agent.model.occupancy import Occupancy
from agent.model.own_consumers import own_consumers
from agent.model.placement import ConsumerRecord, ProviderKey
from agent.model.report import Verdict
from agent.model.snapshot import Snapshot
from agent.resources import owned

_MOVE_CAUSES = frozenset({Cause.MIGRATION_IN, Cause.REVERT_HOLD, Cause.RESIZE_HERE})
_GONE_STATES = frozenset({"shelved_offloaded"})


@dataclass(frozen=True, slots=True)
class _Known:
    """Look-ups over one snapshot, made once."""

    written: Books
    state: NovaState | None
    instances: dict[str, Instance]
    migrations: dict[str, Migration]
    moving: frozenset[str]
    guests: frozenset[str]
    holders: frozenset[str]
    occupancies: dict[str, tuple[Occupancy, ...]]
    node: str | None
    tree: frozenset[str]
    may_share: bool
    records: dict[str, ConsumerRecord]
    ours: Mapping[str, Cause]


def compare(snapshot: Snapshot, written: Books, state: NovaState | None, node: str | None) -> tuple[Row, ...]:
    """Rows sorted by consumer, class and provider."""
    known = _known(snapshot, written, state, node)
    grouped: dict[tuple[str, ProviderKey, str], dict[str, list[Claim]]] = defaultdict(lambda: defaultdict(list))
    for book, ledger in (("promised", written.promised), ("held", written.held), ("recorded", written.recorded)):
        for claim in ledger.claims:
            grouped[claim.consumer.key, claim.provider_key, claim.resource_class][book].append(claim)
    return tuple(_row(known, key, books) for key, books in sorted(grouped.items(), key=lambda item: item[0]))


def _known(snapshot: Snapshot, written: Books, state: NovaState | None, node: str | None) -> _Known:
    occupancies: dict[str, list[Occupancy]] = defaultdict(list)
    for taken in written.occupied.occupancies:
        occupancies[taken.consumer_uuid].append(taken)
    migrations = state.migrations if state else ()
    finished = state.finished_evacuations if state else ()
    host, view = snapshot.host.value, snapshot.placement.value
    return _Known(
        written=written,
        state=state,
        instances={i.uuid: i for i in (state.instances if state else ())},
        migrations={m.uuid: m for m in (*finished, *migrations) if m.uuid},
        moving=frozenset(m.instance_uuid for m in migrations if m.under_way),
        guests=_guest_uuids(host),
        holders=frozenset(claim.consumer.key for claim in written.recorded.claims),
        occupancies={key: tuple(found) for key, found in occupancies.items()},
        node=node,
        tree=frozenset(p.uuid for p in (view.providers if view else ())),
        may_share=any(p.aggregates for p in (view.providers if view else ())),
        records={r.consumer_uuid: r for r in (view.consumers if view else ())},
        ours=own_consumers(view.root_uuid if view else None),
    )


def _guest_uuids(host: HostFacts | None) -> frozenset[str]:
    """Defined guests, those that cannot be understood included."""
    if host is None:
        return frozenset()
    return frozenset(d.uuid for d in host.domains) | frozenset(d.uuid for d in host.odd_domains)


def _row(known: _Known, key: tuple[str, ProviderKey, str], books: dict[str, list[Claim]]) -> Row:
    consumer, provider, resource_class = key
    promised, held, recorded = (_sum(books.get(book)) for book in ("promised", "held", "recorded"))
    claims = tuple(claim for book in ("promised", "held", "recorded") for claim in books.get(book, ()))
    migration = known.migrations.get(consumer)
    instance = _instance_of(known, consumer, migration)
    cause = claims[0].cause
    subject = _Subject(consumer, instance, migration, resource_class, cause, promised, recorded)
    return Row(
        key=consumer,
        provider_key=provider,
        resource_class=resource_class,
        promised=promised,
        held=held,
        recorded=recorded,
        verdict=_verdict(known, subject),
        cause=cause,
        claims=claims,
        instance=instance,
        migration=migration,
        consumer_kind=_kind(claims[0], instance, migration),
        consumer_name=claims[0].consumer.name or (instance.name if instance else ""),
    )


def _sum(claims: list[Claim] | None) -> int | None:
    return sum(claim.amount for claim in claims) if claims else None


def _instance_of(known: _Known, consumer: str, migration: Migration | None) -> Instance | None:
    return known.instances.get(migration.instance_uuid if migration else consumer)


def _kind(claim: Claim, instance: Instance | None, migration: Migration | None) -> str:
    if claim.consumer.kind == "volume":
        return "volume"
    if migration is not None:
        return "migration"
    return "instance" if instance is not None else claim.consumer.kind


@dataclass(frozen=True, slots=True)
class _Subject:
    """What one verdict is about."""

    consumer: str
    instance: Instance | None
    migration: Migration | None
    resource_class: str
    cause: Cause
    promised: int | None
    recorded: int | None


def _verdict(known: _Known, subject: _Subject) -> Verdict:
    instance = subject.instance
    if subject.consumer in known.ours:
        return Verdict.AGREED  # held by us for what the host holds: that has rows of its own
    if subject.cause in UNMANAGED_CAUSES - {Cause.FOREIGN_GUEST}:
        return Verdict.UNMANAGED
    if not known.written.state_known or (instance is not None and instance.problem is not None):
        return Verdict.UNKNOWN
    if subject.consumer in known.occupancies:
        return _expected(known, subject)
    if subject.consumer in known.guests:
        return _uninvited(known, instance)
    return _recorded_only(known, instance, subject.migration)


def _expected(known: _Known, subject: _Subject) -> Verdict:
    """The cloud promised this consumer room here."""
    if subject.promised is None and not owned(subject.resource_class):
        return Verdict.UNKNOWN  # a class that no resource of ours decides is not compared
    settling = _is_settling(known.occupancies[subject.consumer])
    if known.written.host_known and not _has_guest(known, subject.consumer) and not settling:
        return Verdict.GUEST_MISSING
    if not known.written.recorded_known:
        return Verdict.UNKNOWN
    return Verdict.SETTLING if settling else _of_amounts(known, subject)


def _of_amounts(known: _Known, subject: _Subject) -> Verdict:
    """Promised against recorded, of an instance that rests here."""
    if subject.promised == subject.recorded:
        return Verdict.AGREED
    if subject.recorded is None and (shared := _from_shared(known, subject)) is not None:
        return shared
    return Verdict.ALLOCATION_DIFFERS if subject.consumer in known.holders else Verdict.ALLOCATION_MISSING


def _from_shared(known: _Known, subject: _Subject) -> Verdict | None:
    """A class that a sharing provider may serve (DISK_GB on shared storage) is looked for in the consumer's own record.

    None: no provider of ours is in an aggregate, or the record says that nobody else serves it.
    """
    if not known.may_share or subject.consumer not in known.holders:
        return None
    record = known.records.get(subject.consumer)
    if record is None:
        return Verdict.UNKNOWN
    elsewhere = sum(
        a.amount
        for a in record.allocations
        if a.resource_class == subject.resource_class and a.provider_uuid not in known.tree
    )
    return Verdict.AGREED if elsewhere == subject.promised else None


def _is_settling(occupancies: tuple[Occupancy, ...]) -> bool:
    return any(
        o.moving or o.cause in _MOVE_CAUSES or o.instance.task_state is not None or o.instance.vm_state == "building"
        for o in occupancies
    )


def _has_guest(known: _Known, consumer: str) -> bool:
    return any(o.instance.uuid in known.guests for o in known.occupancies[consumer])


def _uninvited(known: _Known, instance: Instance | None) -> Verdict:
    """A guest that the cloud does not expect here, recorded or not."""
    if instance is None:
        return Verdict.GUEST_UNKNOWN
    if instance.uuid in known.moving:
        return Verdict.SETTLING
    if not _is_of_this_host(known, instance):
        return Verdict.GUEST_UNKNOWN
    # Its row is of this host and does not count (another node's name, say): nobody to accuse, but unknown.
    return Verdict.UNKNOWN if instance.task_state is None else Verdict.SETTLING


def _is_of_this_host(known: _Known, instance: Instance) -> bool:
    return known.state is not None and instance.host == known.state.host and not instance.deleted


def _recorded_only(known: _Known, instance: Instance | None, migration: Migration | None) -> Verdict:
    """Placement says so, and neither the cloud nor the host does (reconcile 6)."""
    if migration is not None and migration.in_progress:
        return Verdict.SETTLING
    if not known.written.host_known:
        return Verdict.UNKNOWN  # its guest may be here, and running
    if instance is None:
        return Verdict.CONSUMER_UNKNOWN if migration is None else Verdict.ALLOCATION_STALE_MOVE
    if instance.deleted:
        # Deleted but hidden: the other half of a cross-cell resize still needs it.
        return Verdict.SETTLING if instance.hidden else Verdict.ALLOCATION_LEAKED
    if instance.uuid in known.moving or instance.task_state is not None:
        return Verdict.SETTLING
    return _of_living_instance(known, instance, migration)


def _of_living_instance(known: _Known, instance: Instance, migration: Migration | None) -> Verdict:
    if migration is not None or instance.vm_state in _GONE_STATES:
        return Verdict.ALLOCATION_STALE_MOVE
    if instance.host is None:
        return Verdict.SETTLING  # scheduled, not yet started: being built
    # Our host under another node's name has not moved: nobody knows what that is (reconcile 6).
    return Verdict.UNKNOWN if _is_of_this_host(known, instance) else Verdict.ALLOCATION_STALE_MOVE
