"""Judge one consumer and resource class by the three books, also while nova builds, moves or deletes an instance.

The books are the amounts that nova promised, that the host holds and that Placement records. A source that was not read
allows no conclusion. A consumer without a row in nova's database is reported only after its record in Placement was
read: the record's consumer type may show that another service owns the consumer. If nova's row does not parse, the
verdict is "unknown", so the agent does not take the consumer for deleted or moved. Pure.
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
# For these causes the verdict does not depend on the amounts. Either nova does not know who uses the resources, or
# Placement reports a usage but no consumer.
_BY_CAUSE = {cause: Verdict.UNMANAGED for cause in UNMANAGED_CAUSES - {Cause.FOREIGN_GUEST}} | {
    Cause.USAGE_UNLISTED: Verdict.USAGE_UNLISTED
}
# vm_states of instances that no longer occupy a host.
_GONE_STATES = frozenset({"shelved_offloaded"})
# The type names that nova reserved for its consumers in Placement. Up to version 34, nova sets no consumer type.
_TYPES_OF_NOVA = frozenset({"INSTANCE", "MIGRATION"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """Look-up tables of one snapshot. ``unreadable``: one line for each row of nova's database that does not parse."""

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
    own_consumers: Mapping[str, Cause]
    unreadable: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerClass:
    """The consumer and the resource class that one verdict is about."""

    consumer: str
    instance: Instance | None
    migration: Migration | None
    resource_class: str
    cause: Cause
    promised: int | None
    recorded: int | None


def known_of(snapshot: Snapshot, written: Books, state: NovaState | None) -> Known:
    """Build the look-up tables of one snapshot."""
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
        own_consumers=own_consumers(view.root_uuid if view else None),
        unreadable="\n".join(state.unreadable) if state else "",
    )


def verdict(known: Known, item: ConsumerClass) -> Verdict:
    """Return whether nova, host and Placement agree about this consumer and resource class, or how they differ."""
    if item.consumer in known.own_consumers:
        # The agent made this consumer for guests and volumes that nova does not know. These guests and volumes have
        # rows of their own.
        return Verdict.AGREED
    if (plain := _BY_CAUSE.get(item.cause)) is not None:
        return plain
    if not known.written.state_known or _is_broken(known, item):
        return Verdict.UNKNOWN
    if item.consumer in known.occupancies:
        return _expected(known, item)
    if item.consumer in known.guests:
        return _uninvited(known, item.instance)
    return _recorded_only(known, item)


def _is_broken(known: Known, item: ConsumerClass) -> bool:
    """Return whether this consumer has a row that does not parse."""
    if item.instance is not None and item.instance.problem is not None:
        return True
    return bool(known.unreadable) and item.consumer in known.unreadable


def _expected(known: Known, item: ConsumerClass) -> Verdict:
    """Return the verdict about a consumer that has resources on this host according to nova's database."""
    if item.promised is None and not owned(item.resource_class):
        # Nova has no amount of this class, and the agent does not decide the inventory of this class.
        return Verdict.UNKNOWN
    settling = _is_settling(known.occupancies[item.consumer])
    found = _of_the_settled(known, item, settling=settling)
    # If nova's row just changed, the allocation may be outdated, because the agent read Placement first.
    fits_less = found not in (Verdict.AGREED, Verdict.UNKNOWN)
    return Verdict.SETTLING if fits_less and _just_changed(known, item) else found


def _of_the_settled(known: Known, item: ConsumerClass, *, settling: bool) -> Verdict:
    if known.written.host_known and not _has_guest(known, item.consumer) and not settling:
        return Verdict.GUEST_MISSING
    if not known.written.recorded_known:
        return Verdict.UNKNOWN
    return Verdict.SETTLING if settling else _of_amounts(known, item)


def _of_amounts(known: Known, item: ConsumerClass) -> Verdict:
    """Compare the amount that nova promised with the amount in Placement, for an instance here that is not moving."""
    if item.promised == item.recorded:
        return Verdict.AGREED
    if item.recorded is None and (shared := _from_shared(known, item)) is not None:
        return shared
    return Verdict.ALLOCATION_DIFFERS if item.consumer in known.holders else Verdict.ALLOCATION_MISSING


def _from_shared(known: Known, item: ConsumerClass) -> Verdict | None:
    """Return AGREED if a sharing provider serves the promised amount (DISK_GB on shared storage).

    Return UNKNOWN if the consumer's allocations outside the tree were not read, and None in all other cases.

    A sharing provider is possible only if a provider of this host's tree is in an aggregate and the consumer has an
    allocation in the tree. The sharing provider serves the amount if the consumer's allocations outside the tree add up
    to this amount.
    """
    if not known.may_share or item.consumer not in known.holders:
        return None
    record = known.records.get(item.consumer)
    if record is None:
        return Verdict.UNKNOWN
    elsewhere = sum(
        a.amount
        for a in record.allocations
        if a.resource_class == item.resource_class and a.provider_uuid not in known.tree
    )
    return Verdict.AGREED if elsewhere == item.promised else None


