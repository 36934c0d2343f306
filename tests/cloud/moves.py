"""Nova's moves as sequences of atomic steps: resize and cold migration, confirm, revert, live migration, evacuation.

nova moves the source's allocation to the migration's uuid before the scheduler claims the destination for the instance
(conductor/tasks/migrate.py). An evacuated instance instead has allocations on both hosts until the failed host comes
back.
"""

from __future__ import annotations

from agent.model.nova import Flavor, Instance
from tests.cloud.cloud import Cloud, Interrupted
from tests.cloud.operations import FAILURES, Steps


def resize(cloud: Cloud, uuid: str, host: str, flavor: Flavor) -> Steps:
    """conductor/tasks/migrate.py, then compute prep_resize, resize_instance, finish_resize."""
    row = cloud.instances[uuid]
    cloud.save(uuid, None, task_state="resize_prep")
    yield f"resize {uuid} to {host}: prep"
    kind = "resize" if flavor.id != row.flavor_id else "migration"
    number = cloud.new_migration(row, kind, "pre-migrating", new_type_id=flavor.id)
    yield f"resize: migration {number}"
    moved = _hand_over(cloud, uuid, number)
    yield "resize: source held by the migration"
    if not _alive(cloud, uuid) or not cloud.claim(uuid, host, flavor):
        yield from _not_scheduled(cloud, uuid, number, row, moved)
        return
    yield "resize: destination claimed"
    try:
        yield from _prepared(cloud, uuid, number, host, flavor)
    except FAILURES:
        yield from _taken_back(cloud, uuid, number, row, host)
        return
    try:
        yield from _left(cloud, uuid, number, host)
    except FAILURES:
        yield from _failed_on_source(cloud, uuid, number, row, host)
        return
    try:
        yield from _arrived(cloud, uuid, number, host, flavor)
    except FAILURES:
        yield from _failed_on_destination(cloud, uuid, number, host)


def _alive(cloud: Cloud, uuid: str) -> bool:
    row = cloud.instances.get(uuid)
    return row is not None and not row.deleted


def _migration_uuid(cloud: Cloud, number: int) -> str:
    found = cloud.migrations.get(number)
    if found is None or found.uuid is None:
        raise Interrupted
    return found.uuid


def _hand_over(cloud: Cloud, uuid: str, number: int) -> bool:
    """replace_allocation_with_migration."""
    if cloud.placement.held(uuid) is None:
        return False
    migration = _migration_uuid(cloud, number)
    if cloud.move(uuid, migration):
        cloud.pass_need(uuid, migration)
    return True


def _take_back(cloud: Cloud, uuid: str, number: int) -> None:
    """compute _revert_allocation: replace the instance's allocations by the migration's."""
    migration = _migration_uuid(cloud, number)
    if cloud.placement.held(migration) is not None and cloud.move(migration, uuid):
        cloud.pass_need(migration, uuid)


def _not_scheduled(cloud: Cloud, uuid: str, number: int, row: Instance, moved: bool) -> Steps:
    yield from _migration_ends(cloud, number, "error")
    if moved:
        _take_back(cloud, uuid, number)
        yield "move: source given back"
    yield from _at_rest(cloud, uuid, row.vm_state)


def _at_rest(cloud: Cloud, uuid: str, vm_state: str | None) -> Steps:
    row = cloud.instances.get(uuid)
    if row is not None and not row.deleted and row.task_state != "deleting":
        cloud.save(uuid, vm_state=vm_state, task_state=None)
    yield "move: instance at rest"


def _migration_ends(cloud: Cloud, number: int, status: str) -> Steps:
    if number in cloud.migrations and not cloud.migrations[number].deleted:
        cloud.save_migration(number, status=status)
    yield f"move: migration {number} {status}"


def _prepared(cloud: Cloud, uuid: str, number: int, host: str, flavor: Flavor) -> Steps:
    cloud.save(uuid, "resize_prep", new_flavor=flavor)
    yield "resize: new flavor"
    cloud.save_migration(number, dest_host=host, dest_node=cloud.node_of(host), status="pre-migrating")
    yield "resize: destination in the migration"
    cloud.save(uuid, "resize_prep", migration_context_id=number)
    yield "resize: context"


