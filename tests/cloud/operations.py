"""Nova's operations on one instance as sequences of atomic steps; others, or an audit, may run at each ``yield``.

The order of the writes is nova 34's (conductor/manager.py, conductor/tasks/, compute/manager.py, compute/api.py, named
at each operation). A ``Fault`` thrown into a yield is a failure at that point; the operation then cleans up as nova
does, step by step. A closed operation was interrupted for good; its remaining steps are never done.
"""

from __future__ import annotations

from collections.abc import Generator

from agent.model.nova import Flavor, Instance
from tests.cloud.cloud import Cloud, Interrupted

Steps = Generator[str, None, None]


class Fault(Exception):
    """The operation's next step fails."""


FAILURES = (Fault, Interrupted)


def build(cloud: Cloud, flavor: Flavor, hosts: tuple[str, ...]) -> Steps:
    """conductor schedule_and_build_instances, then compute _do_build_and_run_instance on the first host that works."""
    uuid = cloud.new_uuid("instance")
    if not cloud.claim(uuid, hosts[0], flavor):
        return
    yield f"build {uuid}: claimed on {hosts[0]}"
    cloud.insert(_new_row(uuid, flavor))
    yield "build: row"
    for attempt, host in enumerate(hosts):
        if attempt and not cloud.claim(uuid, host, flavor):
            break
        try:
            yield from _build_on(cloud, uuid, host, flavor)
        except FAILURES:
            last = attempt == len(hosts) - 1
            yield from _build_failed(cloud, uuid, host, "scheduling" if not last else None)
        else:
            return


def _new_row(uuid: str, flavor: Flavor) -> Instance:
    return Instance(
        uuid=uuid,
        name=uuid[:8],
        project_id="p",
        user_id="u",
        host=None,
        node=None,
        vm_state="building",
        task_state="scheduling",
        deleted=False,
        hidden=False,
        flavor=flavor,
        flavor_id=flavor.id,
    )


def _build_on(cloud: Cloud, uuid: str, host: str, flavor: Flavor) -> Steps:
    cloud.save(uuid, "scheduling", None, vm_state="building", task_state=None)
    yield "build: on the host"
    cloud.save(uuid, None, host=host, node=cloud.node_of(host))
    yield "build: resource claim"
    cloud.save(uuid, None, task_state="networking")
    yield "build: networking"
    cloud.save(uuid, "networking", task_state="spawning")
    yield "build: spawning"
    cloud.define(host, uuid, flavor)
    yield "build: guest"
    cloud.save(uuid, "spawning", vm_state="active", task_state=None)
    yield "build: active"


def _build_failed(cloud: Cloud, uuid: str, host: str, task: str | None) -> Steps:
    cloud.undefine(host, uuid)
    yield "build: cleaned up"
    row = cloud.instances.get(uuid)
    if row is not None and not row.deleted and row.task_state != "deleting":
        state = "building" if task else "error"
        cloud.save(uuid, host=None, node=None, vm_state=state, task_state=task)
    cloud.free(uuid, host)
    yield "build: gave the host up"
    cloud.release(uuid)
    yield "build: allocation deleted"


def delete(cloud: Cloud, uuid: str, *, gently: bool) -> Steps:
    """compute/api.py _delete, then compute _delete_instance; with reclaim_instance_interval the PUT without force."""
    row = cloud.instances[uuid]
    if row.host is None or row.host in cloud.down:
        yield from _local_delete(cloud, uuid)
        return
    try:
        cloud.save(uuid, task_state="deleting")
        yield f"delete {uuid}: deleting"
        if cloud.instance(uuid).vm_state == "resized":
            yield from _confirm_first(cloud, uuid)
        cloud.undefine(cloud.instance(uuid).host, uuid)
        cloud.free(uuid)
        yield "delete: guest destroyed"
        cloud.save(uuid, vm_state="deleted", task_state=None)
        yield "delete: vm_state deleted"
        (cloud.release_gently if gently else cloud.release)(uuid)
        yield "delete: allocation deleted"
    except Interrupted:
        return
    except Fault:
        cloud.save(uuid, vm_state="error", task_state=None)
        yield "delete: failed"
        return
    destroyed(cloud, uuid)
    yield "delete: row"


def _confirm_first(cloud: Cloud, uuid: str) -> Steps:
    from tests.cloud.moves import confirmed

    found = [m for m in cloud.under_way(uuid) if m.status in ("finished", "confirming")]
    if found:
        yield from confirmed(cloud, uuid, found[0].id, "deleting")


def _local_delete(cloud: Cloud, uuid: str) -> Steps:
    """compute/api.py _local_delete: the host is down, or the instance has none."""
    cloud.release(uuid)
    yield f"local delete {uuid}: allocation"
    destroyed(cloud, uuid)
    yield "local delete: row"


