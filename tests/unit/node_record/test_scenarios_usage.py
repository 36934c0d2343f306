"""Usage and migrations: scenarios 1 to 42, as the figures that a compute node record shows.

Every expected number is the scenario's own. Scenarios 21 and 38 assert the agent's decision instead.
"""

from __future__ import annotations

import dataclasses
import datetime
import json

import pytest

from agent.books.occupancy import occupied
from agent.demo.cell import flavor_primitive
from agent.model.host.capabilities import Capabilities, HostCpu
from agent.model.host.facts import Cell, Disk, PagePool
from agent.model.host.storage import DiskFile, StorageFacts
from agent.model.nova import Flavor, InstanceCell, MigrationContext, NovaState
from agent.model.settings import NetworkAffinity
from agent.model.units import GIB, bytes_to_gib_floor
from agent.model.usage import Usage
from agent.node_record.nova_forms import topology_text
from agent.node_record.numa_usage import cell_usages, pin_conflicts
from agent.node_record.resource_view import resource_view
from agent.node_record.usage import uptime_text, usage
from agent.sources.nova.rows import CellRows, migration_from_row, state_from_rows
from tests.rigs.facts import (
    FLAVOR_A,
    FLAVOR_B,
    HOST,
    INCOMING,
    NODE,
    NOW,
    decided,
    domain,
    filesystem,
    findings,
    good,
    host,
    instance,
    migration,
    settings,
    snapshot,
    state,
    uuid,
)

AWAY = {"host": "cmp2", "node": "cmp2.example.org"}
HERE = {"dest_host": HOST, "dest_node": NODE}
NOTHING = frozenset()


def figures(world: NovaState, *, libvirt=None, gib=6, stored=(), **options) -> Usage:
    """Return the use that the record shows on the common host or on another."""
    chosen = settings(**options)
    view = resource_view(snapshot(libvirt=libvirt or host(), files=filesystem(gib)), chosen, NODE)
    return usage(occupied(world, NODE, NOTHING), view, chosen, stored)


def used(world: NovaState, **given) -> tuple[int, int, int]:
    """Return memory, vcpus and disk, as the scenarios count "used"."""
    found = figures(world, **given)
    return found.memory_mib_used, found.vcpus_used, found.local_gib_used


def flavor(**changes) -> Flavor:
    return dataclasses.replace(FLAVOR_A, **changes)


def resizing(**changes):
    """Return the instance i1 in a resize from A to B, with what nova stores about both flavors."""
    return instance(**{"old_flavor": FLAVOR_A, "new_flavor": FLAVOR_B, "task_state": "resize_migrating", **changes})


def on_b(**changes):
    return resizing(**{"flavor": FLAVOR_B, "flavor_id": 2, **changes})


# Usage accounting


def test_s1_an_empty_host_has_zero_usage():
    found = figures(state())
    assert (found.memory_mib_used, found.vcpus_used, found.local_gib_used) == (0, 0, 0)
    assert (found.free_ram_mib, found.free_disk_gib) == (512, 6)
    assert (found.running_vms, found.current_workload) == (0, 0)


def test_s2_resources_reserved_for_the_host_count_as_used():
    """The amounts in reserved_host_cpus, reserved_host_memory_mb and reserved_host_disk_mb count as used."""
    found = figures(state(), reserved_host_disk_mib=1024, reserved_host_memory_mib=512, reserved_host_cpus=1)
    assert (found.memory_mib_used, found.vcpus_used, found.local_gib_used) == (512, 1, 1)
    assert (found.free_ram_mib, found.free_disk_gib) == (0, 5)


def test_s3_free_amounts_can_be_negative():
    """If nova.conf reserves 2 GiB of memory on a host with 1 GiB, the compute node record shows -1 GiB as free."""
    reserved = {"reserved_host_memory_mib": 2048, "reserved_host_disk_mib": 11 * 1024}
    found = figures(state(), libvirt=host(memory_mib=1024), gib=10, **reserved)
    assert (found.free_ram_mib, found.free_disk_gib) == (-1024, -1)


FOUR = state(instance("a"), instance("b", vm_state="deleted"))


def test_s4_an_instance_with_vm_state_deleted_is_not_counted():
    found = figures(FOUR)
    assert (found.memory_mib_used, found.vcpus_used, found.local_gib_used) == (128, 1, 1)
    assert (found.free_ram_mib, found.free_disk_gib, found.running_vms) == (384, 5, 1)