def _taken_back(cloud: Cloud, uuid: str, number: int, row: Instance, host: str) -> Steps:
    """_do_prep_resize: first the allocation, then the rows."""
    if host != row.host:
        cloud.free(uuid, host)
    try:
        _take_back(cloud, uuid, number)
    except Interrupted:
        return
    yield "move: source given back"
    yield from _migration_ends(cloud, number, "error")
    yield from _at_rest(cloud, uuid, row.vm_state)


def _left(cloud: Cloud, uuid: str, number: int, host: str) -> Steps:
    cloud.save_migration(number, status="migrating")
    yield "resize: migrating"
    cloud.save(uuid, "resize_prep", task_state="resize_migrating")
    yield "resize: task migrating"
    cloud.save_migration(number, status="post-migrating")
    yield "resize: post-migrating"
    old = cloud.instance(uuid).flavor
    changes = {"host": host, "node": cloud.node_of(host), "old_flavor": old, "task_state": "resize_migrated"}
    cloud.save(uuid, "resize_migrating", **changes)
    cloud.moved_to(uuid, host)


def _failed_on_source(cloud: Cloud, uuid: str, number: int, row: Instance, host: str) -> Steps:
    """_resize_instance: first the migration, then the instance, and only then the allocation."""
    if host != row.host:
        cloud.free(uuid, host)
    yield from _migration_ends(cloud, number, "error")
    yield from _at_rest(cloud, uuid, "error")
    if _alive(cloud, uuid) and number in cloud.migrations:
        _take_back(cloud, uuid, number)
        yield "resize: source given back"


def _arrived(cloud: Cloud, uuid: str, number: int, host: str, flavor: Flavor) -> Steps:
    yield "resize: instance on the destination"
    cloud.save(uuid, "resize_migrated", flavor=flavor, flavor_id=flavor.id, task_state="resize_finish")
    yield "resize: finishing"
    cloud.define(host, uuid, flavor)
    yield "resize: guest"
    cloud.save_migration(number, status="finished")
    yield "resize: finished"
    cloud.save(uuid, "resize_finish", vm_state="resized", task_state=None)
    yield "resize: resized"


def _failed_on_destination(cloud: Cloud, uuid: str, number: int, host: str) -> Steps:
    """finish_resize: the instance stays on the destination, and the source's allocation is deleted."""
    if _alive(cloud, uuid):
        # By the flavor that the row has now, whatever was claimed; in the same step as the end of the move.
        cloud.need(uuid, host, _flavor(cloud, uuid))
    yield from _at_rest(cloud, uuid, "error")
    if number not in cloud.migrations:
        return
    migration = _migration_uuid(cloud, number)
    cloud.free(migration)
    cloud.release_gently(migration)
    yield "resize: source's allocation deleted"
    yield from _migration_ends(cloud, number, "error")


def confirm(cloud: Cloud, uuid: str, number: int) -> Steps:
    """compute/api.py confirm_resize."""
    try:
        cloud.save_migration(number, status="confirming")
        yield f"confirm {uuid}: confirming"
        yield from confirmed(cloud, uuid, number, None)
    except FAILURES:
        if number in cloud.migrations:
            cloud.free(_migration_uuid(cloud, number))
            cloud.release_gently(_migration_uuid(cloud, number))
        yield "confirm: failed, allocation deleted all the same"
        yield from _at_rest(cloud, uuid, "error")
        yield from _migration_ends(cloud, number, "error")


def confirmed(cloud: Cloud, uuid: str, number: int, task: str | None) -> Steps:
    """compute confirm_resize on the source; ``task`` is deleting if a delete confirms first."""
    move = cloud.migration(number)
    if move.source_host != move.dest_host:
        cloud.undefine(move.source_host, uuid)
        yield "confirm: source's guest gone"
    cloud.save_migration(number, status="confirmed")
    cloud.free(_migration_uuid(cloud, number))
    yield "confirm: confirmed"
    cloud.save(uuid, task, migration_context_id=None)
    yield "confirm: no context"
    cloud.save(uuid, task, vm_state="active", task_state=task)
    yield "confirm: active"
    cloud.release_gently(_migration_uuid(cloud, number))
    yield "confirm: allocation deleted"
    cloud.save(uuid, old_flavor=None, new_flavor=None)
    yield "confirm: flavors"


