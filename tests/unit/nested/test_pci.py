"""The providers of PCI devices: what each offers, what stays while it is in use, and what is removed."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.audit.decide import decide
from agent.model.compared import Subject
from agent.model.host.devices import OddDevice, PciKind
from agent.model.placement import Inventory
from agent.model.plan import CreateProvider, DeleteProvider, PutInventories, PutTraits
from agent.model.provider_config import ProviderEntry
from agent.model.snapshot import LIBVIRT
from agent.provider_tree.desired import child_uuid
from tests.rigs.facts import NODE, ROOT_UUID, decided, host, inventory, root, snapshot, uuid, view, without
from tests.rigs.pci import MANAGED, NEW_ENOUGH, OURS, child, device, functions, held, pci_settings, tree, world

GPU, PF, VFS = "0000:81:00.0", "0000:82:00.0", functions("0000:82:00.0", 4)
T4, VF_CLASS = "CUSTOM_PCI_10DE_1EB8", "CUSTOM_PCI_8086_1515"
ALL_T4 = pci_settings({"vendor_id": "10de", "product_id": "1eb8"})
ALL_VFS = pci_settings({"product_id": "1515"})


def provider(decision, address: str):
    """Return the wanted provider of that device, or None."""
    name = f"{NODE}_{address.upper()}"
    return next((p for p in decision.tree.providers if p.name == name), None)


def pci_providers(decision) -> dict[str, dict[str, int]]:
    """Return the totals by class of each wanted device provider."""
    return {
        p.name.removeprefix(f"{NODE}_"): {i.resource_class: i.total for i in p.inventories}
        for p in decision.tree.providers
        if p.key.kind == "pci"
    }


def names_of_devices(decision) -> list[str]:
    return [p.name for p in decision.tree.providers if p.key.kind == "pci"]


def writes(decision, address: str) -> list:
    """Return the plan's writes to the existing provider of that device."""
    return [w for w in decision.plan.writes if getattr(w, "provider_uuid", None) == uuid(f"child-{address}")]


def test_s116_all_vfs_of_a_pf_share_one_pci_provider():
    """All virtual functions (VFs) of a physical function (PF) share a provider. Other PCI devices have their own."""
    chosen = pci_settings(
        {"vendor_id": "10de", "traits": "HW_GPU_API_VULKAN,CUSTOM_GPU,purple"},
        {"address": "0000:81:02.0", "product_id": "1563", "one_time_use": True},
        {"address": "0000:81:03.0", "product_id": "1515"},
    )
    devices = (
        device("0000:81:00.0"),
        device("0000:81:01.0"),
        *functions("0000:81:02.0", 2),
        *functions("0000:81:03.0", 2),
    )
    decision = decided(world(*devices), chosen)
    assert pci_providers(decision) == {
        "0000:81:00.0": {T4: 1},
        "0000:81:01.0": {T4: 1},
        "0000:81:02.0": {"CUSTOM_PCI_8086_1563": 1},
        "0000:81:03.0": {VF_CLASS: 2},
    }
    traits = {p.name.removeprefix(f"{NODE}_"): p.traits_wanted for p in decision.tree.providers[1:]}
    gpu = {"HW_GPU_API_VULKAN", "CUSTOM_GPU", "CUSTOM_PURPLE", MANAGED, OURS}
    assert traits == {
        "0000:81:00.0": gpu,
        "0000:81:01.0": gpu,
        "0000:81:02.0": {"HW_PCI_ONE_TIME_USE", MANAGED, OURS},
        "0000:81:03.0": {MANAGED, OURS},
    }


def test_a_new_pci_device_gets_a_provider_below_the_root():
    """The agent creates a provider below the root for a new PCI device that [pci] device_spec selects."""
    decision = decided(world(device("0000:81:0a.0")), ALL_T4)
    made = provider(decision, "0000:81:0a.0")
    assert made.name == f"{NODE}_0000:81:0A.0", "the address is in upper case"
    assert (made.parent_uuid, made.uuid) == (ROOT_UUID, child_uuid(ROOT_UUID, made.key))
    assert [w for w in decision.plan.writes if getattr(w, "provider_uuid", None) == made.uuid] == [
        CreateProvider(provider_uuid=made.uuid, name=made.name, parent_uuid=ROOT_UUID),
        PutInventories(provider_uuid=made.uuid, inventories=(Inventory(resource_class=T4, total=1, max_unit=1),)),
        PutTraits(provider_uuid=made.uuid, traits=(MANAGED, OURS)),
    ]