def test_s5_usage_ignores_the_used_memory_of_the_host():
    """The usage in the compute node record is computed from the instances, whatever used memory the host reports."""
    busy = host(memory_used_mib=9999)
    assert resource_view(snapshot(libvirt=busy), settings(), NODE).memory_used_mib == 9999
    assert figures(FOUR, libvirt=busy) == figures(FOUR)


def rows_of(*instances, disks=(), migrations=()) -> NovaState:
    """Return the state from rows of the database, with nova's column names."""
    return state_from_rows(HOST, CellRows(now=None, instances=instances, boot_disks=disks, migrations=migrations))


def row(**changes):
    document = {"cur": flavor_primitive(FLAVOR_A), "old": None, "new": None}
    return {
        "uuid": uuid("i1"),
        "host": HOST,
        "node": NODE,
        "vm_state": "active",
        "deleted": 0,
        "image_ref": "i1",
        "extra_id": 1,
        "extra_deleted": 0,
        "flavor": json.dumps(document),
        **changes,
    }


def test_s6_an_instance_on_a_volume_uses_no_root_disk():
    """An instance that boots from a Cinder volume uses 0 GiB of the host for its root disk."""
    disk = {"id": 1, "instance_uuid": uuid("i1"), "deleted": 0, "boot_index": 0, "destination_type": "volume"}
    assert used(rows_of(row(), disks=(disk,))) == (128, 1, 0)


@pytest.mark.parametrize(("image_ref", "disk_gib"), [("", 0), (None, 0), ("i1", 1)])
def test_s7_an_instance_without_an_image_uses_no_root_disk(image_ref, disk_gib):
    """An instance that has no image and no block device rows in nova uses 0 GiB for its root disk."""
    assert used(rows_of(row(image_ref=image_ref))) == (128, 1, disk_gib)


def test_s8_half_a_gib_of_swap_counts_as_0_gib_of_disk():
    assert used(state(instance(flavor=flavor(swap_mib=512)))) == (128, 1, 1)


def test_s9_swap_is_rounded_down_for_each_instance():
    """Two instances with 512 MiB of swap each use 0 GiB of disk for swap, not 1 GiB."""
    swapping = flavor(swap_mib=512)
    assert used(state(instance("a", flavor=swapping), instance("b", flavor=swapping))) == (256, 2, 2)


def test_s10_one_and_a_half_gib_of_swap_count_as_1_gib_of_disk():
    assert used(state(instance(flavor=flavor(swap_mib=1536)))) == (128, 1, 2)


def test_s11_ephemeral_disk_counts_as_used_disk():
    assert used(state(instance(flavor=flavor(ephemeral_gib=10)))) == (128, 1, 11)


def test_s12_reserved_disk_is_rounded_differently_for_placement():
    """If reserved_host_disk_mb is 512, nova's compute node record shows 0 GiB as used.

    Placement gets 1 GiB as reserved.
    """
    half = {"reserved_host_disk_mib": 512}
    assert used(state(), **half) == (0, 0, 0)
    decision = decided(snapshot(), settings(**half))
    (disk,) = (i for i in decision.tree.root.inventories if i.resource_class == "DISK_GB")
    assert disk.reserved == 1


@pytest.mark.parametrize(("task", "counted"), [(None, (0, 0, 0)), ("spawning", (128, 1, 1))])
def test_s13_a_shelved_offloaded_instance_counts_while_spawning(task, counted):
    """An instance in vm_state shelved_offloaded uses resources of the host only while its task_state is spawning."""
    assert used(state(instance(vm_state="shelved_offloaded", task_state=task))) == counted


@pytest.mark.parametrize(
    "vm_state", ["building", "stopped", "error", "paused", "suspended", "rescued", "soft-delete", "shelved"]
)
def test_s14_a_stopped_instance_counts_like_an_active_one(vm_state):
    """A stopped, paused, failed or shelved instance uses the same amounts in the record as an active instance."""
    found = figures(state(instance(vm_state=vm_state)))
    assert (found.memory_mib_used, found.vcpus_used, found.local_gib_used, found.running_vms) == (128, 1, 1, 1)


def test_s15_memory_usage_comes_from_the_flavor():
    """The agent takes an instance's memory from its flavor, even if the column instances.memory_mb differs."""
    assert used(rows_of(row(memory_mb=4096, vcpus=16, root_gb=500)))[0] == 128


