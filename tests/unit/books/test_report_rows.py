"""Rows that the commands and the report print: among others scenarios 1 to 4, 16, 74, 75 and 91."""

from __future__ import annotations

import dataclasses

from agent.books.report_rows import evacuation_notes, inventory_rows, provider_places, trait_rows
from agent.model.placement import Provider
from agent.model.report import EvacuationNote, ProviderPlace, Verdict
from agent.model.snapshot import LIBVIRT, LVM, PLACEMENT, STATE
from tests.rigs.facts import (
    FLAVOR_A,
    FLAVOR_B,
    NODE,
    ROOT_UUID,
    allocations,
    decided,
    group,
    instance,
    inventory,
    lvm_settings,
    migration,
    root,
    service,
    settings,
    settled_world,
    snapshot,
    state,
    uuid,
    view,
    volume,
    without,
)

I1 = uuid("i1")


def ledger(world, chosen=None):
    return decided(world, chosen).ledger


def test_the_ledger_lists_a_consumer_once_per_resource_class():
    """Each row of the ledger has a consumer's amounts of one class in nova, libvirt and Placement."""
    rows = ledger(snapshot(**settled_world()))
    assert [(r.consumer_uuid, r.resource_class, r.promised, r.held, r.recorded, r.verdict) for r in rows] == [
        (I1, "DISK_GB", 1, None, 1, Verdict.AGREED),
        (I1, "MEMORY_MB", 128, 128, 128, Verdict.AGREED),
        (I1, "VCPU", 1, 1, 1, Verdict.AGREED),
    ]
    assert {(r.consumer_kind, r.consumer_name, r.cause, r.provider, r.provider_uuid) for r in rows} == {
        ("instance", "i1", "instance", NODE, ROOT_UUID)
    }
    assert rows[2].source == f"nova instances {I1}, libvirt domain {I1}, placement allocations {I1}"


def test_the_first_ledger_rows_show_the_hosts_reserve():
    """The ledger of the host's amounts begins with reserved_host_disk_mb and reserved_host_cpus."""
    chosen = lvm_settings(reserved_host_cpus=2, reserved_host_disk_mib=1025)
    rows = ledger(snapshot(lvm=group(20, volume("x", 2.5))), chosen)
    assert [(r.consumer_key, r.consumer_kind, r.cause, r.resource_class, r.held, r.verdict) for r in rows] == [
        ("reserved_host_disk_mb", "host", "host-reserved", "DISK_GB", 2, Verdict.RESERVED),
        ("reserved_host_cpus", "host", "host-reserved", "VCPU", 2, Verdict.RESERVED),
        ("vg0/x", "volume", "foreign-volume", "DISK_GB", 3, Verdict.UNMANAGED),
    ]
    assert rows[0].source == "config [DEFAULT] reserved_host_disk_mb"
    assert (rows[2].size_bytes, rows[2].consumer_uuid) == (2684354560, None)


def test_a_same_host_resize_has_one_ledger_row_per_class():
    """During a resize on one host, each row shows the sum of the old and the new flavor."""
    nova = state(
        instance(task_state="resize_prep", old_flavor=FLAVOR_A, new_flavor=FLAVOR_B),
        migrations=(migration(dest_host="cmp1", dest_node=NODE),),
    )
    rows = ledger(snapshot(**settled_world(nova=nova)))
    assert {(r.resource_class, r.promised, r.cause) for r in rows} == {
        ("DISK_GB", 6, "instance+resize-here"),
        ("MEMORY_MB", 384, "instance+resize-here"),
        ("VCPU", 3, "instance+resize-here"),
    }


def test_a_child_provider_row_shows_the_provider_name():
    child = root(uuid=uuid("gpu"), name="gpu0", parent_uuid=ROOT_UUID)
    on_child = tuple(dataclasses.replace(a, provider_uuid=uuid("gpu")) for a in allocations(I1, VGPU=1))
    (row,) = ledger(snapshot(placement=view(on_child, providers=(root(), child))))
    assert (row.provider, row.provider_uuid, row.resource_class, row.recorded) == ("gpu0", uuid("gpu"), "VGPU", 1)


def inventories(world, chosen=None):
    rows = inventory_rows(world.placement.value, decided(world, chosen).tree)
    return {(r.wanted or r.recorded).resource_class: r for r in rows}


def test_an_inventory_row_shows_wanted_and_present_values():
    """Each inventory row has the inventory that the agent wants, the one in Placement, and the free amount."""
    held = root(inventory("CUSTOM_X", 7), inventory("PCPU", 2), inventory("VCPU", 9, allocation_ratio=2.0))
    world = snapshot(placement=view(allocations(I1, VCPU=10), provider=held))
    rows = inventories(world, settings(reserved_host_cpus=1))
    vcpu = rows["VCPU"]
    assert vcpu.wanted == inventory("VCPU", 4, reserved=1, allocation_ratio=2.0)
    assert vcpu.recorded == inventory("VCPU", 9, allocation_ratio=2.0)
    assert (vcpu.used, vcpu.free, vcpu.terms) == (10, -4.0, (("reserved_host_cpus", 1),))
    assert (rows["PCPU"].wanted, rows["PCPU"].recorded) == (None, inventory("PCPU", 2))
    assert rows["CUSTOM_X"].wanted == rows["CUSTOM_X"].recorded == inventory("CUSTOM_X", 7)
    assert (rows["MEMORY_MB"].wanted, rows["MEMORY_MB"].recorded) == (inventory("MEMORY_MB", 512), None)


