"""The 20 leaks and the 20 look-alikes, each as the writes that make it (tests/contract/test_leaks.py).

The order of the writes follows nova 34's source. A move's allocation goes to the migration's uuid. An evacuation's
allocation stays with the instance and is doubled. A row changes before its allocation does. ``codes`` are all findings
about the case's consumers; a look-alike has none.
"""

from __future__ import annotations

import uuid as uuids
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.rigs.leak_cloud import EARLIER, SWAP, A, B, Guest, LeakCloud, amounts
from tests.rigs.placement import new_uuid

Plant = Callable[[LeakCloud, str], set[str]]
DELETED: dict[str, Any] = {"deleted": True, "deleted_at": EARLIER, "vm_state": "deleted"}
MOVING: dict[str, Any] = {"old_flavor": A, "new_flavor": B}


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One case; ``plant(cloud, name)`` writes it and returns its consumers."""

    name: str
    plant: Plant
    codes: frozenset[str] = frozenset()
    guests: tuple[Guest, ...] = ()


def leak(name: str, plant: Plant, *codes: str, guests: tuple[Guest, ...] = ()) -> Case:
    """Return a case that must be found, with exactly these codes."""
    return Case(name=name, plant=plant, codes=frozenset(codes), guests=guests)


def quiet(name: str, plant: Plant, *guests: Guest) -> Case:
    """Return a case without any finding."""
    return Case(name=name, plant=plant, guests=guests)


def _deleted(cloud: LeakCloud, name: str) -> set[str]:
    return {cloud.allocate(cloud.instance(name, **DELETED), {cloud.here: amounts(A)})}


def _archived(cloud: LeakCloud, name: str) -> set[str]:
    consumers = _deleted(cloud, name)
    cloud.archive(name)
    return consumers


def _evacuated(cloud: LeakCloud, name: str) -> set[str]:
    consumer = cloud.elsewhere(name)
    cloud.migration(name, kind="evacuation", status="done")
    return {cloud.allocate(consumer, {cloud.here: amounts(A), cloud.cmp2: amounts(A)})}


def _confirmed(cloud: LeakCloud, name: str) -> set[str]:
    consumer = cloud.elsewhere(name, flavor=B, flavor_id=2)
    move = cloud.migration(name, status="confirmed")
    cloud.allocate(consumer, {cloud.cmp2: amounts(B)})
    return {consumer, cloud.allocate(move, {cloud.here: amounts(A)})}


def _reverted(cloud: LeakCloud, name: str) -> set[str]:
    consumer = cloud.elsewhere(name)
    cloud.migration(name, incoming=True, status="reverted")
    return {cloud.allocate(consumer, {cloud.cmp2: amounts(A), cloud.here: amounts(B)})}


def _failed_live_migration(cloud: LeakCloud, name: str) -> set[str]:
    consumer = cloud.elsewhere(name)
    cloud.migration(name, incoming=True, kind="live-migration", status="failed")
    return {cloud.allocate(consumer, {cloud.here: amounts(A)})}


def _shelved_offloaded(cloud: LeakCloud, name: str) -> set[str]:
    consumer = cloud.instance(name, host=None, node=None, vm_state="shelved_offloaded")
    return {cloud.allocate(consumer, {cloud.here: amounts(A)})}


def _rebuilt_elsewhere(cloud: LeakCloud, name: str) -> set[str]:
    return {cloud.allocate(cloud.elsewhere(name), {cloud.here: amounts(A), cloud.cmp2: amounts(A)})}


def _on_a_child_only(cloud: LeakCloud, name: str) -> set[str]:
    return {cloud.allocate(cloud.instance(name, **DELETED), {cloud.child: {"VGPU": 1}})}


def _on_a_sharing_provider(cloud: LeakCloud, name: str) -> set[str]:
    return {cloud.allocate(cloud.instance(name, **DELETED), {cloud.nfs: {"DISK_GB": 1}})}


def _here(held: dict[str, int]) -> Plant:
    """Return a plant of an instance that stays on this host, with these recorded amounts."""

    def plant(cloud: LeakCloud, name: str) -> set[str]:
        return {cloud.allocate(cloud.instance(name), {cloud.here: held})}

    return plant


def _missing(cloud: LeakCloud, name: str) -> set[str]:
    return {cloud.instance(name)}


def _other_project(cloud: LeakCloud, name: str) -> set[str]:
    return {cloud.allocate(cloud.instance(name), {cloud.here: amounts(A)}, project_id="another")}


def _unknown(cloud: LeakCloud, _name: str) -> set[str]:
    return {cloud.allocate(new_uuid(), {cloud.here: amounts(A)})}


def _another_hosts(cloud: LeakCloud, name: str) -> set[str]:
    return {cloud.allocate(cloud.elsewhere(name), {cloud.here: amounts(A)})}


def _on_two_hosts(cloud: LeakCloud, name: str) -> set[str]:
    return {cloud.allocate(cloud.instance(name), {cloud.here: amounts(A), cloud.cmp2: amounts(A)})}


def _stale_companion(cloud: LeakCloud, _name: str) -> set[str]:
    """An allocation made for the root that this host had before it was reinstalled."""
    consumer = str(uuids.uuid5(uuids.uuid4(), "foreign-volume"))
    return {cloud.allocate(consumer, {cloud.here: {"DISK_GB": 1}}, consumer_type="STOCKTAKE_UNMANAGED")}


def _failed_build(cloud: LeakCloud, name: str) -> set[str]:
    consumer = cloud.instance(name, host=None, node=None, vm_state="error")
    return {cloud.allocate(consumer, {cloud.here: amounts(A)})}


STALE, SEVERAL, DIFFERS = "allocation-stale-move", "consumer-on-several-providers", "allocation-differs"
LEAKS = (
    leak("deleted", _deleted, "allocation-leaked"),
    leak("archived", _archived, "consumer-unknown"),
    leak("finished-evacuation", _evacuated, STALE, SEVERAL, "migration-finished-but-counted"),
    leak("confirmed-resize", _confirmed, STALE),
    leak("reverted-resize", _reverted, STALE, SEVERAL),
    leak("failed-live-migration", _failed_live_migration, STALE),
    leak("shelved-offloaded", _shelved_offloaded, STALE),
    leak("rebuilt-elsewhere", _rebuilt_elsewhere, STALE, SEVERAL),
    leak("on-a-child-only", _on_a_child_only, "allocation-leaked"),
    leak("on-a-sharing-provider", _on_a_sharing_provider, "allocation-leaked"),
    leak("wrong-amount", _here({**amounts(A), "VCPU": 3}), DIFFERS, guests=(Guest(name="wrong-amount"),)),
    leak(
        "wrong-class",
        _here({"VCPU": 1, "DISK_GB": 1, "CUSTOM_MEMORY": 128}),
        DIFFERS,
        guests=(Guest(name="wrong-class"),),
    ),
    leak(
        "vcpu-as-pcpu",
        _here({"PCPU": 1, "MEMORY_MB": 128, "DISK_GB": 1}),
        DIFFERS,
        guests=(Guest(name="vcpu-as-pcpu"),),
    ),
    leak("missing", _missing, "allocation-missing", guests=(Guest(name="missing"),)),
    leak("other-project", _other_project, "consumer-project-differs", guests=(Guest(name="other-project"),)),
    leak("unknown-consumer", _unknown, "consumer-unknown"),
    leak("another-hosts", _another_hosts, STALE),
    leak("two-hosts", _on_two_hosts, SEVERAL, guests=(Guest(name="two-hosts"),)),
    leak("stale-companion", _stale_companion, "companion-leftover"),
    leak("failed-build", _failed_build, STALE),
)


def _being_built(cloud: LeakCloud, name: str) -> set[str]:
    consumer = cloud.instance(name, vm_state="building", task_state="spawning")
    return {cloud.allocate(consumer, {cloud.here: amounts(A)})}


def _outgoing(cloud: LeakCloud, name: str, status: str, **changes: Any) -> set[str]:
    """A resize away from this host: the migration's allocation is here, the instance's on the other host."""
    consumer = cloud.instance(name, **{**MOVING, **changes})
    move = cloud.migration(name, status=status)
    cloud.allocate(consumer, {cloud.cmp2: amounts(B)})
    return {consumer, cloud.allocate(move, {cloud.here: amounts(A)})}


def _incoming(cloud: LeakCloud, name: str, status: str, **changes: Any) -> set[str]:
    """A resize to this host: the instance's allocation is here, the migration's on the other host."""
    consumer = cloud.elsewhere(name, **{**MOVING, **changes})
    move = cloud.migration(name, incoming=True, status=status)
    cloud.allocate(move, {cloud.cmp2: amounts(A)})
    return {consumer, cloud.allocate(consumer, {cloud.here: amounts(B)})}


def _accepted(cloud: LeakCloud, name: str) -> set[str]:
    return (
        _outgoing(cloud, name, "accepted", task_state="resize_prep")
        | _incoming(cloud, f"{name}-in", "accepted", task_state="resize_prep")
        | _incoming(cloud, f"{name}-in-without-task", "accepted")
    )


def _migrating(cloud: LeakCloud, name: str) -> set[str]:
    return _outgoing(cloud, name, "migrating", task_state="resize_migrating") | _incoming(
        cloud, f"{name}-in", "migrating", task_state="resize_migrating"
    )


AWAY: dict[str, Any] = {"host": "cmp2", "node": "cmp2.example.org", "flavor": B, "flavor_id": 2}


def _post_migrating(cloud: LeakCloud, name: str) -> set[str]:
    """The instance belongs to the other host already, and keeps its old size until it is started there."""
    changes = {**AWAY, "flavor": A, "flavor_id": 1, "task_state": "resize_migrated"}
    return _outgoing(cloud, name, "post-migrating", **changes)


def _finished(cloud: LeakCloud, name: str) -> set[str]:
    return _outgoing(cloud, name, "finished", **AWAY, vm_state="resized")


def _reverting(cloud: LeakCloud, name: str) -> set[str]:
    return _outgoing(cloud, name, "reverting", **AWAY, vm_state="resized", task_state="resize_reverting")


def _racing_confirm_and_revert(cloud: LeakCloud, name: str) -> set[str]:
    """A confirm and a revert end between the reads of Placement and the database; another confirm is in progress."""
    confirming = _outgoing(cloud, name, "confirming", **{**AWAY, "old_flavor": None, "new_flavor": None})
    confirmed = _outgoing(cloud, f"{name}-confirmed", "finished", **AWAY, vm_state="resized")
    reverted = _incoming(cloud, f"{name}-reverted", "reverting", task_state="resize_reverting", vm_state="resized")
    cloud.racing.meanwhile += [
        lambda: _end(cloud, f"{name}-confirmed", confirmed, "confirmed"),
        lambda: _end(cloud, f"{name}-reverted", reverted, "reverted"),
    ]
    return confirming | confirmed | reverted


def _end(cloud: LeakCloud, name: str, consumers: set[str], status: str) -> None:
    """Follow nova's order: first the rows, then the allocation."""
    for move in consumers - {cloud.consumer(name)}:
        cloud.set_columns("migrations", move, status=status, updated_at=cloud.now())
    changes = {"host": "cmp2", "node": "cmp2.example.org", "vm_state": "active", "task_state": None}
    cloud.set_columns("instances", cloud.consumer(name), **changes, updated_at=cloud.now())
    left_here = consumers - {cloud.consumer(name)} if status == "confirmed" else {cloud.consumer(name)}
    for consumer in left_here:
        cloud.placement.request("DELETE", f"/allocations/{consumer}")