def test_s16_disk_sizes_in_gib_are_truncated_towards_zero():
    """In the compute node record, 99.7 GiB become 99, and -3.7 GiB become -3."""
    disk = Disk(target="vda", kind="file", source="/i/disk", format="qcow2")
    # 99.7 GiB are free, and a disk may still grow by 103.4 GiB: 3.7 GiB are missing.
    file = DiskFile(path="/i/disk", format="qcow2", virtual_bytes=int(103.4 * GIB), allocated_bytes=0)
    world = snapshot(libvirt=host(domain(disks=(disk,))), files=filesystem(99.7))
    world = dataclasses.replace(world, storage=(*world.storage, good("images", StorageFacts(disk_files=(file,)))))
    view = resource_view(world, settings(), NODE)
    assert bytes_to_gib_floor(view.disk_total_bytes) == 99
    assert usage(occupied(state(), NODE, NOTHING), view, settings()).free_disk_gib == 99
    assert view.disk_available_least_gib == -3


SEVENTEEN = state(instance("a", task_state="resize_migrating", os_type="linux"), instance("b", vm_state="building"))


def test_s17_stats_contain_the_number_of_instances_by_state():
    """The record's stats contain the number of instances by vm_state, task_state, operating system and project."""
    found = figures(SEVENTEEN)
    assert dict(found.stats) == {
        "num_instances": "2",
        "num_vm_active": "1",
        "num_vm_building": "1",
        "num_task_resize_migrating": "1",
        "num_task_None": "1",
        "num_os_type_linux": "1",
        "num_os_type_None": "1",
        "num_proj_p": "2",
        "io_workload": "2",
        "failed_builds": "0",
        "uptime": None,
    }
    assert found.current_workload == 1


def test_s18_only_failed_builds_is_kept_from_the_stored_stats():
    """Of nova's stored stats, the agent keeps only failed_builds and computes all other values anew."""
    before = (("failed_builds", "3"), ("num_instances", "7"), ("num_vm_rescued", "7"), ("uptime", "old"))
    assert dict(figures(state(), stored=before).stats) == {"failed_builds": "3", "uptime": None}
    assert dict(figures(state()).stats)["failed_builds"] == "0"


CELL = Cell(
    id=0,
    memory_mib=4096,
    cpu_ids=(0, 1, 2, 3),
    siblings=((0, 1), (2, 3)),
    page_pools=(PagePool(size_kib=4, total=1048576), PagePool(size_kib=2048, total=0)),
)
NUMA_HOST = host(capabilities=Capabilities(host_cpu=HostCpu(arch="x86_64")), cells=(CELL,))
NUMA_SETTINGS = settings(
    cpu_shared_set=(0, 1),
    cpu_dedicated_set=(2, 3),
    networks=NetworkAffinity(physnets=(("foo", (0,)),), tunnel=(0,)),
)


def pinned(*host_cpus, **changes):
    cpus = tuple(range(len(host_cpus)))
    plain = InstanceCell(
        id=0, memory_mib=512, pcpuset=cpus, pinning=tuple(enumerate(host_cpus)), cpu_policy="dedicated"
    )
    return (dataclasses.replace(plain, **changes),)


def cells_with(*instances, **changes):
    """Return the cells of the record's topology, as nova would read them."""
    view = resource_view(snapshot(libvirt=NUMA_HOST), NUMA_SETTINGS, NODE)
    taken = occupied(state(*instances, **changes), NODE, NOTHING).occupancies
    document = json.loads(topology_text(view.cells, cell_usages(view.cells, taken)))
    return [cell["nova_object.data"] for cell in document["nova_object.data"]["cells"]]


def test_s19_a_pinned_instance_uses_cpus_and_memory_of_a_cell():
    """A pinned instance uses host CPUs, memory and small pages of its NUMA cell in the compute node record."""
    (cell,) = cells_with(instance(numa=pinned(2)))
    assert (cell["cpuset"], cell["pcpuset"]) == ([0, 1], [2, 3])
    assert (cell["pinned_cpus"], cell["memory_usage"], cell["cpu_usage"]) == ([2], 512, 0)
    pages = {p["nova_object.data"]["size_kb"]: p["nova_object.data"]["used"] for p in cell["mempages"]}
    assert pages == {4: 131072, 2048: 0}