def revert(cloud: Cloud, uuid: str, number: int) -> Steps:
    """compute/api.py revert_resize, then compute revert_resize and finish_revert_resize."""
    move = cloud.migrations[number]
    try:
        cloud.save(uuid, None, task_state="resize_reverting")
        yield f"revert {uuid}: task"
        cloud.save_migration(number, status="reverting")
        yield "revert: reverting"
        if move.source_host != move.dest_host:
            cloud.undefine(move.dest_host, uuid)
            yield "revert: destination's guest gone"
        cloud.save_migration(number, status="reverted")
        cloud.free(uuid, move.dest_host)
        yield "revert: reverted"
        cloud.save(uuid, "resize_reverting", migration_context_id=None)
        yield "revert: no context"
        yield from _back_on_source(cloud, uuid, number)
    except FAILURES:
        yield from _at_rest(cloud, uuid, "error")
        yield from _migration_ends(cloud, number, "error")


def _back_on_source(cloud: Cloud, uuid: str, number: int) -> Steps:
    move, old = cloud.migration(number), cloud.instance(uuid).old_flavor
    if old is None or move.source_host is None:
        raise Interrupted
    changes = {"host": move.source_host, "node": move.source_node, "flavor": old, "flavor_id": old.id}
    cloud.save(uuid, "resize_reverting", **changes)
    yield "revert: instance on the source"
    _take_back(cloud, uuid, number)
    cloud.need(uuid, move.source_host, old)
    yield "revert: allocation given back"
    cloud.define(move.source_host, uuid, old)
    yield "revert: guest"
    cloud.save(uuid, "resize_reverting", vm_state="active", task_state=None)
    yield "revert: active"
    cloud.save(uuid, old_flavor=None, new_flavor=None)
    yield "revert: flavors"


def live_migrate(cloud: Cloud, uuid: str, host: str, *, leak: bool) -> Steps:
    """conductor/tasks/live_migrate.py, then compute _do_live_migration; ``leak``: a rollback leaves the allocation."""
    row = cloud.instances[uuid]
    cloud.save(uuid, None, task_state="migrating")
    yield f"live {uuid} to {host}: task"
    number = cloud.new_migration(row, "live-migration", "accepted", source_node=None, dest_host=host)
    yield f"live: migration {number}"
    moved = _hand_over(cloud, uuid, number)
    yield "live: source held by the migration"
    if not _alive(cloud, uuid) or not cloud.claim(uuid, host, _flavor(cloud, uuid)):
        yield from _not_scheduled(cloud, uuid, number, row, moved)
        return
    yield "live: destination claimed"
    try:
        for status in ("accepted", "queued", "preparing", "running"):
            cloud.save_migration(
                number, status=status, source_node=row.node, dest_host=host, dest_node=cloud.node_of(host)
            )
            yield f"live: {status}"
        cloud.define(host, uuid, _flavor(cloud, uuid))
        yield "live: guest on the destination"
    except FAILURES:
        yield from _rolled_back(cloud, uuid, number, host, leak=leak)
        return
    try:
        yield from _switched(cloud, uuid, number, host)
    except FAILURES:
        yield from _migration_ends(cloud, number, "error")
        yield from _at_rest(cloud, uuid, "error")


def _flavor(cloud: Cloud, uuid: str) -> Flavor:
    flavor = cloud.instance(uuid).flavor
    assert flavor is not None
    return flavor


def _rolled_back(cloud: Cloud, uuid: str, number: int, host: str, *, leak: bool) -> Steps:
    """_rollback_live_migration: first the allocation, then guest, instance, migration."""
    cloud.free(uuid, host)
    if not leak:
        try:
            _take_back(cloud, uuid, number)
        except Interrupted:
            return
    yield "live: source given back"
    cloud.undefine(host, uuid)
    yield "live: destination's guest gone"
    yield from _at_rest(cloud, uuid, "active")
    yield from _migration_ends(cloud, number, "failed")


