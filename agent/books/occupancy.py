"""Decide what nova's instances and migrations occupy on this host: one flavor, or two flavors during a resize.

Both flavors of a resize count until the resize is confirmed, so one instance may occupy the host twice, in different
NUMA cells. Until the move is finished, the instance's row has only the NUMA cells of the source. The migration context
has the cells of source and destination. A finished migration occupies nothing, even if Placement still has its
allocation. Pure.
"""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Iterable

from agent.model.claim import Cause
from agent.model.host.facts import Domain
from agent.model.nova import Flavor, Instance, InstanceCell, Migration, MigrationContext, NovaState
from agent.model.occupancy import Occupancy, Occupied, StuckMigration

_RESIZE_TASKS = frozenset({"resize_prep", "resize_migrating", "resize_migrated", "resize_finish"})
_REBUILD_TASKS = frozenset({"rebuilding", "rebuild_block_device_mapping", "rebuild_spawning"})
# A time earlier than every time in the database. It has no time zone, because the database's times are naive (UTC).
_BEGINNING = datetime.datetime(1, 1, 1)  # noqa: DTZ001


def occupied(state: NovaState, node: str, recorded: frozenset[str]) -> Occupied:
    """Return what instances and moves take on ``node``, sorted by instance, cause and consumer.

    ``recorded`` are the consumers with allocations on this host's provider tree. When an instance moves away, nova
    gives the instance's allocation on this host to the migration (nova/conductor/tasks/migrate.py). So the consumer is
    the migration if the migration's uuid is in ``recorded``, else the instance.
    """
    here = {i.uuid: i for i in state.instances if _counts(i, state.host, node)}
    by_uuid = {i.uuid: i for i in state.instances}
    moves, stuck = _moves(state, node, by_uuid)
    arriving = _arriving(state, node)
    found: list[Occupancy] = []
    for uuid, instance in here.items():
        taken = _tracked(instance, moves.get(uuid), state.host, node, recorded)
        found.extend(_in_new_cells(one, arriving) for one in taken)
    for uuid, migration in moves.items():
        if uuid not in here:
            found.extend(_untracked(by_uuid[uuid], migration, state.host, node, recorded))
    return Occupied(
        occupancies=tuple(sorted(found, key=lambda o: (o.instance.uuid, o.cause.value, o.consumer_uuid))),
        stuck=tuple(sorted(stuck, key=lambda s: s.migration_uuid)),
        unknown=tuple(sorted(i.uuid for i in state.instances if i.flavor is None and may_be_here(i, state.host, node))),
    )


def instances_of_domains(domains: Iterable[Domain], host: str, node: str) -> tuple[Instance, ...]:
    """Return one instance for each guest that libvirt defines, because ``[state] source = none`` reads no instances."""
    return tuple(_instance_of(domain, host, node) for domain in sorted(domains, key=lambda d: d.uuid))


def _instance_of(domain: Domain, host: str, node: str) -> Instance:
    flavor = domain.nova_flavor or Flavor(
        id=0, name="", vcpus=domain.vcpus, memory_mib=domain.memory_mib, root_gib=0, ephemeral_gib=0, swap_mib=0
    )
    return Instance(
        uuid=domain.uuid,
        name=domain.name,
        project_id=None,
        user_id=None,
        host=host,
        node=node,
        vm_state="active",
        task_state=None,
        deleted=False,
        hidden=False,
        flavor=flavor,
    )


def _counts(instance: Instance, host: str, node: str) -> bool:
    # A deleted instance does not count. An instance in vm_state shelved_offloaded counts only while this host unshelves
    # it. In every other vm_state an instance counts.
    if instance.deleted or instance.host != host or instance.node != node or instance.flavor is None:
        return False
    if instance.vm_state == "shelved_offloaded":
        return instance.task_state == "spawning"
    return instance.vm_state != "deleted"