def test_s20_thread_policy_isolate_also_pins_the_sibling_thread():
    """With the CPU thread policy "isolate", the sibling thread of a pinned CPU counts as pinned too."""
    (cell,) = cells_with(instance(numa=pinned(2, thread_policy="isolate")))
    assert cell["pinned_cpus"] == [2, 3]


def test_s21_two_instances_pinned_to_one_cpu_are_reported():
    """If two instances are pinned to the same host CPU, the agent counts both and reports `over-capacity`."""
    both = instance("a", numa=pinned(2)), instance("b", numa=pinned(2))
    (cell,) = cells_with(*both)
    assert (cell["pinned_cpus"], cell["memory_usage"]) == ([2], 1024)
    view = resource_view(snapshot(libvirt=NUMA_HOST), NUMA_SETTINGS, NODE)
    (conflict,) = pin_conflicts(view.cells, occupied(state(*both), NODE, NOTHING).occupancies)
    assert (conflict.cell, conflict.cpu, conflict.instances) == (0, 2, tuple(sorted((uuid("a"), uuid("b")))))
    (found,) = findings(snapshot(libvirt=NUMA_HOST, nova=state(*both)), "over-capacity", NUMA_SETTINGS)
    assert "CPU 2 of NUMA cell 0" in found.expected
    assert uuid("a") in found.actual
    assert uuid("b") in found.actual


def test_s22_a_used_numa_cell_keeps_its_socket_and_networks():
    """The record of a NUMA cell with a pinned instance still contains the cell's socket and physical networks."""
    sockets = tuple(dataclasses.replace(cpu, socket=1) for cpu in NUMA_HOST.cpus)
    libvirt = dataclasses.replace(NUMA_HOST, cpus=sockets)
    view = resource_view(snapshot(libvirt=libvirt), NUMA_SETTINGS, NODE)
    taken = occupied(state(instance(numa=pinned(2))), NODE, NOTHING).occupancies
    document = json.loads(topology_text(view.cells, cell_usages(view.cells, taken)))
    (cell,) = (cell["nova_object.data"] for cell in document["nova_object.data"]["cells"])
    assert cell["socket"] == 1
    assert cell["network_metadata"]["nova_object.data"] == {"physnets": ["foo"], "tunneled": True}


# Migrations


def test_s23_an_outgoing_resize_uses_the_old_flavor():
    """During a resize to another host, the source host counts the amounts of the instance's old flavor as used."""
    found = figures(state(on_b(**AWAY), migrations=(migration(),)))
    assert (found.memory_mib_used, found.vcpus_used, found.local_gib_used) == (128, 1, 1)
    assert found.running_vms == 0


def test_s24_an_incoming_resize_uses_the_new_flavor():
    """During a resize from another host, the target host counts the amounts of the instance's new flavor as used."""
    assert used(state(resizing(**AWAY), migrations=(migration(**INCOMING),))) == (256, 2, 5)


def test_s25_a_failed_resize_with_a_context_uses_the_new_flavor():
    """While the instance has the migration context, a failed resize to this host still uses the new flavor."""
    context = MigrationContext(migration_id=1)
    there = resizing(migration_context_id=1, context=context, **AWAY)
    assert used(state(there, migrations=(migration(status="error", **INCOMING),))) == (256, 2, 5)


def test_s26_an_incoming_evacuation_counts_as_used():
    """While an instance is evacuated to this host, the amounts of its flavor count as used here."""
    there = instance(flavor=FLAVOR_B, task_state="rebuilding", **AWAY)
    assert used(state(there, migrations=(migration(kind="evacuation", **INCOMING),))) == (256, 2, 5)


def test_s27_a_same_host_resize_still_counts_the_old_flavor():
    """During a resize on the same host, both flavors count as used after the instance has got the new flavor."""
    world = state(on_b(), instance("i2"), migrations=(migration(**HERE),))
    found = figures(world)
    assert (found.memory_mib_used, found.vcpus_used, found.local_gib_used) == (512, 4, 7)
    assert (found.free_disk_gib, found.current_workload, found.running_vms) == (-1, 1, 2)


def test_s28_a_same_host_resize_already_counts_the_new_flavor():
    """During a resize on the same host, both flavors count as used while the instance still has the old flavor."""
    assert used(state(resizing(), migrations=(migration(**HERE),))) == (128 + 256, 1 + 2, 1 + 5)


