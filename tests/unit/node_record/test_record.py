"""The compute node record: when the agent creates, updates or keeps it (scenarios 59 to 67, 98)."""

from __future__ import annotations

import dataclasses
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.model.host.devices import Devices
from agent.model.nova import PciRow, StateKind
from agent.model.plan import CreateComputeNode, SaveComputeNode
from agent.model.settings import RatioPolicy, Role
from agent.model.snapshot import FILESYSTEM, LIBVIRT, PLACEMENT, STATE
from agent.node_record.record import record_note
from tests.rigs.facts import (
    FLAVOR_A,
    FLAVOR_B,
    HOST,
    NODE,
    ROOT_UUID,
    failed,
    findings,
    instance,
    inventory,
    node,
    root,
    settings,
    snapshot,
    uuid,
    view,
    without,
)
from tests.rigs.pci import device, pci_settings
from tests.rigs.records import about, conductor, created, decision, seen_long_ago, stored, with_record


def world_of(record, *instances, **facts):
    return snapshot(nova=with_record(record, *instances), libvirt=about(**facts))


def saved(world, chosen=None):
    """Return (changed fields, record) of the one save, or None."""
    writes = decision(world, chosen).plan.records
    assert all(isinstance(write, SaveComputeNode) for write in writes)
    return (writes[0].changed, writes[0].record) if writes else None


def test_s59_a_missing_node_record_is_created():
    """If nova has no compute node record for the host, the agent creates one with the initial allocation ratios."""
    (write,) = decision(snapshot(nova=conductor(), libvirt=about())).plan.records
    assert isinstance(write, CreateComputeNode)
    made = write.record
    assert (made.id, made.uuid, made.host, made.hypervisor_hostname) == (None, ROOT_UUID, HOST, NODE)
    assert made.service_id == 3
    assert (made.cpu_ratio, made.memory_ratio, made.disk_ratio) == (4.0, 1.0, 1.0)
    assert (made.vcpus, made.memory_mib, made.local_gib) == (4, 512, 6)
    assert json.loads(made.cpu_info)["model"] == "EPYC"
    assert (made.hypervisor_type, made.hypervisor_version) == ("QEMU", 7002000)


def test_s1_the_node_record_of_an_empty_host_has_zero_usage():
    made = created()
    assert (made.vcpus_used, made.memory_mib_used, made.local_gib_used) == (0, 0, 0)
    assert (made.free_ram_mib, made.free_disk_gib) == (512, 6)
    assert (made.running_vms, made.current_workload) == (0, 0)


def test_a_new_compute_node_record_contains_the_used_amounts():
    """The host has two instances.

    The agent creates the host's compute node record in nova's database. The record contains the VCPUs, memory and disk
    that the two instances use together.
    """
    made = created(None, instance("a", flavor=FLAVOR_A), instance("b", flavor=FLAVOR_B, task_state="resize_prep"))
    assert (made.vcpus_used, made.memory_mib_used, made.local_gib_used) == (3, 384, 6)
    assert (made.running_vms, made.current_workload) == (2, 1)
    assert dict(made.stats)["num_instances"] == "2"


def test_s60_the_agent_recreates_a_soft_deleted_node_record():
    """The agent recreates the host's compute node record if the record is soft-deleted."""
    gone = node(7, deleted=True)
    (write,) = decision(snapshot(nova=conductor(nodes=(gone,)), libvirt=about())).plan.records
    assert isinstance(write, CreateComputeNode)
    assert write.record.uuid == ROOT_UUID


def test_s61_nothing_is_written_if_another_host_has_the_uuid():
    """If another host's compute node record has the UUID of this host's provider, the agent writes nothing."""
    theirs = dataclasses.replace(stored(), host="cmp2")
    world = world_of(theirs)
    plan = decision(world).plan
    assert plan.is_empty
    assert [held.what for held in plan.held_back] == ["everything"]
    (found,) = findings(world, "identity-changed")
    assert found.actual == f"compute node row 1 has uuid {ROOT_UUID} and belongs to host cmp2"