def _is_settling(occupancies: tuple[Occupancy, ...]) -> bool:
    return any(
        o.moving or o.cause in _MOVE_CAUSES or o.instance.task_state is not None or o.instance.vm_state == "building"
        for o in occupancies
    )


def _has_guest(known: Known, consumer: str) -> bool:
    return any(o.instance.uuid in known.guests for o in known.occupancies[consumer])


def _uninvited(known: Known, instance: Instance | None) -> Verdict:
    """Return the verdict about a guest that the cloud does not expect on this host.

    The guest may have an allocation or none.
    """
    if instance is None:
        return Verdict.GUEST_UNKNOWN
    just_changed = instance_just_changed(instance, known.state.now if known.state else None)
    if instance.deleted:
        return Verdict.SETTLING if instance.hidden or just_changed else Verdict.GUEST_UNKNOWN
    if instance.uuid in known.moving:
        return Verdict.SETTLING
    if not _is_of_this_host(known, instance):
        return Verdict.SETTLING if just_changed else Verdict.GUEST_UNKNOWN
    # nova's row of the instance names this host, perhaps with another compute node. So the guest may belong here, and
    # the verdict is not GUEST_UNKNOWN.
    return Verdict.UNKNOWN if instance.task_state is None else Verdict.SETTLING


def _is_of_this_host(known: Known, instance: Instance) -> bool:
    return known.state is not None and instance.host == known.state.host and not instance.deleted


def _just_changed(known: Known, item: ConsumerClass) -> bool:
    now = known.state.now if known.state else None
    if item.migration is not None and migration_just_changed(item.migration, now):
        return True
    return item.instance is not None and instance_just_changed(item.instance, now)


def _recorded_only(known: Known, item: ConsumerClass) -> Verdict:
    """Judge a consumer that has an allocation on this host, but no guest here and no amount here in nova's database."""
    instance = item.instance
    if _is_under_way(known, item):
        return Verdict.SETTLING
    if not known.written.host_known:
        return Verdict.UNKNOWN  # libvirt was not read, so the consumer's guest may be on this host
    if instance is None:
        return _of_no_instance(known, item)
    if instance.deleted:
        # In a cross-cell resize each cell has a row of the instance. If this deleted row is hidden, the other cell's
        # row is the real one and needs the allocation, so the allocation is not leaked.
        return Verdict.SETTLING if instance.hidden else Verdict.ALLOCATION_LEAKED
    return _of_living_instance(known, instance, item.migration)


def _is_under_way(known: Known, item: ConsumerClass) -> bool:
    """Return whether a move or a task of the instance is running, or ended while this audit read its sources."""
    if item.migration is not None and item.migration.in_progress:
        return True
    instance = item.instance
    if instance is None or instance.deleted:
        return _just_changed(known, item)
    return instance.uuid in known.moving or instance.task_state is not None or _just_changed(known, item)


def _of_no_instance(known: Known, item: ConsumerClass) -> Verdict:
    """Return the verdict about a consumer for which this audit found no row of an instance. The consumer type decides.

    Do not call a migration's allocation leaked here. nova's database has no migration without its instance, so the
    instance exists and may be on this host.
    """
    record = known.records.get(item.consumer)
    if record is None:
        return Verdict.UNKNOWN
    if record.consumer_type is None or record.consumer_type in _TYPES_OF_NOVA:
        return Verdict.CONSUMER_UNKNOWN
    # The agent itself created the consumers of OWN_TYPE, in this case for another root provider. The finding
    # companion-leftover reports them, so they need no verdict of their own.
    return Verdict.UNMANAGED if record.consumer_type == OWN_TYPE else Verdict.OTHER_SERVICE


def _stands_for(known: Known, instance: Instance) -> bool:
    """Return whether the instance is on this host, but only its finished migration has an allocation here.

    This happens if a rollback or revert stops before nova moves the allocation from the migration back to the instance.
    Removing the migration's allocation would free capacity that the guest uses. The finding allocation-missing reports
    the instance. Once the instance has its own allocation again, the migration's allocation gets the verdict
    allocation-stale-move.
    """
    return _is_of_this_host(known, instance) and instance.uuid not in known.holders


def _of_living_instance(known: Known, instance: Instance, migration: Migration | None) -> Verdict:
    if instance.vm_state in _GONE_STATES:
        return Verdict.ALLOCATION_STALE_MOVE
    if migration is not None:
        return Verdict.UNKNOWN if _stands_for(known, instance) else Verdict.ALLOCATION_STALE_MOVE
    if instance.host is None:
        # An instance without a host has failed to build (vm_state error), or is scheduled but not started yet.
        return Verdict.ALLOCATION_STALE_MOVE if instance.vm_state == "error" else Verdict.SETTLING
    # If the row names this host but another node, the instance has not moved away: the verdict is unknown.
    return Verdict.UNKNOWN if _is_of_this_host(known, instance) else Verdict.ALLOCATION_STALE_MOVE