def _host_null(cloud: LeakCloud, name: str) -> set[str]:
    consumers = set()
    for task in ("scheduling", None):
        consumer = cloud.instance(f"{name}-{task}", host=None, node=None, vm_state="building", task_state=task)
        consumers.add(cloud.allocate(consumer, {cloud.here: amounts(A)}))
    return consumers


def _hidden(cloud: LeakCloud, name: str) -> set[str]:
    return {cloud.allocate(cloud.instance(name, **DELETED, hidden=True), {cloud.here: amounts(A)})}


def _resting(**changes: Any) -> Plant:
    def plant(cloud: LeakCloud, name: str) -> set[str]:
        return {cloud.allocate(cloud.instance(name, **changes), {cloud.here: amounts(A)})}

    return plant


def _migration_as_consumer(cloud: LeakCloud, name: str) -> set[str]:
    """A cold migration that failed: nova keeps the allocation of its row in error, and so does Stocktake."""
    consumer = cloud.allocate(cloud.instance(name), {cloud.here: amounts(A)})
    move = cloud.migration(name, kind="migration", status="error")
    return {consumer, cloud.allocate(move, {cloud.here: amounts(A)})}


def _volume_backed(cloud: LeakCloud, name: str) -> set[str]:
    consumer = cloud.instance(name, boots_from_volume=True)
    return {cloud.allocate(consumer, {cloud.here: {"VCPU": 1, "MEMORY_MB": 128}})}