def test_s29_the_source_counts_an_unconfirmed_resize():
    """After a finished resize to another host, the source host counts the old flavor until the resize is confirmed."""
    there = on_b(vm_state="resized", task_state=None, **AWAY)
    assert used(state(there, migrations=(migration(status="finished"),))) == (128, 1, 1)


@pytest.mark.parametrize("status", ["confirmed", "reverted", "failed", "completed", "cancelled", "done"])
def test_s30_an_ended_migration_adds_no_usage(status):
    """A migration in a status such as confirmed or failed adds nothing to the used amounts of the target host."""
    assert used(state(resizing(**AWAY), migrations=(migration(status=status, **INCOMING),))) == (0, 0, 0)


def test_s32_an_outgoing_resize_without_old_flavor_adds_no_usage():
    """If nova has stored no old flavor of an instance, a resize to another host adds nothing to the used amounts."""
    there = on_b(vm_state="resized", task_state=None, old_flavor=None, **AWAY)
    assert used(state(there, migrations=(migration(status="finished"),))) == (0, 0, 0)


def test_s33_a_resize_without_a_task_state_adds_no_usage():
    """An incoming resize adds nothing to the used amounts if the instance has no task_state."""
    assert used(state(resizing(task_state=None, **AWAY), migrations=(migration(**INCOMING),))) == (0, 0, 0)


@pytest.mark.parametrize(
    "task",
    [
        *("resize_prep", "resize_migrating", "resize_migrated", "resize_finish"),
        *("rebuilding", "rebuild_block_device_mapping", "rebuild_spawning"),
    ],
)
def test_s34_an_incoming_stopped_instance_counts_as_used(task):
    """While a stopped instance is moving to this host, the amounts of its new flavor count as used on the host."""
    there = resizing(vm_state="stopped", task_state=task, **AWAY)
    assert used(state(there, migrations=(migration(**INCOMING),))) == (256, 2, 5)


LIVE = migration(kind="live-migration", old_type_id=1, new_type_id=1, **INCOMING)


def test_s35_an_incoming_live_migration_counts_as_used():
    assert used(state(instance(task_state="migrating", **AWAY), migrations=(LIVE,))) == (128, 1, 1)


def test_s36_a_failed_live_migration_adds_no_usage():
    """An incoming live migration adds nothing to the used amounts if the instance is in vm_state error."""
    there = instance(vm_state="error", task_state="migrating", **AWAY)
    assert used(state(there, migrations=(LIVE,))) == (0, 0, 0)


def hours(number):
    return NOW + datetime.timedelta(hours=number)


@pytest.mark.parametrize(
    ("second", "counted"),
    [
        ({"updated_at": hours(2)}, (128, 1, 1)),
        ({"updated_at": None, "created_at": hours(0)}, (256, 2, 5)),
    ],
)
def test_s37_only_the_newest_migration_of_an_instance_counts(second, counted):
    """If an instance has two migrations to this host, the host's used amounts count only the newest migration."""
    resize = migration(1, updated_at=hours(1), **INCOMING)
    live = dataclasses.replace(LIVE, id=2, **second)
    assert used(state(resizing(**AWAY), migrations=(resize, live))) == counted


def test_s38_a_migration_with_a_wrong_context_adds_no_usage():
    """An incoming migration adds no usage if the instance's context has the ID of another migration."""
    context = MigrationContext(migration_id=2)
    there = resizing(migration_context_id=2, context=context, **AWAY)
    world = state(there, migrations=(migration(**INCOMING),))
    assert used(world) == (0, 0, 0)
    (found,) = findings(snapshot(nova=world), "migration-stuck")
    assert found.consumer_uuid == uuid("i1")
    assert found.actual.endswith("the agent counts no resources for this migration")


def test_s39_a_migration_without_an_instance_adds_no_usage():
    assert used(state(migrations=(migration(**INCOMING),))) == (0, 0, 0)


def test_s40_a_resize_of_a_deleted_instance_adds_usage():
    """If nova deletes an instance during a resize to this host, the resize still adds the new flavor's usage."""
    there = resizing(deleted=True, **AWAY)
    assert used(state(there, migrations=(migration(**INCOMING),))) == (256, 2, 5)


