"""Judge one consumer and class by the three books: one table (design 3.3), and every in-between state of the cloud's.

What a newcomer would get wrong: nothing is concluded from what was not read. A
consumer of which no row is known is told only once its own record was read, because
its type may say that it is another service's; a row that cannot be read makes its
consumer unknown, which is neither gone nor moved. Pure.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from agent.books.recency import instance_just_changed, migration_just_changed
from agent.model.books import Books
from agent.model.claim import UNMANAGED_CAUSES, Cause
from agent.model.nova import Instance, Migration, NovaState
from agent.model.occupancy import Occupancy
from agent.model.own_consumers import OWN_TYPE, own_consumers
from agent.model.placement import ConsumerRecord
from agent.model.report import Verdict
from agent.model.snapshot import Snapshot
from agent.resources import owned

_MOVE_CAUSES = frozenset({Cause.MIGRATION_IN, Cause.REVERT_HOLD, Cause.RESIZE_HERE})
# What needs no other book: the host alone says what is unmanaged, and Placement alone what it does not list.
_BY_CAUSE = {cause: Verdict.UNMANAGED for cause in UNMANAGED_CAUSES - {Cause.FOREIGN_GUEST}} | {
    Cause.USAGE_UNLISTED: Verdict.USAGE_UNLISTED
}
# Where instances are that hold no host any more.
_GONE_STATES = frozenset({"shelved_offloaded"})
# nova 34 gives its consumers no type; these are the names that it has set aside for them.
_TYPES_OF_NOVA = frozenset({"INSTANCE", "MIGRATION"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """Look-ups over one snapshot, made once. ``unreadable`` is all that is said of rows that do not parse."""

    written: Books
    state: NovaState | None
    instances: Mapping[str, Instance]
    migrations: Mapping[str, Migration]
    moving: frozenset[str]
    guests: frozenset[str]
    holders: frozenset[str]
    occupancies: Mapping[str, tuple[Occupancy, ...]]
    tree: frozenset[str]
    may_share: bool
    records: Mapping[str, ConsumerRecord]
    ours: Mapping[str, Cause]
    unreadable: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """What one verdict is about."""

    consumer: str
    instance: Instance | None
    migration: Migration | None
    resource_class: str
    cause: Cause
    promised: int | None
    recorded: int | None


def known_of(snapshot: Snapshot, written: Books, state: NovaState | None) -> Known:
    """The look-ups of one snapshot."""
    occupancies: dict[str, list[Occupancy]] = defaultdict(list)
    for taken in written.occupied.occupancies:
        occupancies[taken.consumer_uuid].append(taken)
    migrations = state.migrations if state else ()
    finished = state.finished_evacuations if state else ()
    view, host = snapshot.placement.value, snapshot.host.value
    return Known(
        written=written,
        state=state,
        instances={i.uuid: i for i in (state.instances if state else ())},
        migrations={m.uuid: m for m in (*finished, *migrations) if m.uuid},
        moving=frozenset(m.instance_uuid for m in migrations if m.under_way),
        guests=host.guest_uuids if host else frozenset(),
        holders=frozenset(claim.consumer.key for claim in written.recorded.claims),
        occupancies={key: tuple(found) for key, found in occupancies.items()},
        tree=frozenset(p.uuid for p in (view.providers if view else ())),
        may_share=any(p.aggregates for p in (view.providers if view else ())),
        records={r.consumer_uuid: r for r in (view.consumers if view else ())},
        ours=own_consumers(view.root_uuid if view else None),
        unreadable="\n".join(state.unreadable) if state else "",
    )


def verdict(known: Known, case: Case) -> Verdict:
    """What the books say of this consumer and class."""
    if case.consumer in known.ours:
        return Verdict.AGREED  # held by us for what the host holds: that has rows of its own
    if (plain := _BY_CAUSE.get(case.cause)) is not None:
        return plain
    if not known.written.state_known or _is_broken(known, case):
        return Verdict.UNKNOWN
    if case.consumer in known.occupancies:
        return _expected(known, case)
    if case.consumer in known.guests:
        return _uninvited(known, case.instance)
    return _recorded_only(known, case)


def _is_broken(known: Known, case: Case) -> bool:
    """Whether a row of this consumer is there and does not parse."""
    if case.instance is not None and case.instance.problem is not None:
        return True
    return bool(known.unreadable) and case.consumer in known.unreadable


def _expected(known: Known, case: Case) -> Verdict:
    """The cloud promised this consumer room here."""
    if case.promised is None and not owned(case.resource_class):
        return Verdict.UNKNOWN  # a class that no resource of ours decides is not compared
    settling = _is_settling(known.occupancies[case.consumer])
    found = _of_the_settled(known, case, settling=settling)
    # What has just come to rest: Placement was read before its row, and may not have followed yet.
    fits_less = found not in (Verdict.AGREED, Verdict.UNKNOWN)
    return Verdict.SETTLING if fits_less and _just_changed(known, case) else found


def _of_the_settled(known: Known, case: Case, *, settling: bool) -> Verdict:
    if known.written.host_known and not _has_guest(known, case.consumer) and not settling:
        return Verdict.GUEST_MISSING
    if not known.written.recorded_known:
        return Verdict.UNKNOWN
    return Verdict.SETTLING if settling else _of_amounts(known, case)


def _of_amounts(known: Known, case: Case) -> Verdict:
    """Promised against recorded, of an instance that rests here."""
    if case.promised == case.recorded:
        return Verdict.AGREED
    if case.recorded is None and (shared := _from_shared(known, case)) is not None:
        return shared
    return Verdict.ALLOCATION_DIFFERS if case.consumer in known.holders else Verdict.ALLOCATION_MISSING


def _from_shared(known: Known, case: Case) -> Verdict | None:
    """A class that a sharing provider may serve (DISK_GB on shared storage) is looked for in the consumer's own record.

    None: no provider of ours is in an aggregate, or the record says that nobody else serves it.
    """
    if not known.may_share or case.consumer not in known.holders:
        return None
    record = known.records.get(case.consumer)
    if record is None:
        return Verdict.UNKNOWN
    elsewhere = sum(
        a.amount
        for a in record.allocations
        if a.resource_class == case.resource_class and a.provider_uuid not in known.tree
    )
    return Verdict.AGREED if elsewhere == case.promised else None


def _is_settling(occupancies: tuple[Occupancy, ...]) -> bool:
    return any(
        o.moving or o.cause in _MOVE_CAUSES or o.instance.task_state is not None or o.instance.vm_state == "building"
        for o in occupancies
    )


def _has_guest(known: Known, consumer: str) -> bool:
    return any(o.instance.uuid in known.guests for o in known.occupancies[consumer])


def _uninvited(known: Known, instance: Instance | None) -> Verdict:
    """A guest that the cloud does not expect here, recorded or not."""
    if instance is None:
        return Verdict.GUEST_UNKNOWN
    just_changed = instance_just_changed(instance, known.state.now if known.state else None)
    if instance.deleted:
        return Verdict.SETTLING if instance.hidden or just_changed else Verdict.GUEST_UNKNOWN
    if instance.uuid in known.moving:
        return Verdict.SETTLING
    if not _is_of_this_host(known, instance):
        return Verdict.SETTLING if just_changed else Verdict.GUEST_UNKNOWN
    # Its row is of this host and does not count (another node's name, say): nobody to accuse, but unknown.
    return Verdict.UNKNOWN if instance.task_state is None else Verdict.SETTLING


def _is_of_this_host(known: Known, instance: Instance) -> bool:
    return known.state is not None and instance.host == known.state.host and not instance.deleted


def _just_changed(known: Known, case: Case) -> bool:
    now = known.state.now if known.state else None
    if case.migration is not None and migration_just_changed(case.migration, now):
        return True
    return case.instance is not None and instance_just_changed(case.instance, now)


def _recorded_only(known: Known, case: Case) -> Verdict:
    """Placement says so, and neither the cloud nor the host does (reconcile 6)."""
    instance = case.instance
    if _is_under_way(known, case):
        return Verdict.SETTLING
    if not known.written.host_known:
        return Verdict.UNKNOWN  # its guest may be here, and running
    if instance is None:
        return _of_no_instance(known, case)
    if instance.deleted:
        # Deleted but hidden: the other half of a cross-cell resize still needs it.
        return Verdict.SETTLING if instance.hidden else Verdict.ALLOCATION_LEAKED
    return _of_living_instance(known, instance, case.migration)


def _is_under_way(known: Known, case: Case) -> bool:
    """Whether a move or a task of it runs, or ended while this audit was reading."""
    if case.migration is not None and case.migration.in_progress:
        return True
    instance = case.instance
    if instance is None or instance.deleted:
        return _just_changed(known, case)
    return instance.uuid in known.moving or instance.task_state is not None or _just_changed(known, case)


def _of_no_instance(known: Known, case: Case) -> Verdict:
    """No row of an instance: another service's consumer by its type, or nobody knows whose.

    A migration without its instance is no exception: its row has a foreign key to that of the instance, so the answer
    lacks rows, and what it lacks may be an instance that lives here.
    """
    record = known.records.get(case.consumer)
    if record is None:
        return Verdict.UNKNOWN
    if record.consumer_type is None or record.consumer_type in _TYPES_OF_NOVA:
        return Verdict.CONSUMER_UNKNOWN
    # One of our own type, but not of this root: companion-leftover tells it.
    return Verdict.UNMANAGED if record.consumer_type == OWN_TYPE else Verdict.OTHER_SERVICE


def _stands_for(known: Known, instance: Instance) -> bool:
    """Whether a finished migration's allocation is all that counts an instance which lives here.

    So a rollback or revert leaves it that was cut short before the allocation was given back. Taken away, a running
    guest's room would be free; allocation-missing tells it, and once that is mended this is a stale move.
    """
    return _is_of_this_host(known, instance) and instance.uuid not in known.holders


def _of_living_instance(known: Known, instance: Instance, migration: Migration | None) -> Verdict:
    if instance.vm_state in _GONE_STATES:
        return Verdict.ALLOCATION_STALE_MOVE
    if migration is not None:
        return Verdict.UNKNOWN if _stands_for(known, instance) else Verdict.ALLOCATION_STALE_MOVE
    if instance.host is None:
        # A build that failed for good is on no host and stays so; any other is scheduled, and not yet started.
        return Verdict.ALLOCATION_STALE_MOVE if instance.vm_state == "error" else Verdict.SETTLING
    # Our host under another node's name has not moved: nobody knows what that is (reconcile 6).
    return Verdict.UNKNOWN if _is_of_this_host(known, instance) else Verdict.ALLOCATION_STALE_MOVE
