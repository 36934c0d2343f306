"""Fill the demo's databases with its scenarios: moves, deleted instances, an orphaned compute node."""

from __future__ import annotations

import dataclasses
import datetime

import sqlalchemy

from agent.demo import cast, cell
from agent.demo.cast import HOSTS, Guest
from agent.demo.cloud import DemoCloud, Script, allocate, amounts, instance_row, node_row, placement_answer
from agent.model.nova import Migration

_YESTERDAY = datetime.timedelta(days=1)


def _rows(connection: sqlalchemy.Connection) -> None:
    now = datetime.datetime.now(datetime.UTC).replace(tzinfo=None, microsecond=0)
    for number, host in enumerate(HOSTS, start=1):
        for guest in host.leaked:
            gone = dataclasses.replace(
                instance_row(guest, host.name), vm_state="deleted", deleted=True, deleted_at=now - _YESTERDAY
            )
            cell.add_instance(connection, gone)
        if host.ghost:
            ghost = node_row(number + len(HOSTS), cast.known_uuid(host.ghost), host, host.ghost)
            cell.add_compute_node(connection, ghost)
    moving = instance_row(cast.RESIZED, cast.ELSEWHERE)
    resizing = dataclasses.replace(moving, task_state="resize_prep", old_flavor=cast.SMALL, new_flavor=cast.LARGE)
    cell.add_instance(connection, resizing)
    cell.add_migration(connection, _evacuation(now - _YESTERDAY))
    cell.add_migration(connection, _resize(now))


def _evacuation(at: datetime.datetime) -> Migration:
    return Migration(
        id=1,
        uuid=cast.known_uuid("evacuation"),
        instance_uuid=cast.EVACUATED.uuid,
        kind="evacuation",
        status="done",
        source_host=cast.FIRST.name,
        source_node=cast.FIRST.name,
        dest_host=cast.SECOND.name,
        dest_node=cast.SECOND.name,
        old_type_id=cast.EVACUATED.flavor.id,
        new_type_id=cast.EVACUATED.flavor.id,
        created_at=at,
        updated_at=at,
    )


def _resize(at: datetime.datetime) -> Migration:
    return dataclasses.replace(
        _evacuation(at),
        id=2,
        uuid=cast.known_uuid("resize"),
        instance_uuid=cast.RESIZED.uuid,
        kind="resize",
        status="accepted",
        source_host=cast.ELSEWHERE,
        source_node=cast.ELSEWHERE,
        old_type_id=cast.SMALL.id,
        new_type_id=cast.LARGE.id,
    )


def _second_host_as_it_was(cloud: DemoCloud) -> None:
    """Create the second host's provider with its earlier, larger inventory, and allocations that fit this inventory.

    Story 5 shows negative free capacity. Placement rejects allocations above the capacity, so the allocations are made
    while the inventory is larger. Later the agent reduces the inventory below the existing allocations.
    """
    host = cast.SECOND
    placement_answer(cloud, "POST", "/resource_providers", {"uuid": host.root_uuid, "name": host.name})
    before = {
        "VCPU": {"total": cast.BEFORE_CPUS, "allocation_ratio": cast.BEFORE_RATIO},
        "MEMORY_MB": {"total": host.memory_mib},
        "DISK_GB": {"total": cast.BEFORE_DISK_GIB},
    }
    body = {"resource_provider_generation": 0, "inventories": before}
    placement_answer(cloud, "PUT", f"/resource_providers/{host.root_uuid}/inventories", body)
    for guest in (*host.guests, *host.leaked):
        if guest is not cast.EVACUATED:
            allocate(cloud, guest.uuid, {host.root_uuid: amounts(guest)})
    resized = Guest(name=cast.RESIZED.name, flavor=cast.LARGE)
    allocate(cloud, resized.uuid, {host.root_uuid: amounts(resized)})


def schedule_first_host(cloud: DemoCloud) -> None:
    """Write allocations on the first host, as nova's scheduler would. The host must already have an inventory.

    The evacuated instance gets allocations on both hosts.
    """
    for guest in cast.FIRST.guests:
        allocate(cloud, guest.uuid, {cast.FIRST.root_uuid: amounts(guest)})
    held = amounts(cast.EVACUATED)
    allocate(cloud, cast.EVACUATED.uuid, {cast.FIRST.root_uuid: held, cast.SECOND.root_uuid: held})


STORIES = Script(hosts=HOSTS, rows=_rows, place=_second_host_as_it_was)