def test_s62_a_compute_node_with_another_uuid_stays_unchanged():
    """If nova's compute node has another UUID than the host's provider, the agent does not change the node."""
    other = node(7, uuid=uuid("other"))
    world = snapshot(nova=conductor(nodes=(other,)), libvirt=about(), placement=view(provider=root()))
    plan = decision(world).plan
    assert plan.records == ()
    assert plan.writes != ()
    assert [h.why for h in plan.held_back if h.what == "compute node record"] == [
        f"compute_nodes row 7 has this host and node name, but another uuid: {uuid('other')}"
    ]
    (found,) = findings(world, "identity-changed")
    assert uuid("other") in found.actual


def test_a_partly_read_node_record_is_not_created_again():
    """If nova's compute node record could not be read completely, the agent creates no second record."""
    plan = decision(snapshot(nova=conductor(nodes=(node(7),)), libvirt=about())).plan
    assert plan.records == ()
    assert [h.why for h in plan.held_back] == [
        "compute_nodes row 7, which has this provider's uuid, could not be read completely"
    ]


@pytest.mark.parametrize("before", [None, 7])
def test_s64_a_wrong_service_id_in_the_node_record_is_corrected(before):
    changed, record = saved(world_of(stored(service_id=before)))
    assert (changed, record.service_id) == (("service_id",), 3)


def test_the_service_id_stays_if_the_service_is_missing():
    """If nova has no service row for the host, the agent leaves service_id in the compute node record as it is."""
    world = snapshot(nova=with_record(stored(), service=None), libvirt=about())
    assert decision(world).plan.records == ()


def test_s65_a_new_uptime_alone_does_not_update_the_node_record():
    first = stored()
    assert saved(world_of(first)) is None
    assert saved(world_of(first, uptime_s=90.0, load=(1.0, 0.5, 0.2))) is None


def test_s65_a_new_uptime_is_written_with_another_change():
    """The agent writes the host's uptime into the compute node record only when another value has changed."""
    record = stored(stats=(("failed_builds", "3"), ("uptime", "old")))
    changed, now = saved(world_of(record, instance(), uptime_s=90.0, load=(1.0, 0.5, 0.2)))
    assert "stats" in changed
    assert "load average: 1.00, 0.50, 0.20" in dict(now.stats)["uptime"]


def test_s18_an_updated_node_record_keeps_failed_builds():
    """When the agent updates the compute node record, the value failed_builds in its stats stays."""
    record = stored(stats=(("failed_builds", "3"), ("uptime", None)))
    assert saved(world_of(record)) is None
    _changed, now = saved(world_of(record, instance()))
    assert dict(now.stats)["failed_builds"] == "3"


@pytest.mark.parametrize(
    ("configured", "before", "after"),
    [(None, 3.0, 3.0), (2.0, 3.0, 2.0), (0.0, 3.0, 3.0), (None, None, 16.1), (None, 0.0, 16.1), (2.0, 0.0, 2.0)],
)
@pytest.mark.parametrize("name", ["cpu", "memory", "disk"])
def test_s67_a_configured_ratio_replaces_the_recorded_ratio(name, configured, before, after):
    """An allocation ratio above 0 in nova.conf replaces the ratio in the compute node record."""
    field = f"{name}_ratio"
    chosen = settings(**{field: RatioPolicy(configured=configured, initial=16.1)})
    found = saved(world_of(stored(**{field: before})), chosen)
    if before == after:
        assert found is None
    else:
        assert (found[0], getattr(found[1], field)) == ((field,), after)


def test_s98_a_new_node_record_has_the_initial_ratios():
    """If cpu_allocation_ratio is not set, a new compute node record gets initial_cpu_allocation_ratio."""
    chosen = settings(
        cpu_ratio=RatioPolicy(configured=None, initial=16.1),
        memory_ratio=RatioPolicy(configured=None, initial=1.6),
        disk_ratio=RatioPolicy(configured=None, initial=1.1),
    )
    made = created(chosen)
    assert (made.cpu_ratio, made.memory_ratio, made.disk_ratio) == (16.1, 1.6, 1.1)