def test_s41_an_incoming_resize_uses_its_new_pinned_cpus():
    """During a resize from another host, the record shows the instance's new pinned CPUs as used on the target host."""
    context = MigrationContext(migration_id=1, old_numa=pinned(0), new_numa=pinned(3))
    here = on_b(migration_context_id=1, context=context, numa=pinned(0), task_state="resize_finish")
    world = state(here, migrations=(migration(**INCOMING),))
    assert used(world) == (256, 2, 5)
    (cell,) = cells_with(here, migrations=(migration(**INCOMING),))
    assert (cell["pinned_cpus"], cell["memory_usage"]) == ([3], 512)


@pytest.mark.parametrize(("types", "kind"), [((1, 2), "resize"), ((1, 1), "migration")])
def test_s42_a_migration_with_two_flavors_is_a_resize(types, kind):
    """If nova has stored no migration_type, the agent takes a migration with two different flavors for a resize."""
    old, new = types
    found = migration_from_row(
        {
            "id": 1,
            "instance_uuid": uuid("i1"),
            "status": "migrating",
            "migration_type": None,
            "old_instance_type_id": old,
            "new_instance_type_id": new,
        }
    )
    assert found.kind == kind


# Without a scenario


SIDES = MigrationContext(migration_id=1, old_numa=pinned(2), new_numa=pinned(3))


@pytest.mark.parametrize(
    ("who", "moves", "expected"),
    [
        (resizing(context=SIDES, **AWAY), migration(**INCOMING), [3]),
        (on_b(context=SIDES, **AWAY), migration(), [2]),
        (resizing(context=SIDES, numa=pinned(2)), migration(**HERE), [2, 3]),
        (on_b(context=SIDES, numa=pinned(3)), migration(**HERE), [2, 3]),
        (resizing(context=SIDES, numa=pinned(2)), migration(), [2]),
        (resizing(**AWAY), migration(**INCOMING), []),
        (resizing(context=SIDES, numa=pinned(2)), migration(2, **INCOMING), [2]),
    ],
    ids=[
        "incoming",
        "outgoing",
        "same host, old flavor",
        "same host, new flavor",
        "leaving, still here",
        "no context",
        "the context of another move",
    ],
)
def test_a_resize_pins_cpus_on_the_source_and_the_target(who, moves, expected):
    """During a resize, the old pinned CPUs are used on the source host, and the new ones on the target host."""
    (cell,) = cells_with(who, migrations=(moves,))
    assert cell["pinned_cpus"] == expected


def test_an_instance_of_unknown_size_is_listed_as_unknown():
    """If nova's data of an instance is unreadable, the agent lists its UUID as unknown and counts no amount for it."""
    world = state(
        instance("whole"),
        instance("broken", flavor=None, problem="flavor is NULL"),
        instance("elsewhere", flavor=None, problem="flavor is NULL", **AWAY),
        instance("anywhere", flavor=None, problem="host is 5", host=None, node=None, vm_state=None),
        instance("coming", flavor=None, problem="migrations id 7", task_state="migrating", **AWAY),
        instance("gone", flavor=None, problem="flavor is NULL", deleted=True),
    )
    found = figures(world)
    assert (found.memory_mib_used, found.running_vms) == (128, 1)
    assert set(found.unknown) == {uuid("broken"), uuid("anywhere"), uuid("coming")}


@pytest.mark.parametrize(
    ("seconds", "since"),
    [
        (59, "0 min"),
        (5 * 60, "5 min"),
        (3 * 3600 + 31 * 60, " 3:31"),
        (86400 + 62 * 60, "1 day,  1:02"),
        (12 * 86400 + 23 * 3600 + 9 * 60, "12 days, 23:09"),
        (2 * 86400 + 60, "2 days, 1 min"),
    ],
)
def test_the_uptime_text_has_the_format_of_the_uptime_command(seconds, since):
    """The compute node record's stats contain the host's uptime as the command `uptime` prints it."""
    libvirt = host(uptime_s=float(seconds), load=(1.567, 1.2, 0.97))
    view = resource_view(snapshot(libvirt=libvirt), settings(), NODE)
    expected = f" 18:53:31 up {since},  0 users,  load average: 1.57, 1.20, 0.97\n"
    assert uptime_text(view, "2026-11-21T18:53:31.120000Z") == expected
    assert uptime_text(resource_view(snapshot(), settings(), NODE), "2026-11-21T18:53:31Z") is None