def may_be_here(instance: Instance, host: str, node: str) -> bool:
    """Return whether the instance is or may be on the node, according to nova's rows. The vm_state does not matter.

    ``problem`` is set if a row about the instance could not be parsed. Then the instance may be here if its own row
    names this node or no node, or if the instance is moving: the unparsed row may be a migration to this node.
    """
    if instance.deleted:
        return False
    if instance.problem is None:
        return instance.host == host and instance.node == node
    return (instance.host in (host, None) and instance.node in (node, None)) or moving(instance)


def touches(migration: Migration, host: str, node: str) -> bool:
    """Return whether a migration from or to the node is in progress or in status error."""
    return migration.in_progress and (_from_here(migration, host, node) or _to_here(migration, host, node))


def _arriving(state: NovaState, node: str) -> frozenset[tuple[str, int]]:
    """Return (instance, migration) of every move to this node that is in progress or in status error.

    Moves within the node are not included: until such a move is finished, the guest stays in its old NUMA cells.
    """
    return frozenset(
        (m.instance_uuid, m.id)
        for m in state.migrations
        if m.in_progress and _to_here(m, state.host, node) and not _from_here(m, state.host, node)
    )


def _in_new_cells(taken: Occupancy, arriving: frozenset[tuple[str, int]]) -> Occupancy:
    """Return ``taken``; if the instance is moving to this host, with the NUMA cells that the instance will have here.

    Nova's instance row may name this host before the move is finished. Until then, only the instance's migration
    context has the NUMA cells on this host. The context may belong to another migration, and its cells are then wrong
    here. So this function uses the context only if its migration id belongs to a move to this host. Nova does not check
    this id.
    """
    context = taken.instance.context
    if not arriving or context is None or context.migration_id is None:
        return taken
    if (taken.instance.uuid, context.migration_id) not in arriving:
        return taken
    return dataclasses.replace(taken, numa=context.new_numa)


def _moves(
    state: NovaState, node: str, by_uuid: dict[str, Instance]
) -> tuple[dict[str, Migration], list[StuckMigration]]:
    # Return the newest migration from or to this node for each known instance that moves, and the stuck migrations. A
    # migration is stuck if its instance's migration context belongs to another migration. The first result has no stuck
    # migrations.
    newest: dict[str, Migration] = {}
    for migration in sorted(state.migrations, key=lambda m: m.id):
        instance = by_uuid.get(migration.instance_uuid)
        if not touches(migration, state.host, node) or instance is None or not moving(instance):
            continue
        known = newest.get(instance.uuid)
        if known is None or _age(migration) > _age(known):
            newest[instance.uuid] = migration
    stuck = [_stuck(m, by_uuid[u]) for u, m in newest.items() if _context_differs(m, by_uuid[u])]
    return {u: m for u, m in newest.items() if not _context_differs(m, by_uuid[u])}, stuck


def _from_here(migration: Migration, host: str, node: str) -> bool:
    return (migration.source_host, migration.source_node) == (host, node)


def _to_here(migration: Migration, host: str, node: str) -> bool:
    return (migration.dest_host, migration.dest_node) == (host, node)


def moving(instance: Instance) -> bool:
    """Return whether vm_state and task_state show a move. If not, nova does not count the instance's migration."""
    if instance.vm_state == "resized":
        return True
    if instance.vm_state in ("active", "stopped") and instance.task_state in _RESIZE_TASKS | _REBUILD_TASKS:
        return True
    return instance.vm_state in ("active", "paused") and instance.task_state == "migrating"


def _age(migration: Migration) -> datetime.datetime:
    return migration.updated_at or migration.created_at or _BEGINNING


def _context_differs(migration: Migration, instance: Instance) -> bool:
    context = instance.migration_context_id
    return context is not None and context != migration.id


def _stuck(migration: Migration, instance: Instance) -> StuckMigration:
    return StuckMigration(
        migration_uuid=migration.uuid or str(migration.id),
        instance_uuid=instance.uuid,
        why=f"migration {migration.id} is {migration.status}, but the instance's migration_context belongs to "
        f"migration {instance.migration_context_id}",
    )