def test_an_unchanged_pci_device_causes_no_write():
    """If Placement already shows a PCI device as it is, the agent sends no write for the device's provider."""
    there = tree(child(GPU, inventory(T4, 1)), child(PF, inventory(VF_CLASS, 4)))
    chosen = pci_settings({"vendor_id": "10de"}, {"product_id": "1515"})
    decision = decided(world(device(GPU), *VFS, placement=there), chosen)
    assert writes(decision, GPU) == writes(decision, PF) == []
    assert pci_providers(decision) == {GPU: {T4: 1}, PF: {VF_CLASS: 4}}


def test_s121_a_device_with_a_physical_network_is_not_published():
    """If device_spec gives a PCI device a named physical_network, the device gets no provider in Placement."""
    chosen = pci_settings({"product_id": "1515", "physical_network": "net1"}, {"vendor_id": "10de"})
    assert pci_providers(decided(world(device(GPU), *VFS), chosen)) == {GPU: {T4: 1}}
    # null is a network without a name (tunnelled): nova-compute reports such a device.
    chosen = pci_settings({"product_id": "1515", "physical_network": None})
    assert pci_providers(decided(world(*VFS), chosen)) == {PF: {VF_CLASS: 4}}


def test_s122_an_unselected_unused_device_loses_its_provider():
    """If [pci] device_spec no longer selects an unused device, the agent deletes the device's provider."""
    there = tree(child(GPU, inventory(T4, 1)))
    decision = decided(world(device(GPU), placement=there), pci_settings())
    assert writes(decision, GPU) == [DeleteProvider(provider_uuid=uuid(f"child-{GPU}"))]


def test_s123_a_used_pci_device_outside_device_spec_is_kept():
    """If [pci] device_spec no longer selects a device with allocations, the agent keeps the device's provider."""
    there = tree(child(GPU, inventory(T4, 1), traits=frozenset({MANAGED, OURS, "CUSTOM_X"})))
    used = dataclasses.replace(there, allocations=(held(GPU, T4),))
    decision = decided(world(device(GPU), placement=used), pci_settings())
    assert (pci_providers(decision), writes(decision, GPU)) == ({GPU: {T4: 1}}, [])
    assert decision.tree.obsolete == (), "it is kept, not held back from going"
    freed = decided(world(device(GPU), placement=there), pci_settings())
    assert writes(freed, GPU) == [DeleteProvider(provider_uuid=uuid(f"child-{GPU}"))]


def test_s123_the_total_of_unselected_vfs_is_the_used_amount():
    """If device_spec no longer selects virtual functions, their provider's total falls to the used amount."""
    there = tree(child(PF, inventory(VF_CLASS, 4, reserved=2)), allocations=(held(PF, VF_CLASS),))
    decision = decided(world(*VFS, placement=there), pci_settings())
    assert writes(decision, PF) == [
        PutInventories(provider_uuid=uuid(f"child-{PF}"), inventories=(inventory(VF_CLASS, 1, max_unit=1, reserved=1),))
    ]


def test_s123_a_pci_total_is_at_least_the_allocated_amount():
    """If device_spec selects one virtual function and three are allocated, the total of their provider is three."""
    allocations = (held(PF, VF_CLASS, 2), held(PF, VF_CLASS, 1, consumer="i2"))
    there = tree(child(PF, inventory(VF_CLASS, 4)), allocations=allocations)
    left = pci_settings({"address": VFS[1].address})
    assert pci_providers(decided(world(*VFS, placement=there), left)) == {PF: {VF_CLASS: 3}}


def test_s124_pci_devices_are_not_published_by_default():
    """Without [pci] report_in_placement, the agent publishes no PCI devices and reports no findings about them."""
    chosen = pci_settings({"vendor_id": "10de"}, report=False)
    decision = decided(world(device(GPU)), chosen)
    assert pci_providers(decision) == {}
    assert not [f.code for f in decision.findings if f.code.startswith("pci-")]


def test_s124_pci_providers_stay_while_reporting_is_disabled():
    """If [pci] report_in_placement is turned off, the agent leaves existing providers of PCI devices unchanged."""
    there = tree(child(GPU, inventory(T4, 1)))
    decision = decided(world(placement=there), pci_settings(report=False))
    assert (pci_providers(decision), writes(decision, GPU)) == ({}, [])


ONCE = pci_settings({"vendor_id": "10de", "one_time_use": "true"})
ONCE_TRAITS = frozenset({MANAGED, OURS, "HW_PCI_ONE_TIME_USE"})


