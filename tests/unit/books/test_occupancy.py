"""Usage accounting and migrations: scenarios 1 to 42, as amounts that the cloud promised.

The expected numbers are those of the scenarios; each test's id has the scenario's number.
"""

from __future__ import annotations

import dataclasses
import datetime

import pytest

from agent.books.occupancy import occupied
from agent.model.claim import Cause, Ledger
from agent.model.nova import Flavor
from agent.resources import BUILTIN
from tests.rigs.facts import (
    FLAVOR_A,
    FLAVOR_B,
    INCOMING,
    NODE,
    NOW,
    instance,
    migration,
    settings,
    state,
    uuid,
)


def promised(world, recorded=frozenset()):
    """Return (memory, vcpus, disk) as the scenarios count "used", without the host's own reserve."""
    taken = occupied(world, NODE, recorded)
    ledger = Ledger.of(c for r in BUILTIN for c in r.promised(taken.occupancies, settings()))
    return ledger.total("MEMORY_MB"), ledger.total("VCPU") + ledger.total("PCPU"), ledger.total("DISK_GB")


def flavor(**changes) -> Flavor:
    return dataclasses.replace(FLAVOR_A, **changes)


A, B = (128, 1, 1), (256, 2, 5)


def resized(**changes):
    return {"old_flavor": FLAVOR_A, "new_flavor": FLAVOR_B, "vm_state": "active", **changes}


USAGE = {
    "s1 nothing": (state(), (0, 0, 0)),
    "s4 deleted vm_state is not counted": (state(instance("a"), instance("b", vm_state="deleted")), A),
    "s6 volume-backed": (state(instance(boots_from_volume=True)), (128, 1, 0)),
    "s11 ephemeral": (state(instance(flavor=flavor(ephemeral_gib=10))), (128, 1, 11)),
    # Placement's own rule rounds swap up; scenario 8 truncates it.
    "s8 swap 512 MiB is 1 GiB in Placement": (state(instance(flavor=flavor(swap_mib=512))), (128, 1, 2)),
    "s10 swap 1536 MiB is 2 GiB in Placement": (state(instance(flavor=flavor(swap_mib=1536))), (128, 1, 3)),
    "s13 shelved_offloaded": (state(instance(vm_state="shelved_offloaded")), (0, 0, 0)),
    "s13 shelved_offloaded, spawning": (state(instance(vm_state="shelved_offloaded", task_state="spawning")), A),
    "another node of this host": (state(instance(node="other")), (0, 0, 0)),
    "another host": (state(instance(host="cmp2")), (0, 0, 0)),
    "a row that does not parse": (state(instance(flavor=None, problem="flavor is NULL")), (0, 0, 0)),
}


@pytest.mark.parametrize(("world", "expected"), USAGE.values(), ids=USAGE.keys())
def test_an_instances_usage_depends_on_flavor_state_and_host(world, expected):
    """An instance that is on another host or shelved and offloaded, for example, adds no usage here."""
    assert promised(world) == expected


@pytest.mark.parametrize(
    "vm_state", ["building", "stopped", "error", "paused", "suspended", "rescued", "soft-delete", "shelved"]
)
def test_s14_a_stopped_instance_uses_its_whole_flavor(vm_state):
    """The agent counts the whole flavor also for a paused, suspended, shelved or soft-deleted instance."""
    assert promised(state(instance(vm_state=vm_state))) == A


def moving(name="i1", *moves, **changes):
    return state(instance(name, **changes), migrations=moves)


AWAY = {"host": "cmp2", "node": "cmp2.example.org"}