def _live_migration(cloud: LeakCloud, name: str) -> set[str]:
    leaving = cloud.instance(name, task_state="migrating")
    move = cloud.migration(name, kind="live-migration", status="running")
    cloud.allocate(leaving, {cloud.cmp2: amounts(A)})
    cloud.allocate(move, {cloud.here: amounts(A)})
    coming = cloud.elsewhere(f"{name}-in", task_state="migrating")
    other = cloud.migration(f"{name}-in", incoming=True, kind="live-migration", status="running")
    cloud.allocate(other, {cloud.cmp2: amounts(A)})
    return {leaving, move, other, cloud.allocate(coming, {cloud.here: amounts(A)})}


def _evacuating(cloud: LeakCloud, name: str) -> set[str]:
    both = {cloud.here: amounts(A), cloud.cmp2: amounts(A)}
    coming = cloud.elsewhere(name, task_state="rebuilding")
    cloud.migration(name, incoming=True, kind="evacuation", status="accepted")
    leaving = cloud.instance(f"{name}-out", task_state="rebuilding")
    cloud.migration(f"{name}-out", kind="evacuation", status="pre-migrating")
    return {cloud.allocate(coming, both), cloud.allocate(leaving, both)}


def _same_host_resize(cloud: LeakCloud, name: str) -> set[str]:
    here = {"dest_host": cloud.host.name, "dest_node": cloud.host.name}
    consumer = cloud.instance(name, flavor=B, flavor_id=2, vm_state="resized", **MOVING)
    move = cloud.migration(name, status="finished", **here)
    cloud.allocate(consumer, {cloud.here: amounts(B)})
    return {consumer, cloud.allocate(move, {cloud.here: amounts(A)})}