def test_a_node_record_update_contains_only_changed_fields():
    changed, record = saved(world_of(stored(), instance("a")))
    assert set(changed) == {
        *("vcpus_used", "memory_mib_used", "local_gib_used", "free_ram_mib", "free_disk_gib", "running_vms", "stats"),
    }
    assert (record.id, record.memory_mib_used) == (1, 128)


def test_s72_a_wrong_compute_id_of_an_instance_is_ignored():
    """If an instance has a wrong compute_id in nova's database, the agent neither changes nor reports this."""
    for compute_id in (None, 99):
        world = world_of(dataclasses.replace(stored(), memory_mib=1), instance(compute_id=compute_id))
        decided = decision(world)
        assert not [w for w in decided.plan.records if not isinstance(w, SaveComputeNode)]
        assert not [f for f in decided.findings if "compute_id" in f.actual or "compute_id" in f.expected]


GUESTS = st.lists(
    st.builds(
        lambda number, flavor, vm_state, task: instance(number, flavor=flavor, vm_state=vm_state, task_state=task),
        st.integers(0, 20),
        st.sampled_from([FLAVOR_A, FLAVOR_B, None]),
        st.sampled_from(["active", "building", "stopped", "shelved_offloaded", "error"]),
        st.sampled_from([None, "spawning", "rebuilding", "resize_migrating"]),
    ),
    max_size=5,
    unique_by=lambda each: each.uuid,
)


@given(GUESTS, GUESTS)
def test_the_same_instances_cause_no_second_record_write(before, after):
    """If the instances stay the same, the next audit does not write the compute node record again."""
    record = stored(memory_mib=1)
    for guests in (before, after, after):
        found = saved(world_of(record, *guests))
        record = found[1] if found else record
    assert saved(world_of(record, *after)) is None
    assert saved(world_of(record, *reversed(after))) is None


def pci_world(*rows, unreadable=()):
    """Return a host with two devices to assign, and the cloud's rows of these devices."""
    devices = Devices(pci=(device("0000:81:00.0"), device("0000:81:00.1")))
    state = with_record(stored(memory_mib=1), instance(), pci_devices=rows, unreadable=unreadable)
    return snapshot(nova=state, libvirt=about(devices=devices))


def pci_row(owner):
    return PciRow(
        id=1,
        compute_node_id=1,
        address="0000:81:00.0",
        vendor_id="10de",
        product_id="1eb8",
        kind="type-PCI",
        status="claimed",
        instance_uuid=owner,
    )


@pytest.mark.parametrize(("owner", "free"), [(uuid("i1"), 1), (uuid("gone"), 2), (None, 2)])
def test_a_device_claimed_by_an_instance_here_is_not_free(owner, free):
    """A PCI device that nova gave to an instance of this host is not free, even if libvirt shows it in no guest."""
    _changed, record = saved(pci_world(pci_row(owner)), pci_settings({"vendor_id": "10de"}))
    pools = json.loads(record.pci_pools)["nova_object.data"]["objects"]
    assert sum(pool["nova_object.data"]["count"] for pool in pools) == free


def test_pci_pools_stay_unchanged_if_a_device_row_is_unreadable():
    """If a row of nova's table pci_devices is unreadable, the compute node's PCI pools stay unchanged."""
    changed, record = saved(pci_world(unreadable=("pci_devices id 7",)), pci_settings({"vendor_id": "10de"}))
    assert "pci_pools" not in changed
    assert record.pci_pools == stored().pci_pools


# Unknown columns ------------------------------------------------------------------------------------------------------


def test_columns_from_an_unreadable_source_stay_unchanged():
    """If the file system is unreadable, for example, the agent leaves local_gb in the compute node record as it is."""
    old = stored(
        memory_mib=1, cpu_info='{"model": "old"}', hypervisor_version=1, local_gib=77, numa_topology='{"cells": []}'
    )
    changed, now = saved(without(world_of(old, capabilities=None), FILESYSTEM))
    assert set(changed) == {"memory_mib"}
    assert (now.cpu_info, now.hypervisor_version, now.local_gib) == (old.cpu_info, 1, 77)