MIGRATIONS = {
    "s23 outgoing resize": (
        moving("i1", migration(), **resized(task_state="resize_migrating", flavor=FLAVOR_B, flavor_id=2), **AWAY),
        A,
    ),
    "s24 incoming resize": (
        moving("i1", migration(**INCOMING), **resized(task_state="resize_prep"), **AWAY),
        B,
    ),
    "s25 incoming in error, matching context": (
        moving(
            "i1",
            migration(status="error", **INCOMING),
            **resized(task_state="resize_prep", migration_context_id=1),
            **AWAY,
        ),
        B,
    ),
    "s26 incoming evacuation": (
        moving("i1", migration(kind="evacuation", **INCOMING), flavor=FLAVOR_B, task_state="rebuilding", **AWAY),
        B,
    ),
    "s27 same host, already on B": (
        state(
            instance("i1", **resized(task_state="resize_finish", flavor=FLAVOR_B, flavor_id=2)),
            instance("i2"),
            migrations=(migration(source_host="cmp1", dest_host="cmp1", dest_node=NODE),),
        ),
        (512, 4, 7),
    ),
    "s28 same host, still on A": (
        moving("i1", migration(dest_host="cmp1", dest_node=NODE), **resized(task_state="resize_prep")),
        (384, 3, 6),
    ),
    "s29 finished, awaiting confirm, source here": (
        moving("i1", migration(status="finished"), **resized(vm_state="resized", flavor=FLAVOR_B, flavor_id=2), **AWAY),
        A,
    ),
    "s32 outgoing, old flavor gone": (
        moving(
            "i1",
            migration(status="finished"),
            **resized(vm_state="resized", old_flavor=None, flavor=FLAVOR_B, flavor_id=2),
            **AWAY,
        ),
        (0, 0, 0),
    ),
    "s33 no task": (moving("i1", migration(**INCOMING), **resized(), **AWAY), (0, 0, 0)),
    "s35 live migration to us": (
        moving("i1", migration(kind="live-migration", **INCOMING), task_state="migrating", **AWAY),
        A,
    ),
    "s36 vm in error": (
        moving("i1", migration(kind="live-migration", **INCOMING), task_state="migrating", vm_state="error", **AWAY),
        (0, 0, 0),
    ),
    "s38 context of another migration": (
        moving("i1", migration(**INCOMING), **resized(task_state="resize_prep", migration_context_id=2), **AWAY),
        (0, 0, 0),
    ),
    "s39 instance row gone": (state(migrations=(migration(**INCOMING),)), (0, 0, 0)),
    "s40 deleted but readable": (
        moving("i1", migration(**INCOMING), **resized(task_state="resize_prep", deleted=True), **AWAY),
        B,
    ),
    "outgoing live migration still running": (
        moving("i1", migration(kind="live-migration"), task_state="migrating"),
        A,
    ),
}


@pytest.mark.parametrize(("world", "expected"), MIGRATIONS.values(), ids=MIGRATIONS.keys())
def test_a_migration_decides_which_flavor_is_counted(world, expected):
    """A resize migration counts with the old flavor on the source and with the new flavor on the destination."""
    assert promised(world) == expected


@pytest.mark.parametrize("status", ["confirmed", "reverted", "failed", "completed", "cancelled", "done"])
def test_s30_an_ended_incoming_migration_adds_no_usage(status):
    """A migration to this host was cancelled, for example, and its instance is still on another host."""
    world = moving("i1", migration(status=status, **INCOMING), **resized(task_state="resize_prep"), **AWAY)
    assert promised(world) == (0, 0, 0)


@pytest.mark.parametrize("status", ["accepted", "pre-migrating", "migrating", "post-migrating", "finished", "error"])
def test_an_unfinished_incoming_resize_adds_the_new_flavor(status):
    """The agent counts the new flavor for an instance that is being resized onto this host."""
    world = moving("i1", migration(status=status, **INCOMING), **resized(task_state="resize_prep"), **AWAY)
    assert promised(world) == B


@pytest.mark.parametrize(
    "task",
    [
        "resize_prep",
        "resize_migrating",
        "resize_migrated",
        "resize_finish",
        "rebuilding",
        "rebuild_block_device_mapping",
        "rebuild_spawning",
    ],
)
def test_s34_an_incoming_resize_of_a_stopped_instance_counts(task):
    """While a stopped instance is resized to this host, the agent counts the new flavor as used here."""
    world = moving("i1", migration(**INCOMING), **resized(task_state=task, vm_state="stopped"), **AWAY)
    assert promised(world) == B