def destroyed(cloud: Cloud, uuid: str) -> None:
    """Delete the row, and with it every need of the instance and of its migrations."""
    cloud.destroy(uuid)
    cloud.free(uuid)
    for migration in cloud.migrations.values():
        if migration.instance_uuid == uuid and migration.uuid:
            cloud.free(migration.uuid)


def soft_delete(cloud: Cloud, uuid: str) -> Steps:
    """vm_state soft-delete: the row is live, the guest is shut off, and all amounts count."""
    cloud.save(uuid, task_state="soft-deleting")
    yield f"soft delete {uuid}: task"
    cloud.save(uuid, "soft-deleting", vm_state="soft-delete", task_state=None)
    yield "soft delete: done"


def restore(cloud: Cloud, uuid: str) -> Steps:
    """compute/api.py restore."""
    cloud.save(uuid, task_state="restoring")
    yield f"restore {uuid}: task"
    cloud.save(uuid, "restoring", vm_state="active", task_state=None)
    yield "restore: done"


def reboot(cloud: Cloud, uuid: str) -> Steps:
    """compute/api.py reboot: a task that ends a moment later; host, amounts and allocation stay."""
    cloud.save(uuid, None, task_state="rebooting")
    yield f"reboot {uuid}: task"
    cloud.save(uuid, "rebooting", task_state=None)
    yield "reboot: done"


def rebuild(cloud: Cloud, uuid: str) -> Steps:
    """Rebuild in place: the same host, the same allocation."""
    tasks = ("rebuilding", "rebuild_block_device_mapping", "rebuild_spawning")
    try:
        for before, task in zip((None, *tasks), tasks, strict=False):
            cloud.save(uuid, before, task_state=task)
            yield f"rebuild {uuid}: {task}"
        cloud.save(uuid, tasks[-1], vm_state="active", task_state=None)
        yield "rebuild: done"
    except FAILURES:
        yield from _given_up(cloud, uuid, "error")


def _given_up(cloud: Cloud, uuid: str, vm_state: str) -> Steps:
    row = cloud.instances.get(uuid)
    if row is not None and not row.deleted and row.task_state != "deleting":
        cloud.save(uuid, vm_state=vm_state, task_state=None)
    yield "given up"


def shelve(cloud: Cloud, uuid: str, *, leak: bool) -> Steps:
    """compute _shelve_instance with shelved_offload_time 0; ``leak``: the allocation is not deleted."""
    host = cloud.instances[uuid].host
    try:
        cloud.save(uuid, None, task_state="shelving")
        yield f"shelve {uuid}: task"
        cloud.save(uuid, "shelving", vm_state="shelved", task_state="shelving_offloading")
        yield "shelve: shelved"
        cloud.undefine(host, uuid)
        cloud.free(uuid)
        yield "shelve: guest destroyed"
        if not leak:
            cloud.release(uuid)
        yield "shelve: allocation deleted"
        cloud.save(uuid, "shelving_offloading", vm_state="shelved_offloaded", task_state=None)
        yield "shelve: offloaded"
        cloud.save(uuid, host=None, node=None)
        yield "shelve: host is nobody"
    except FAILURES:
        yield from _given_up(cloud, uuid, "error")


def unshelve(cloud: Cloud, uuid: str, host: str) -> Steps:
    """conductor unshelve_instance, then compute _unshelve_instance."""
    flavor = cloud.instances[uuid].flavor
    assert flavor is not None
    try:
        cloud.save(uuid, None, task_state="unshelving")
        yield f"unshelve {uuid}: task"
        if not cloud.claim(uuid, host, flavor):
            cloud.save(uuid, "unshelving", task_state=None)
            yield "unshelve: no room"
            return
        yield "unshelve: claimed"
        cloud.save(uuid, "unshelving", task_state="spawning")
        yield "unshelve: spawning"
        cloud.save(uuid, "spawning", host=host, node=cloud.node_of(host))
        yield "unshelve: resource claim"
        cloud.define(host, uuid, flavor)
        yield "unshelve: guest"
        cloud.save(uuid, "spawning", vm_state="active", task_state=None)
    except FAILURES:
        yield from _unshelve_failed(cloud, uuid, host)


def _unshelve_failed(cloud: Cloud, uuid: str, host: str) -> Steps:
    cloud.undefine(host, uuid)
    cloud.free(uuid)
    yield "unshelve: cleaned up"
    cloud.release(uuid)
    yield "unshelve: allocation deleted"
    row = cloud.instances.get(uuid)
    if row is not None and not row.deleted and row.task_state != "deleting":
        cloud.save(uuid, host=None, node=None, task_state=None)
    yield "unshelve: failed"