def _switched(cloud: Cloud, uuid: str, number: int, host: str) -> Steps:
    source = cloud.migration(number).source_host
    cloud.undefine(source, uuid)
    yield "live: source's guest gone"
    cloud.save(uuid, "migrating", host=host, node=cloud.node_of(host), task_state=None)
    cloud.moved_to(uuid, host)
    yield "live: instance on the destination"
    cloud.save_migration(number, status="completed")
    cloud.free(_migration_uuid(cloud, number))
    yield "live: completed"
    cloud.release_gently(_migration_uuid(cloud, number))
    yield "live: allocation deleted"


def evacuate(cloud: Cloud, uuid: str, host: str) -> Steps:
    """compute/api.py evacuate, conductor rebuild_instance, compute rebuild_instance with a rebuild claim."""
    row = cloud.instances[uuid]
    cloud.save(uuid, None, task_state="rebuilding")
    yield f"evacuate {uuid} to {host}: task"
    number = cloud.new_migration(row, "evacuation", "accepted")
    yield f"evacuate: migration {number}"
    if not _alive(cloud, uuid) or not cloud.claim(uuid, host, _flavor(cloud, uuid)):
        yield from _migration_ends(cloud, number, "error")
        yield from _at_rest(cloud, uuid, "error")
        return
    yield "evacuate: destination claimed"
    try:
        yield from _rebuilt_there(cloud, uuid, number, host)
    except FAILURES:
        cloud.free(uuid, host)
        yield from _migration_ends(cloud, number, "failed")
        cloud.drop_host(uuid, host)
        yield "evacuate: destination given up"
        cloud.undefine(host, uuid)
        yield from _at_rest(cloud, uuid, row.vm_state)
        return
    yield from _evacuated(cloud, uuid, number, host)


def _rebuilt_there(cloud: Cloud, uuid: str, number: int, host: str) -> Steps:
    cloud.save_migration(number, dest_host=host, dest_node=cloud.node_of(host), status="pre-migrating")
    yield "evacuate: claim"
    cloud.save(uuid, "rebuilding", migration_context_id=number)
    yield "evacuate: context"
    cloud.save(uuid, "rebuilding", task_state="rebuild_block_device_mapping")
    yield "evacuate: devices"
    cloud.save(uuid, "rebuild_block_device_mapping", task_state="rebuild_spawning")
    yield "evacuate: spawning"
    cloud.define(host, uuid, _flavor(cloud, uuid))
    yield "evacuate: guest"
    cloud.save(uuid, "rebuild_spawning", vm_state="active", task_state=None)
    yield "evacuate: active"


def _evacuated(cloud: Cloud, uuid: str, number: int, host: str) -> Steps:
    """finish_evacuation, which has no rollback."""
    cloud.save(uuid, None, host=host, node=cloud.node_of(host))
    cloud.moved_to(uuid, host)
    yield "evacuate: instance on the destination"
    cloud.save(uuid, migration_context_id=None)
    yield "evacuate: no context"
    cloud.save_migration(number, status="done")
    yield "evacuate: done"


def come_back(cloud: Cloud, host: str) -> Steps:
    """compute _destroy_evacuated_instances, when the failed host's service starts again."""
    cloud.down.discard(host)
    yield f"{host} is back"
    for move in [m for m in cloud.migrations.values() if m.kind == "evacuation" and m.source_host == host]:
        row = cloud.instances.get(move.instance_uuid)
        if move.status not in ("done",) or row is None or row.deleted or move.deleted:
            continue
        if row.host == host:
            continue
        cloud.undefine(host, row.uuid)
        yield "back: evacuated guest destroyed"
        cloud.drop_host(row.uuid, host)
        yield "back: source's allocation removed"
        if move.id in cloud.migrations and not cloud.migrations[move.id].deleted:
            cloud.save_migration(move.id, status="completed")
        yield "back: completed"


def delete_service(cloud: Cloud, host: str) -> Steps:
    """compute service DELETE: evacuated instances' parts, then the provider, which stays (409) while in use."""
    cloud.retired.add(host)
    for move in [m for m in cloud.migrations.values() if m.kind == "evacuation" and m.source_host == host]:
        if move.status == "done" and not move.deleted:
            cloud.drop_host(move.instance_uuid, host)
            yield f"service {host}: evacuated part removed"
    cloud.placement.delete_provider(cloud.roots[host])
    yield f"service {host}: provider deleted"