@pytest.mark.parametrize(
    ("before", "allocations", "reserved"),
    [(0, (), 0), (0, (held(GPU, T4),), 1), (1, (held(GPU, T4),), 1), (1, (), 1)],
    ids=["free", "allocated", "allocated and reserved", "freed"],
)
def test_s127_a_one_time_use_device_is_reserved_once_allocated(before, allocations, reserved):
    """After the first allocation of a one_time_use device, the agent keeps the device reserved in Placement."""
    there = child(GPU, inventory(T4, 1, reserved=before), traits=ONCE_TRAITS)
    decision = decided(world(device(GPU), placement=tree(there, allocations=allocations)), ONCE)
    assert provider(decision, GPU).inventories == (inventory(T4, 1, reserved=reserved),)
    assert len(writes(decision, GPU)) == (before != reserved)


def test_s127_a_device_stays_reserved_if_its_class_changes():
    """A used-up one_time_use device stays reserved in Placement if its resource class changes."""
    there = child(GPU, inventory("CUSTOM_OLD", 1, reserved=1), traits=ONCE_TRAITS)
    decision = decided(world(device(GPU), placement=tree(there)), ONCE)
    assert provider(decision, GPU).inventories == (inventory(T4, 1, reserved=1),)


def test_an_operators_reserved_value_of_a_pci_device_is_kept():
    """The agent keeps the reserved value of a PCI provider. If the total falls below this value, reserved falls too."""
    there = tree(child(PF, inventory(VF_CLASS, 4, reserved=3)))
    assert writes(decided(world(*VFS, placement=there), ALL_VFS), PF) == []
    fewer = decided(world(*VFS[:3], placement=there), ALL_VFS)
    assert provider(fewer, PF).inventories == (inventory(VF_CLASS, 2, reserved=2),)


def test_changed_settings_of_a_pci_inventory_are_reset():
    """If allocation_ratio, min_unit and step_size of a PCI inventory are not 1, the agent sets these fields to 1."""
    odd = inventory(VF_CLASS, 4, allocation_ratio=2.0, min_unit=2, step_size=2)
    decision = decided(world(*VFS, placement=tree(child(PF, odd))), ALL_VFS)
    assert provider(decision, PF).inventories == (
        Inventory(resource_class=VF_CLASS, total=4, max_unit=4, min_unit=1, step_size=1, allocation_ratio=1.0),
    )


def test_s128_an_allocated_pf_is_not_changed_for_its_vf():
    """If device_spec selects a VF of an allocated physical function (PF), the PF's provider stays unchanged."""
    there = tree(child(PF, inventory("CUSTOM_PCI_8086_1563", 1)), allocations=(held(PF, "CUSTOM_PCI_8086_1563"),))
    chosen = pci_settings({"address": VFS[1].address}, {"vendor_id": "10de"})
    decision = decided(world(*VFS, device(GPU), placement=there), chosen)
    assert writes(decision, PF) == []
    assert pci_providers(decision) == {GPU: {T4: 1}}, "everything else goes out"
    (found,) = [f for f in decision.findings if f.code == "pci-spec-conflict"]
    assert "provider has allocations of CUSTOM_PCI_8086_1563, but" in found.actual


def test_s128b_an_allocated_pci_device_keeps_its_provider():
    """If device_spec does not select an allocated device, the agent leaves the device's provider unchanged."""
    there = tree(child(GPU, inventory(T4, 1)), allocations=(held(GPU, T4, consumer="gone"),))
    assert writes(decided(world(device(GPU), placement=there), pci_settings()), GPU) == []


def test_s128c_a_vanished_allocated_device_keeps_its_provider():
    """If libvirt no longer lists an allocated PCI device, the agent leaves the device's provider unchanged."""
    there = tree(child(GPU, inventory(T4, 1)), allocations=(held(GPU, T4),))
    decision = decided(world(placement=there), ALL_T4)
    assert (pci_providers(decision), writes(decision, GPU)) == ({GPU: {T4: 1}}, [])


def test_a_takeover_replaces_the_traits_of_a_pci_provider():
    """When the agent takes over from nova-compute, it replaces the traits of PCI providers, such as OWNER_NOVA."""
    theirs = child(GPU, inventory(T4, 1), traits=frozenset({MANAGED, "OWNER_NOVA", "CUSTOM_OLD"}))
    rooted = root(traits=frozenset({"COMPUTE_NODE", "OWNER_NOVA"}))
    there = view(providers=(rooted, theirs))
    decision = decided(world(device(GPU), placement=there), dataclasses.replace(ALL_T4, takeover=True))
    assert writes(decision, GPU) == [PutTraits(provider_uuid=theirs.uuid, traits=(MANAGED, OURS))]