def _tracked(
    instance: Instance, migration: Migration | None, host: str, node: str, recorded: frozenset[str]
) -> list[Occupancy]:
    flavor = instance.flavor
    assert flavor is not None, "the caller leaves out instances without a flavor"
    if migration is None:
        return [_occupancy(instance, flavor, Cause.INSTANCE)]
    same_host = _from_here(migration, host, node) and _to_here(migration, host, node)
    if not same_host:
        leaving = _from_here(migration, host, node)
        held_by = _source_holder(instance, migration, recorded) if leaving else (instance.uuid, "instance")
        return [_occupancy(instance, flavor, Cause.INSTANCE, held_by, moving=True)]
    return _same_host(instance, migration, flavor, recorded)


def _same_host(instance: Instance, migration: Migration, flavor: Flavor, recorded: frozenset[str]) -> list[Occupancy]:
    source = _source_holder(instance, migration, recorded)
    dest = (instance.uuid, "instance")
    still_old = instance.flavor_id == migration.old_type_id
    other = _flavor_of_move(instance, migration, "new" if still_old else "old")
    extra_cause = Cause.RESIZE_HERE if still_old else Cause.REVERT_HOLD
    own_holder, extra_holder = (source, dest) if still_old else (dest, source)
    found = [_occupancy(instance, flavor, Cause.INSTANCE, own_holder, moving=True)]
    # If the old and the new flavor of a move within this host are equal, the instance takes its resources only once.
    if other is not None and other != flavor:
        cells = _cells_of_move(instance, "new" if still_old else "old")
        found.append(_occupancy(instance, other, extra_cause, extra_holder, moving=True, numa=cells))
    return found


def _untracked(
    instance: Instance, migration: Migration, host: str, node: str, recorded: frozenset[str]
) -> list[Occupancy]:
    if _to_here(migration, host, node):
        side, cause, holder = "new", Cause.MIGRATION_IN, (instance.uuid, "instance")
    else:
        # The instance moves away from this host. While nova confirms a resize, the instance has no old flavor any more.
        # It then takes nothing on this host (scenario 32).
        side, cause, holder = "old", Cause.REVERT_HOLD, _source_holder(instance, migration, recorded)
    flavor = _flavor_of_move(instance, migration, side)
    if flavor is None:
        return []
    return [_occupancy(instance, flavor, cause, holder, moving=True, numa=_cells_of_move(instance, side))]


def _flavor_of_move(instance: Instance, migration: Migration, which: str) -> Flavor | None:
    if migration.kind != "resize":
        return instance.flavor
    return instance.new_flavor if which == "new" else instance.old_flavor


def _source_holder(instance: Instance, migration: Migration, recorded: frozenset[str]) -> tuple[str, str]:
    if migration.uuid is not None and migration.uuid in recorded:
        return migration.uuid, "migration"
    return instance.uuid, "instance"


def _cells_of_move(instance: Instance, side: str) -> tuple[InstanceCell, ...] | None:
    """Return the NUMA cells of one side of a move. Only the migration context has them; None without a context."""
    context = instance.context or MigrationContext(migration_id=None)
    return context.new_numa if side == "new" else context.old_numa


def _occupancy(
    instance: Instance,
    flavor: Flavor,
    cause: Cause,
    holder: tuple[str, str] | None = None,
    *,
    moving: bool = False,
    numa: tuple[InstanceCell, ...] | None = None,
) -> Occupancy:
    uuid, kind = holder or (instance.uuid, "instance")
    return Occupancy(
        instance=instance,
        flavor=flavor,
        cause=cause,
        consumer_uuid=uuid,
        consumer_kind=kind,
        moving=moving,
        numa=instance.numa if cause is Cause.INSTANCE else numa,
    )