def _volume_backed_swap(cloud: LeakCloud, name: str) -> set[str]:
    consumer = cloud.instance(name, boots_from_volume=True, flavor=SWAP, flavor_id=3)
    return {cloud.allocate(consumer, {cloud.here: amounts(SWAP)})}


def _another_type(cloud: LeakCloud, _name: str) -> set[str]:
    held = {cloud.here: {"VCPU": 1}, cloud.child: {"VGPU": 1}}
    return {cloud.allocate(new_uuid(), held, consumer_type="CYBORG_ARQ")}


def _deleted_meanwhile(cloud: LeakCloud, name: str) -> set[str]:
    """Follow nova's order: the guest (this host has none), the row, the allocation."""
    consumer = cloud.allocate(cloud.instance(name), {cloud.here: amounts(A)})

    def delete() -> None:
        cloud.delete(name)
        cloud.placement.release(consumer)

    cloud.racing.meanwhile.append(delete)
    return {consumer}


LOOK_ALIKES = (
    quiet("being-built", _being_built),
    quiet("accepted", _accepted, Guest(name="accepted")),
    quiet("migrating", _migrating, Guest(name="migrating")),
    quiet("post-migrating", _post_migrating, Guest(name="post-migrating", is_off=True)),
    quiet("finished", _finished, Guest(name="finished", is_off=True)),
    quiet("reverting", _reverting, Guest(name="reverting", is_off=True)),
    quiet("racing-confirm-and-revert", _racing_confirm_and_revert),
    quiet("host-null", _host_null),
    quiet("deleted-but-hidden", _hidden),
    quiet("soft-deleted", _resting(vm_state="soft-delete"), Guest(name="soft-deleted", is_off=True)),
    quiet("migration-as-consumer", _migration_as_consumer, Guest(name="migration-as-consumer")),
    quiet("boot-from-volume", _volume_backed, Guest(name="boot-from-volume")),
    quiet("shelved", _resting(vm_state="shelved"), Guest(name="shelved", is_off=True)),
    quiet("live-migration", _live_migration, Guest(name="live-migration"), Guest(name="live-migration-in")),
    quiet("evacuating", _evacuating, Guest(name="evacuating-out")),
    quiet("rebuild-in-place", _resting(task_state="rebuild_spawning")),
    quiet("same-host-resize", _same_host_resize, Guest(name="same-host-resize", flavor=B)),
    quiet("volume-backed-swap", _volume_backed_swap, Guest(name="volume-backed-swap", flavor=SWAP)),
    quiet("another-consumer-type", _another_type),
    quiet("deleted-meanwhile", _deleted_meanwhile),
)