def test_device_spec_decides_the_traits_of_a_pci_provider():
    """Traits of a [pci] device_spec entry replace the traits that a device's provider had before."""
    there = tree(
        child(GPU, inventory(T4, 1), traits=frozenset({MANAGED, OURS, "CUSTOM_OLD", "HW_PCI_LIVE_MIGRATABLE"}))
    )
    decision = decided(world(device(GPU), placement=there), pci_settings({"vendor_id": "10de", "traits": "new"}))
    assert writes(decision, GPU) == [
        PutTraits(provider_uuid=uuid(f"child-{GPU}"), traits=(MANAGED, "CUSTOM_NEW", OURS))
    ]


UNKNOWN = {
    "libvirt did not answer": (without(world(), LIBVIRT), "libvirt could not be read"),
    "devices not listed": (
        snapshot(libvirt=host(devices=None, devices_unknown_because="no answer within 5 s")),
        "libvirt could not list the devices: no answer within 5 s",
    ),
    "a device that cannot be read": (
        world(odd=(OddDevice(name="pci_0000_81_00_0", reason="no product"),)),
        "the agent cannot read these PCI devices: pci_0000_81_00_0",
    ),
}


@pytest.mark.parametrize(("facts", "why"), UNKNOWN.values(), ids=UNKNOWN.keys())
def test_pci_providers_are_kept_if_devices_are_unreadable(facts, why):
    """If the host's PCI devices cannot be read, the agent leaves PCI providers unchanged and reports the reason."""
    there = tree(child(GPU, inventory(T4, 1)))
    facts = dataclasses.replace(facts, placement=snapshot(placement=there).placement)
    decision = decided(facts, ALL_T4)
    assert (pci_providers(decision), writes(decision, GPU)) == ({}, [])
    assert ("pci providers", why) in [(h.what, h.why) for h in decision.plan.held_back]
    assert not [f.code for f in decision.findings if f.code.startswith("pci-")]


def test_an_unreadable_mdev_stops_no_pci_update():
    """If a mediated device (mdev) is unreadable, the agent still updates the providers of PCI devices."""
    decision = decided(world(device(GPU), odd=(OddDevice(name="mdev_x", reason="no type"),)), ALL_T4)
    assert pci_providers(decision) == {GPU: {T4: 1}}


@pytest.mark.parametrize(("length", "told"), [(187, True), (188, False)])
def test_a_too_long_pci_provider_name_stops_all_pci_updates(length, told):
    """If the name of a new PCI provider has more than 200 characters, the agent updates no PCI provider."""
    node = "n" * length
    facts = host(**NEW_ENOUGH, hostname=node, devices=world(device(GPU)).host.value.devices)
    facts = snapshot(libvirt=facts, placement=view(provider=root(name=node)))
    decision = decide(facts, ALL_T4, Subject(root_uuid=ROOT_UUID, node=node), None)
    assert [len(name) for name in names_of_devices(decision)] == ([200] if told else [])
    assert ("pci" in {f.name for f in decision.tree.frozen_families}) is not told


def test_a_child_without_the_pci_trait_stays_unchanged():
    """The agent does not change a child provider that lacks the trait COMPUTE_MANAGED_PCI_DEVICE."""
    other = child("0000:99:00.0", inventory("CUSTOM_Y", 1), traits=frozenset({OURS}))
    decision = decided(world(device(GPU), placement=tree(other)), ALL_T4)
    assert writes(decision, "0000:99:00.0") == []


CONFLICTS = {
    "s120 a function and its virtual ones": (VFS, [{"vendor_id": "8086"}]),
    "s120 another class": (VFS, [{"address": VFS[1].address, "resource_class": "x"}, {"product_id": "1515"}]),
    "s120 other traits": (VFS, [{"address": VFS[1].address, "traits": "x"}, {"product_id": "1515"}]),
    "one_time_use on a virtual function": (VFS, [{"product_id": "1515", "one_time_use": "false"}]),
    "remote_managed on a physical function": (VFS, [{"address": PF, "remote_managed": "true"}]),
}


