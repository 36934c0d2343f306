"""A small cloud: rows, guests and Placement as nova keeps them, and beside them the truth that no database holds.

Every method is one atomic step: one row, one write to Placement, or one change of a guest. The truth (``needs``) is
what each consumer really needs on each host. The operations themselves (operations.py) set it, at the step at which
removing the allocation would begin or cease to do harm. So the truth follows from nova's intentions, not from the
agent's logic.
"""

from __future__ import annotations

import dataclasses
import datetime
import functools
from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol, TypeVar

from agent.model.nova import FINISHED_MIGRATION_STATUSES, Flavor, Instance, Migration
from tests.cloud.feeds import Copy, Feed, Table, moment
from tests.cloud.placement_model import Answer, Consumer, Stock, Wanted
from tests.rigs import facts

HOSTS = ("h1", "h2", "h3")
FLAVORS = (facts.FLAVOR_A, facts.FLAVOR_B)
EPOCH = datetime.datetime(2026, 11, 21, 12, 0, 0)  # noqa: DTZ001 - the database's times are naive UTC
ANY = "any task"
Amounts = Mapping[str, int]
R = TypeVar("R", Instance, Migration)


class Life(NamedTuple):
    """One run of a host's nova-compute, in the cloud's seconds; ``before``: the last heartbeat of an earlier run."""

    started: int
    stopped: int | None
    before: int | None


class Port(Protocol):
    """Placement as nova uses it: the model or a real one."""

    def held(self, consumer: str) -> Consumer | None: ...
    def put(self, consumer: str, wanted: Wanted) -> Answer: ...
    def post(self, wanted: Mapping[str, Wanted]) -> Answer: ...
    def delete(self, consumer: str) -> Answer: ...
    def create_provider(self, uuid: str, name: str, parent: str | None = None) -> Answer: ...
    def delete_provider(self, uuid: str) -> Answer: ...
    def put_inventories(self, uuid: str, generation: int, stocks: Mapping[str, Stock]) -> Answer: ...


class Interrupted(Exception):
    """The row is gone or being deleted: the operation on it fails at its next save."""


@functools.cache
def uuid_of(name: str) -> str:
    """Return the uuid of that name; cached."""
    return facts.uuid(name)


@functools.cache
def amounts_of(flavor: Flavor) -> dict[str, int]:
    """Return the scheduler's request for that flavor (nova/scheduler/utils.py:resources_from_flavor)."""
    return {"VCPU": flavor.vcpus, "MEMORY_MB": flavor.memory_mib, "DISK_GB": flavor.root_gib}