def test_usage_is_not_written_while_an_instance_is_unreadable():
    """While nova's data of one instance is unreadable, the agent leaves the used amounts in the record as they are."""
    broken = instance("broken", flavor=None, problem="flavor does not parse")
    changed, now = saved(world_of(stored(memory_mib_used=9999, memory_mib=1), instance("a"), broken))
    assert changed == ("memory_mib",)
    assert now.memory_mib_used == 9999


def test_a_node_record_is_created_only_with_all_values_known():
    """While libvirt has not reported its capabilities, for example, the agent creates no compute node record."""
    plan = decision(snapshot(nova=conductor(), libvirt=about(capabilities=None))).plan
    assert plan.records == ()
    (held,) = [h for h in plan.held_back if h.what == "compute node record"]
    assert "cpu_info" in held.why
    assert "libvirt has not reported its capabilities yet" in held.why


@pytest.mark.parametrize("lost", [PLACEMENT, STATE, LIBVIRT])
def test_a_node_record_needs_placement_nova_and_libvirt(lost):
    """If Placement, nova's database or libvirt is unreadable, the agent writes no compute node record."""
    assert decision(without(world_of(stored(memory_mib=1)), lost)).plan.records == ()


# Records that the agent must not write --------------------------------------------------------------------------------

NOT_OURS = {
    "companion": settings(role=Role.COMPANION),
    "observer": settings(role=Role.OBSERVER),
}


@pytest.mark.parametrize("chosen", NOT_OURS.values(), ids=NOT_OURS)
def test_companion_and_observer_write_no_node_record(chosen):
    """In role companion (beside nova-compute) or observer (read-only), the agent writes no compute node record."""
    assert decision(world_of(stored(memory_mib=1)), chosen).plan.records == ()


@pytest.mark.parametrize("kind", [StateKind.SQL, StateKind.NONE])
def test_node_records_are_written_only_through_nova_conductor(kind):
    """If the agent reads nova's database by SQL or not at all, it writes no compute node record."""
    world = snapshot(nova=conductor(kind=kind), libvirt=about())
    plan = decision(world).plan
    assert plan.records == ()
    assert not [h for h in plan.held_back if "record" in h.what]


def test_nothing_is_written_while_nova_compute_still_runs():
    """An agent in role owner, which replaces nova-compute, writes nothing while nova-compute is still up."""
    alive = seen_long_ago(last_seen_up=conductor().now)
    world = snapshot(nova=with_record(stored(memory_mib=1), service=alive), libvirt=about())
    plan = decision(world).plan
    assert plan.is_empty
    assert [h.what for h in plan.held_back] == ["everything"]


def test_nothing_is_written_if_another_provider_has_the_name():
    """If a provider in Placement has this node's name but another UUID, the agent writes nothing."""
    world = snapshot(
        nova=conductor(),
        libvirt=about(),
        placement=view(providers=(), name_holder=root(inventory("VCPU", 1), uuid=uuid("holder"))),
    )
    assert decision(world).plan.is_empty


@pytest.mark.parametrize(
    ("role", "kind", "said"),
    [
        (Role.OWNER, StateKind.SQL, "writes the compute node record only with [state] source = conductor"),
        (Role.OWNER, StateKind.CONDUCTOR, "written through nova-conductor"),
        (Role.OWNER, StateKind.NONE, "there is no compute node record"),
        (Role.COMPANION, StateKind.CONDUCTOR, "not written in role companion"),
    ],
)
def test_a_note_says_whether_the_node_record_is_written(role, kind, said):
    """The agent's note on the compute node record tells the operator whether the agent writes this record."""
    assert said in record_note(settings(role=role), conductor(kind=kind))


def test_the_note_on_the_node_record_says_if_nova_is_unreadable():
    """The agent's note on the compute node record tells the operator if nova's database cannot be read."""
    assert "while the cloud's state cannot be read" in record_note(settings(), failed(STATE).value)