@pytest.mark.parametrize(("devices", "entries"), CONFLICTS.values(), ids=CONFLICTS.keys())
def test_a_device_spec_conflict_affects_only_one_provider(devices, entries):
    """If device_spec entries contradict each other, the agent reports a finding and updates all other providers."""
    there = tree(child(PF, inventory(VF_CLASS, 2)))
    decision = decided(world(*devices, device(GPU), placement=there), pci_settings(*entries, {"vendor_id": "10de"}))
    assert pci_providers(decision) == {GPU: {T4: 1}}
    assert writes(decision, PF) == []
    (found,) = [f for f in decision.findings if f.code == "pci-spec-conflict"]
    assert dict(found.facts)["device_provider_uuid"] == uuid(f"child-{PF}")


def test_a_vf_of_an_unknown_pf_stops_some_pci_updates():
    """If the physical function (PF) of a VF is unknown, providers that may contain the VF stay unchanged."""
    lonely = dataclasses.replace(VFS[1], parent_address=None)
    gone, other = child("0000:99:00.0", inventory("CUSTOM_Y", 1)), child(PF, inventory(VF_CLASS, 4))
    chosen = pci_settings({"product_id": "1515"}, {"vendor_id": "10de"})
    decision = decided(world(VFS[0], lonely, *VFS[2:], device(GPU), placement=tree(other, gone)), chosen)
    assert pci_providers(decision) == {GPU: {T4: 1}}
    assert writes(decision, PF) == writes(decision, "0000:99:00.0") == []


@pytest.mark.parametrize(
    ("versions", "offered"),
    [
        ({"libvirt_version": 10_000_000, "hypervisor_version": 8_002_002}, True),
        ({"libvirt_version": 9_010_000, "hypervisor_version": 8_002_002}, False),
        ({"libvirt_version": 10_000_000, "hypervisor_version": 8_002_001}, False),
    ],
)
def test_live_migratable_needs_a_new_libvirt_and_qemu(versions, offered):
    """A PCI device with live_migratable = yes gets a provider only if libvirt and QEMU are new enough."""
    chosen = pci_settings({"vendor_id": "10de", "live_migratable": "yes"})
    decision = decided(world(device(GPU), **versions), chosen)
    assert (GPU in pci_providers(decision)) is offered
    if offered:
        assert "HW_PCI_LIVE_MIGRATABLE" in provider(decision, GPU).traits_wanted


@pytest.mark.parametrize("there", [tree(), tree(child(GPU, inventory(T4, 1)))], ids=["new", "there"])
def test_an_unknown_qemu_version_stops_some_pci_updates(there):
    """While QEMU's version is unknown, the agent updates no provider of a device with live_migratable = yes."""
    chosen = pci_settings({"vendor_id": "10de", "live_migratable": "yes"}, {"product_id": "1515"})
    decision = decided(world(device(GPU), *VFS, hypervisor_version=0, placement=there), chosen)
    assert pci_providers(decision) == {PF: {VF_CLASS: 4}}, "the rest goes out"
    assert (writes(decision, GPU), decision.tree.obsolete) == ([], ())
    assert decision.tree.left_alone == {p.uuid for p in there.providers[1:]}


def test_live_migratable_false_needs_no_minimum_version():
    """With live_migratable = false in [pci] device_spec, any version of libvirt will do."""
    chosen = pci_settings({"vendor_id": "10de", "live_migratable": False})
    for versions in ({"libvirt_version": 9_000_000}, {"hypervisor_version": 0}, {"hypervisor_version": 7_000_000}):
        made = provider(decided(world(device(GPU), **versions), chosen), GPU)
        assert made.traits_wanted == {MANAGED, OURS}


SPENT = child(GPU, inventory(T4, 1, reserved=1), traits=ONCE_TRAITS)


@pytest.mark.parametrize("chosen", [ONCE, pci_settings()], ids=["not listed", "not named"])
def test_a_used_up_one_time_use_device_stays_reserved(chosen):
    """If a used-up one_time_use device disappears and returns, the device is still reserved in Placement."""
    decision = decided(world(placement=tree(SPENT)), chosen)
    assert (writes(decision, GPU), decision.tree.obsolete, pci_providers(decision)) == ([], (), {})
    back = decided(world(device(GPU), placement=tree(SPENT)), ONCE)
    assert provider(back, GPU).inventories == (inventory(T4, 1, reserved=1),)