class Cloud:
    """Rows, guests, Placement, truth. ``name`` makes the cloud's uuids unique, so that clouds may share a Placement."""

    def __init__(self, placement: Port, name: str = "cloud") -> None:
        self.placement = placement
        self.name = name
        self.seconds = 0
        self.instances: Table[str, Instance] = Table(lambda: self.seconds)
        self.migrations: Table[int, Migration] = Table(lambda: self.seconds)
        self.lives: Table[str, Life] = Table(lambda: self.seconds)
        self.guests: dict[str, dict[str, Flavor]] = {host: {} for host in HOSTS}
        self.needs: dict[tuple[str, str], Amounts] = {}
        self.down: set[str] = set()
        self.retired: set[str] = set()
        self.strangers: set[str] = set()
        self.roots = {host: uuid_of(f"{name}-root-{host}") for host in HOSTS}
        self._number = 0
        self._migrations = 0
        for host in HOSTS:
            self.enlist(host)

    # Names and time.

    def new_uuid(self, kind: str) -> str:
        """Return a uuid that the cloud has not used."""
        self._number += 1
        return uuid_of(f"{self.name}-{kind}-{self._number}")

    def next_uuid(self, kind: str) -> str:
        """Return the uuid that ``new_uuid`` will return next."""
        return uuid_of(f"{self.name}-{kind}-{self._number + 1}")

    def now(self) -> datetime.datetime:
        """Return the cloud's time."""
        return moment(EPOCH, self.seconds)

    def feed(self) -> Feed:
        """Return a database of this cell that answers with the current rows."""
        return Feed(Copy(self.instances), Copy(self.migrations), Copy(self.lives))

    def node_of(self, host: str) -> str:
        """Return libvirt's name of the host, which is also its provider's name."""
        return f"{host}.{self.name}.example.org"

    # Hosts.

    def enlist(self, host: str) -> None:
        """Make the host's provider and inventory as its agent makes them."""
        self.placement.create_provider(self.roots[host], self.node_of(host))
        stocks = {
            "VCPU": Stock(total=8, max_unit=8, allocation_ratio=4.0),
            "MEMORY_MB": Stock(total=2048, max_unit=2048),
            "DISK_GB": Stock(total=16, max_unit=16),
        }
        self.placement.put_inventories(self.roots[host], 0, stocks)

    # Rows.

    def instance(self, uuid: str) -> Instance:
        """Return the instance's row; raise Interrupted if it is archived meanwhile."""
        return _found(self.instances.get(uuid))

    def migration(self, number: int) -> Migration:
        """Return the migration's row; raise Interrupted if it is archived meanwhile."""
        return _found(self.migrations.get(number))

    def insert(self, row: Instance) -> None:
        """Add a row to ``instances``."""
        self.instances[row.uuid] = dataclasses.replace(row, created_at=self.now())

    def save(self, uuid: str, *expected: str | None, **changes: Any) -> None:
        """Instance.save(expected_task_state): raise Interrupted if the row is gone or another task has started."""
        row = self.instances.get(uuid)
        if row is None or row.deleted or (expected and row.task_state not in expected):
            raise Interrupted
        self.instances[uuid] = dataclasses.replace(row, **changes, updated_at=self.now())

    def destroy(self, uuid: str) -> None:
        """Instance.destroy: soft-delete the row and those of its migrations (nova/db/main/api.py)."""
        row = self.instances.get(uuid)
        if row is None or row.deleted:
            return
        self.instances[uuid] = dataclasses.replace(row, deleted=True, deleted_at=self.now())
        for move in [m for m in self.migrations.values() if m.instance_uuid == uuid]:
            self.migrations[move.id] = dataclasses.replace(move, deleted=True)

    def archive(self, uuid: str) -> None:
        """nova-manage db archive_deleted_rows: the instance and its migrations leave all tables that are read."""
        self.instances.drop(uuid)
        for number in [m.id for m in self.migrations.values() if m.instance_uuid == uuid]:
            del self.migrations[number]

    def new_migration(self, row: Instance, kind: str, status: str, **fields: Any) -> int:
        """Add a row of ``migrations`` away from the instance's host; return its id."""
        self._migrations += 1
        number = self._migrations
        plain: dict[str, Any] = {
            "source_host": row.host,
            "source_node": row.node,
            "dest_host": None,
            "dest_node": None,
            "old_type_id": row.flavor_id,
            "new_type_id": row.flavor_id,
        }
        self.migrations[number] = Migration(
            id=number,
            uuid=self.new_uuid("migration"),
            instance_uuid=row.uuid,
            kind=kind,
            status=status,
            created_at=self.now(),
            updated_at=None,
            **(plain | fields),
        )
        return number

    def save_migration(self, number: int, **changes: Any) -> None:
        """Migration.save; raise Interrupted if the row is deleted."""
        row = self.migrations.get(number)
        if row is None or row.deleted:
            raise Interrupted
        self.migrations[number] = dataclasses.replace(row, **changes, updated_at=self.now())

    # Guests.

    def define(self, host: str, uuid: str, flavor: Flavor) -> None:
        """Define the guest on that host."""
        self.guests[host][uuid] = flavor

    def undefine(self, host: str | None, uuid: str) -> None:
        """Undefine the guest on that host."""
        self.guests.get(host or "", {}).pop(uuid, None)

    # Placement, as nova's report client uses it.

    def claim(self, consumer: str, host: str, flavor: Flavor) -> bool:
        """claim_resources: add to the consumer's allocations (an evacuated instance has allocations on both hosts)."""
        found = self.placement.held(consumer)
        holdings = {p: dict(held) for p, held in found.holdings.items()} if found else {}
        holdings[self.roots[host]] = dict(amounts_of(flavor))
        answer = self.placement.put(consumer, _wanted(holdings, found))
        row = self.instances.get(consumer)
        if answer.ok and (row is None or not row.deleted):
            self.need(consumer, host, flavor)
        return answer.ok

    def move(self, source: str, target: str) -> bool:
        """move_allocations: replace ``target``'s allocations by all allocations of ``source``."""
        theirs, others = self.placement.held(source), self.placement.held(target)
        if theirs is None:
            return others is not None
        wanted = {source: _wanted({}, theirs), target: _wanted(theirs.holdings, others)}
        return self.placement.post(wanted).ok

    def release(self, consumer: str) -> None:
        """delete_allocation_for_instance(force=True)."""
        self.placement.delete(consumer)

    def release_gently(self, consumer: str) -> None:
        """delete_allocation_for_instance(force=False)."""
        found = self.placement.held(consumer)
        if found is not None:
            self.placement.put(consumer, _wanted({}, found))

    def drop_host(self, consumer: str, host: str) -> None:
        """remove_provider_tree_from_instance_allocation."""
        found = self.placement.held(consumer)
        if found is not None and self.roots[host] in found.holdings:
            rest = {p: held for p, held in found.holdings.items() if p != self.roots[host]}
            self.placement.put(consumer, _wanted(rest, found))

    def recorded(self, consumer: str, host: str) -> Amounts:
        """Return the consumer's allocations on the host."""
        found = self.placement.held(consumer)
        return found.holdings.get(self.roots[host], {}) if found else {}

    # The truth.

    def need(self, consumer: str, host: str, flavor: Flavor) -> None:
        """Record that from now on removing the consumer's allocation there would do harm."""
        self.needs[consumer, host] = amounts_of(flavor)

    def free(self, consumer: str, *hosts: str | None) -> None:
        """Record that the consumer is no longer needed on these hosts; without hosts: on any host."""
        for key in [k for k in self.needs if k[0] == consumer and (not hosts or k[1] in hosts)]:
            del self.needs[key]

    def moved_to(self, uuid: str, host: str) -> None:
        """Record the move in the instance's row: other claims under the instance's uuid are no longer needed."""
        self.free(uuid, *(other for other in HOSTS if other != host))

    def pass_need(self, source: str, target: str) -> None:
        """Pass one consumer's need to another consumer."""
        moved = {key: held for key, held in self.needs.items() if key[0] == source}
        self.free(source)
        self.free(target)
        self.needs.update({(target, host): held for (_, host), held in moved.items()})

    def needed(self, consumer: str, host: str) -> Amounts:
        """Return what a removal there would harm: at rest by where the instance lives, in an operation by ``needs``.

        A finished migration stands in for an instance that lives there and has no allocation under its own uuid: an
        interrupted rollback or revert leaves that. If a delete has cleared an instance's task resize_prep, compute
        refuses to use the resize's claim (``_refuses``).
        """
        move = next((m for m in self.migrations.values() if m.uuid == consumer), None)
        if move is not None and self._is_under_way(move):
            return self.needs.get((consumer, host), {})
        row = self.instances.get(move.instance_uuid if move else consumer)
        if row is None or row.deleted or not self._rests(row):
            is_refused = move is None and row is not None and self._refuses(row, host)
            return {} if is_refused else self.needs.get((consumer, host), {})
        if row.host != host or row.flavor is None or row.vm_state == "shelved_offloaded":
            return {}
        if move is None:
            return amounts_of(row.flavor)
        return {} if self.recorded(row.uuid, host) else dict(self.recorded(consumer, host))

    def settle(self, uuid: str) -> None:
        """Record the need of an instance at rest as the starting point of its next operation."""
        moves = [m.uuid for m in self.migrations.values() if m.instance_uuid == uuid and m.uuid]
        needs = {(c, host): self.needed(c, host) for c in (uuid, *moves) for host in HOSTS}
        for key, amounts in needs.items():
            self.needs.pop(key, None)
            if amounts:
                self.needs[key] = amounts

    def _rests(self, row: Instance) -> bool:
        return row.task_state is None and row.vm_state not in ("building", "deleted") and not self.under_way(row.uuid)

    def _refuses(self, row: Instance, host: str) -> bool:
        """Return whether no operation can use a claim there: compute saves with expected_task_state resize_prep.

        A delete that reached vm_state deleted has destroyed the guest. A failed delete has left the instance in error
        on its host, without a task.
        """
        if row.vm_state == "deleted":
            return True
        began = all(move.status == "pre-migrating" for move in self.under_way(row.uuid))
        return host != row.host and row.vm_state == "error" and row.task_state is None and began

    @staticmethod
    def _is_under_way(move: Migration) -> bool:
        return not move.deleted and move.status not in FINISHED_MIGRATION_STATUSES | {"error"}

    def under_way(self, uuid: str) -> tuple[Migration, ...]:
        """Return the undeleted migrations of the instance that are neither finished nor failed."""
        mine = (m for m in self.migrations.values() if m.instance_uuid == uuid)
        return tuple(m for m in mine if self._is_under_way(m))


def _found(row: R | None) -> R:
    if row is None:
        raise Interrupted
    return row


def _wanted(holdings: Mapping[str, Amounts], found: Consumer | None) -> Wanted:
    return Wanted(holdings=holdings, generation=found.generation if found else None)