def test_no_inventory_change_is_wanted_without_libvirt():
    """If libvirt was not read, the wanted inventory is the one that Placement already has."""
    held = inventory("VCPU", 9, allocation_ratio=2.0)
    rows = inventories(snapshot(placement=view(provider=root(held)), lost=[LIBVIRT]))
    assert rows["VCPU"].wanted == rows["VCPU"].recorded == held


def test_used_and_free_amounts_are_unknown_without_placement():
    """If Placement cannot be read, the inventory rows show no used and no free amounts."""
    rows = inventories(snapshot(lost=[PLACEMENT]))
    assert {(r.recorded, r.used, r.free) for r in rows.values()} == {(None, None, None)}
    assert set(rows) == {"DISK_GB", "MEMORY_MB", "VCPU"}


def test_a_provider_row_shows_the_parent_in_placement():
    child = Provider(uuid=I1, name="child", parent_uuid=ROOT_UUID, generation=1)
    held = view(provider=root(inventory("VCPU", 4)))
    world = snapshot(placement=dataclasses.replace(held, providers=(*held.providers, child)))
    places = provider_places(world.placement.value, decided(world).tree)
    assert set(places) == {ProviderPlace(NODE, ROOT_UUID, None), ProviderPlace("child", I1, ROOT_UUID)}


def test_the_planned_provider_is_listed_without_placement():
    """If Placement cannot be read, the report still lists the provider that the agent wants for this host."""
    (place,) = provider_places(None, decided(snapshot(lost=[PLACEMENT])).tree)
    assert (place.uuid, place.parent_uuid) == (ROOT_UUID, None)


def test_the_trait_table_shows_which_traits_the_agent_manages():
    """The trait table shows COMPUTE_NODE as managed by the agent and CUSTOM_X as managed by the operator."""
    traits = frozenset({"COMPUTE_NODE", "CUSTOM_X", "COMPUTE_STATUS_DISABLED"})
    world = snapshot(placement=view(provider=root(traits=traits)), nova=state(service=service()))
    rows = trait_rows(world.placement.value, decided(world).tree)
    assert {(r.trait, r.wanted, r.recorded, r.owner) for r in rows if r.recorded or r.trait.startswith("CUSTOM_")} == {
        ("COMPUTE_NODE", True, True, "ours"),
        ("COMPUTE_STATUS_DISABLED", False, True, "ours"),
        ("CUSTOM_OWNER_STOCKTAKE", True, False, "ours"),
        ("CUSTOM_X", True, True, "operator"),
    }
    assert {(r.provider, r.provider_uuid) for r in rows} == {(NODE, ROOT_UUID)}


def test_the_report_lists_only_an_instances_newest_evacuation():
    """Nova has two evacuations of one instance; the agent's report lists only the newer one."""
    old = migration(1, kind="evacuation", status="completed")
    new = migration(2, kind="evacuation", status="done")
    lost = migration(3, "i9", kind="evacuation", status="done", uuid=None, dest_host=None)
    nova = state(instance(flavor=FLAVOR_B, host="cmp2"), finished_evacuations=(new, old, lost))
    assert set(evacuation_notes(nova)) == {
        EvacuationNote(
            instance_uuid=I1,
            migration_uuid=uuid("migration-2"),
            status="done",
            vcpus=2,
            memory_mib=256,
            dest_host="cmp2",
        ),
        EvacuationNote(
            instance_uuid=uuid("i9"),
            migration_uuid="3",
            status="done",
            vcpus=None,
            memory_mib=None,
            dest_host="unknown",
        ),
    }
    assert evacuation_notes(None) == ()


def test_every_ledger_row_is_unknown_without_nova():
    """If nova could not be read, each row of the agent's ledger has the verdict unknown."""
    world = without(snapshot(**settled_world()), STATE)
    assert {r.verdict for r in ledger(world)} == {Verdict.UNKNOWN}
    assert {r.promised for r in ledger(world)} == {None}


def test_an_inventory_row_is_undecided_without_its_source():
    """If LVM cannot be read, the agent does not know the right DISK_GB and marks the row as undecided."""
    world = snapshot(placement=view(provider=root(inventory("VCPU", 8), inventory("DISK_GB", 20))), lvm=group(20))
    chosen = lvm_settings()

    def undecided(read):
        rows = inventory_rows(read.placement.value, decided(read, chosen).tree)
        return {shown.resource_class for row in rows if not row.is_decided and (shown := row.wanted or row.recorded)}

    assert undecided(world) == set()
    assert undecided(without(world, LVM)) == {"DISK_GB"}
    assert undecided(without(world, LIBVIRT)) >= {"VCPU"}
    assert [row.is_decided for row in inventory_rows(world.placement.value, None)] == [False, False]