def test_the_provider_of_a_lost_unused_device_is_deleted():
    """If libvirt no longer lists an unused device with one_time_use, the agent deletes the device's provider."""
    there = child(GPU, inventory(T4, 1), traits=ONCE_TRAITS)
    decision = decided(world(placement=tree(there)), ONCE)
    assert writes(decision, GPU) == [DeleteProvider(provider_uuid=there.uuid)]


def test_a_lost_one_time_use_device_becomes_reserved():
    """If an allocated one_time_use device disappears, the agent reserves the device in Placement."""
    there = tree(child(GPU, inventory(T4, 1), traits=ONCE_TRAITS), allocations=(held(GPU, T4),))
    decision = decided(world(placement=there), ONCE)
    assert provider(decision, GPU).inventories == (inventory(T4, 1, reserved=1),)


LICENSE = inventory("CUSTOM_LICENSE", 5, reserved=5)
LICENSED = ProviderEntry(origin="a.yaml:4", uuid=child(GPU).uuid, inventories=(LICENSE,))


def licensed(there, *allocations, devices=(), **tags):
    """Return the decision on that child when a provider.yaml file adds a class to its provider."""
    chosen = pci_settings({"vendor_id": "10de", **tags}, provider_entries=(LICENSED,))
    return decided(world(*devices, placement=tree(there, allocations=allocations)), chosen)


def test_allocations_of_a_provider_yaml_class_use_no_device():
    """Allocations of a resource class from provider.yaml do not count as use of the PCI device."""
    there = child(GPU, LICENSE, inventory(T4, 1))
    used = licensed(there, held(GPU, "CUSTOM_LICENSE", 3), devices=(device(GPU),))
    assert (writes(used, GPU), pci_providers(used)) == ([], {GPU: {"CUSTOM_LICENSE": 5, T4: 1}})
    assert not [f.code for f in used.findings if f.code in ("pci-device-lost", "pci-spec-conflict")]
    once = dataclasses.replace(there, traits=ONCE_TRAITS)
    unused = licensed(once, held(GPU, "CUSTOM_LICENSE", 3), devices=(device(GPU),), one_time_use=True)
    assert provider(unused, GPU).inventory(T4).reserved == 0


def test_a_used_class_from_provider_yaml_is_kept():
    """A PCI provider keeps a used resource class from provider.yaml, even if the PCI device is gone."""
    gone = licensed(child(GPU, LICENSE, inventory(T4, 1)), held(GPU, "CUSTOM_LICENSE", 3))
    assert writes(gone, GPU) == [PutInventories(provider_uuid=child(GPU).uuid, inventories=(LICENSE,))]
    assert gone.tree.obsolete == ()
    assert [f.code for f in gone.findings if f.code.startswith("provider-config")] == []
    spent = licensed(
        dataclasses.replace(SPENT, inventories=(LICENSE, *SPENT.inventories)), held(GPU, LICENSE.resource_class)
    )
    assert writes(spent, GPU) == []


COUNTS = st.integers(0, 6)


@given(offered=COUNTS, matching=COUNTS, allocated=COUNTS, reserved=COUNTS)
def test_a_pci_total_is_never_below_the_allocated_amount(offered, matching, allocated, reserved):
    """For any number of devices, the total of a PCI provider is at least the allocated and the reserved amount."""
    there = child(PF, inventory(VF_CLASS, offered, reserved=min(reserved, offered))) if offered else child(PF)
    allocations = (held(PF, VF_CLASS, allocated),) if allocated and offered else ()
    facts = world(*functions(PF, matching), placement=tree(there, allocations=allocations))
    decision = decided(facts, ALL_VFS)
    wanted = provider(decision, PF)
    if wanted is None:
        assert (matching, allocations) == (0, ())
        assert writes(decision, PF) == [DeleteProvider(provider_uuid=there.uuid)]
        return
    (made,) = wanted.inventories
    assert made.total == made.max_unit == max(matching, allocated if allocations else 0)
    assert 0 <= made.reserved <= made.total


@given(st.permutations((device(GPU), *VFS, device("0000:83:00.0", PciKind.PF, "8086:1563"))))
def test_the_order_of_pci_devices_does_not_matter(devices):
    """The agent computes the same provider tree in whatever order libvirt lists the PCI devices."""
    chosen = pci_settings({"vendor_id": "10de"}, {"product_id": "1515"}, {"address": "0000:83:00.0"})
    tree_of = decided(world(*devices), chosen).tree
    assert tree_of == decided(world(device(GPU), *VFS, device("0000:83:00.0", PciKind.PF, "8086:1563")), chosen).tree