def test_s37_only_the_newest_migration_decides_the_usage():
    """An instance has two unfinished migrations to this host; the agent counts the flavor of the newer one."""
    earlier, later = NOW, NOW + datetime.timedelta(hours=1)
    first = migration(1, updated_at=later, **INCOMING)
    second = migration(2, kind="live-migration", updated_at=earlier, **INCOMING)
    changes = resized(task_state="resize_prep", flavor=FLAVOR_A)
    assert promised(moving("i1", first, second, **changes, **AWAY)) == B
    newer = dataclasses.replace(second, updated_at=later + datetime.timedelta(hours=1))
    assert promised(moving("i1", first, newer, **changes, **AWAY)) == A


def test_s38_a_migration_with_a_wrong_context_is_stuck():
    """A migration is stuck if the migration context of its instance belongs to another migration."""
    world = moving("i1", migration(**INCOMING), **resized(task_state="resize_prep", migration_context_id=2), **AWAY)
    (stuck,) = occupied(world, NODE, frozenset()).stuck
    assert (stuck.migration_uuid, stuck.instance_uuid) == (uuid("migration-1"), uuid("i1"))


def test_usage_is_counted_for_the_consumer_with_the_allocation():
    """During a live migration, either the instance or the migration has the allocation and the usage."""
    world = moving("i1", migration(kind="live-migration"), task_state="migrating")
    (by_instance,) = occupied(world, NODE, frozenset({uuid("i1")})).occupancies
    (by_migration,) = occupied(world, NODE, frozenset({uuid("migration-1")})).occupancies
    assert (by_instance.consumer_uuid, by_instance.consumer_kind) == (uuid("i1"), "instance")
    assert (by_migration.consumer_uuid, by_migration.consumer_kind) == (uuid("migration-1"), "migration")


def test_the_old_flavor_of_a_resize_belongs_to_the_migration():
    """In a resize on one host, the agent counts the old flavor for the migration and the new one for the instance."""
    world = moving("i1", migration(dest_host="cmp1", dest_node=NODE), **resized(task_state="resize_prep"))
    taken = occupied(world, NODE, frozenset({uuid("i1"), uuid("migration-1")})).occupancies
    assert {(o.cause, o.flavor.name, o.consumer_uuid) for o in taken} == {
        (Cause.INSTANCE, "A", uuid("migration-1")),
        (Cause.RESIZE_HERE, "B", uuid("i1")),
    }


@pytest.mark.parametrize(
    ("specs", "expected"),
    [
        ((("hw:cpu_policy", "dedicated"),), {"PCPU": 2}),
        ((("hw:cpu_policy", "dedicated"), ("hw:emulator_threads_policy", "isolate")), {"PCPU": 3}),
        ((("hw:cpu_policy", "mixed"), ("hw:cpu_dedicated_mask", "0")), {"PCPU": 1, "VCPU": 1}),
        ((("resources:VCPU", "0"), ("resources:CUSTOM_X", "1")), {}),
        ((), {"VCPU": 2}),
    ],
)
def test_flavor_extra_specs_decide_between_vcpu_and_pcpu(specs, expected):
    """For example hw:cpu_policy = dedicated gives PCPU, and mixed gives both classes."""
    world = state(instance(flavor=dataclasses.replace(FLAVOR_B, extra_specs=specs)))
    taken = occupied(world, NODE, frozenset())
    ledger = Ledger.of(
        c for r in BUILTIN for c in r.promised(taken.occupancies, settings(cpu_dedicated_set=(0, 1, 2, 3)))
    )
    assert {c.resource_class: c.amount for c in ledger.claims if "CPU" in c.resource_class} == expected


def test_a_same_host_migration_is_counted_once():
    """A migration has this host as its source and destination; the agent counts its instance only once."""
    here = migration(kind="migration", dest_host="cmp1", dest_node=NODE, new_type_id=1)
    assert promised(moving("i1", here, task_state="resize_prep")) == A


def test_dedicated_cpus_count_as_vcpu_without_a_dedicated_set():
    """If the host has no cpu_dedicated_set, the agent counts a flavor with hw:cpu_policy = dedicated as VCPU."""
    world = state(instance(flavor=dataclasses.replace(FLAVOR_B, extra_specs=(("hw:cpu_policy", "dedicated"),))))
    taken = occupied(world, NODE, frozenset())
    ledger = Ledger.of(c for r in BUILTIN for c in r.promised(taken.occupancies, settings()))
    assert {c.resource_class: c.amount for c in ledger.claims if "CPU" in c.resource_class} == {"VCPU": 2}
