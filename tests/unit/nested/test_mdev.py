"""Mediated devices: what each card offers of its type, and when the card's provider is removed."""

from __future__ import annotations

import dataclasses

import pytest

from agent.model.host.devices import OddDevice
from agent.model.placement import Inventory
from agent.model.plan import DeleteProvider
from agent.model.snapshot import LIBVIRT
from agent.nested.mdev import MediatedDevices, place_of
from tests.rigs.facts import NODE, ROOT_UUID, decided, host, inventory, root, settings, snapshot, uuid
from tests.rigs.nested import (
    AT_06,
    AT_07,
    CARDS,
    GPU_06,
    GPU_07,
    below,
    card,
    child,
    mdev_type,
    mdevs,
    on,
    standing,
    totals,
    tree_of,
    with_devices,
)

ONE_TYPE = settings(mdev_types=(mdev_type("nvidia-11"),))
TWO_TYPES = settings(mdev_types=(mdev_type("nvidia-11", AT_06), mdev_type("nvidia-12", AT_07)))
CAPPED = settings(mdev_types=(mdev_type("nvidia-11", AT_06, max_instances=2), mdev_type("nvidia-12", AT_07)))


def test_s100_a_card_offers_existing_and_creatable_vgpus():
    """A card's VGPU total is its existing mediated devices (mdevs) plus those that the card can still create."""
    tree = tree_of(snapshot(libvirt=CARDS), ONE_TYPE)
    children = below(tree)
    assert {name: found.inventories for name, found in children.items()} == {
        GPU_06: (Inventory(resource_class="VGPU", total=16, reserved=0, min_unit=1, max_unit=16, step_size=1),),
        GPU_07: (Inventory(resource_class="VGPU", total=8, reserved=0, min_unit=1, max_unit=8, step_size=1),),
    }
    assert children[GPU_06].name == f"{NODE}_pci_0000_06_00_0"
    assert {found.parent_uuid for found in children.values()} == {ROOT_UUID}
    assert {found.traits_wanted for found in children.values()} == {frozenset({"CUSTOM_OWNER_STOCKTAKE"})}
    assert tree.obsolete == ()
    assert tree.root.inventory("VGPU") is None


def test_s101_a_card_offers_only_its_configured_mdev_type():
    """The VGPU total of each card counts only mediated devices of the type that [mdev_TYPE] configures for the card."""
    assert totals(tree_of(snapshot(libvirt=CARDS), TWO_TYPES)) == {GPU_06: {"VGPU": 16}, GPU_07: {"VGPU": 10}}


@pytest.mark.parametrize("there", [False, True])
def test_s102_a_card_above_max_instances_has_no_provider(there):
    """If a card offers more vGPUs than max_instances of its mdev type allows, the agent removes the card's provider."""
    old = child(GPU_06, inventory("VGPU", 16))
    tree = tree_of(snapshot(libvirt=CARDS, placement=standing(*(old,) if there else ())), CAPPED)
    assert totals(tree) == {GPU_07: {"VGPU": 10}}
    assert tree.obsolete == ((old.uuid,) if there else ())


def test_s94_a_card_without_vgpu_capacity_has_no_provider():
    tree = tree_of(snapshot(libvirt=with_devices(card(GPU_06, nvidia_11=0))), ONE_TYPE)
    assert totals(tree) == {}


TOTALS = {
    "both find room below the cap": (
        [mdev_type("nvidia-11", max_instances=24)],
        {GPU_06: {"VGPU": 16}, GPU_07: {"VGPU": 8}},
    ),
    # nova-compute takes the devices in the order of libvirt's hash table; the agent takes them by name.
    "the second one does not": ([mdev_type("nvidia-11", max_instances=23)], {GPU_06: {"VGPU": 16}}),
    "a class of its own, by address": (
        [mdev_type("nvidia-11", AT_06, resource_class="CUSTOM_BIG"), mdev_type("nvidia-12")],
        {GPU_06: {"CUSTOM_BIG": 16}, GPU_07: {"VGPU": 10}},
    ),
    "the default type is VGPU whatever its class": (
        [mdev_type("nvidia-11", resource_class="CUSTOM_BIG")],
        {GPU_06: {"VGPU": 16}, GPU_07: {"VGPU": 8}},
    ),
    "only the first type without addresses counts": (
        [mdev_type("nvidia-12"), mdev_type("nvidia-11")],
        {GPU_06: {"VGPU": 9}, GPU_07: {"VGPU": 10}},
    ),
    "no default: an unbound card is not ours": ([mdev_type("nvidia-11", AT_06)], {GPU_06: {"VGPU": 16}}),
    "an address in capitals": ([mdev_type("nvidia-11", AT_06.upper())], {GPU_06: {"VGPU": 16}}),
    "a type that no card has": ([mdev_type("nvidia-99")], {}),
}


@pytest.mark.parametrize(("types", "expected"), TOTALS.values(), ids=TOTALS.keys())
def test_the_configured_mdev_types_decide_the_inventories(types, expected):
    """The [mdev_TYPE] sections decide how many mediated devices (mdevs) each card offers in Placement."""
    assert totals(tree_of(snapshot(libvirt=CARDS), settings(mdev_types=tuple(types)))) == expected


def test_a_full_vgpu_card_offers_its_existing_mdevs():
    """If a card can create no more mediated devices, its VGPU total is the number of its existing devices."""
    made = with_devices(made=mdevs(GPU_06, "nvidia-11", 3))
    assert totals(tree_of(snapshot(libvirt=made), ONE_TYPE)) == {GPU_06: {"VGPU": 3}}


def test_an_mdev_card_outside_pci_must_be_configured():
    """An mdev card outside the PCI bus gets a provider only if [mdev_TYPE] device_addresses contains its name."""
    made = with_devices(card("mtty_mtty", mtty_2=24), card("css_0_0_0042", vfio_ccw_io=1))
    default = settings(mdev_types=(mdev_type("mtty-2"),))
    assert totals(tree_of(snapshot(libvirt=made), default)) == {}
    bound = settings(mdev_types=(mdev_type("mtty-2", "mtty_mtty", resource_class="CUSTOM_TTY"),))
    assert totals(tree_of(snapshot(libvirt=made), bound)) == {"mtty_mtty": {"CUSTOM_TTY": 24}}


LEFT_ALONE = {
    "the card vanished from the listing": (with_devices(card(GPU_07, nvidia_11=7)), ONE_TYPE),
    "the card offers another type only": (with_devices(card(GPU_06, nvidia_12=7)), ONE_TYPE),
    "mediated devices were switched off": (CARDS, settings()),
    "the card cannot be read": (with_devices(odd=(OddDevice(name=GPU_06, reason="no <capability>"),)), ONE_TYPE),
    "it has devices, and it cannot be read": (
        with_devices(made=mdevs(GPU_06, "nvidia-11"), odd=(OddDevice(name=GPU_06, reason="?"),)),
        ONE_TYPE,
    ),
    # The unreadable card's share of the cap is unknown, so the agent cannot know that this card exceeds it.
    "its cap is shared with one that cannot be read": (
        with_devices(card(GPU_06, nvidia_11=15), odd=(OddDevice(name=GPU_07, reason="?"),)),
        settings(mdev_types=(mdev_type("nvidia-11", max_instances=2),)),
    ),
}


@pytest.mark.parametrize(("libvirt", "chosen"), LEFT_ALONE.values(), ids=LEFT_ALONE.keys())
def test_the_provider_of_a_missing_or_unreadable_card_is_kept(libvirt, chosen):
    """The agent does not delete the provider of a vGPU card that libvirt no longer lists or cannot describe."""
    old = child(GPU_06, inventory("VGPU", 4), traits=frozenset())
    tree = tree_of(snapshot(libvirt=libvirt, placement=standing(old)), chosen)
    assert GPU_06 not in below(tree)
    assert old.uuid not in tree.obsolete


UNKNOWN = {
    "devices were not listed": (
        host(devices_unknown_because="libvirt did not answer"),
        (),
        "libvirt could not list the devices: libvirt did not answer",
    ),
    "a mediated device that cannot be read": (
        dataclasses.replace(
            CARDS, devices=dataclasses.replace(CARDS.devices, odd=(OddDevice(name="mdev_x", reason="?"),))
        ),
        (),
        "the agent cannot read these mediated devices: mdev_x",
    ),
    "libvirt was not read": (CARDS, (LIBVIRT,), "libvirt could not be read"),
}


@pytest.mark.parametrize(("libvirt", "lost", "why"), UNKNOWN.values(), ids=UNKNOWN.keys())
def test_mdev_providers_are_kept_if_devices_are_unreadable(libvirt, lost, why):
    """If the host's devices cannot be read, the agent leaves mdev providers unchanged and reports the reason."""
    old = child(GPU_06, inventory("VGPU", 4))
    world = snapshot(libvirt=libvirt, placement=standing(old), lost=lost)
    tree = tree_of(world, ONE_TYPE)
    assert totals(tree) == {}
    assert tree.obsolete == ()
    assert ("mdev", why) in {(family.name, family.why) for family in tree.frozen_families}
    assert ("mdev providers", why) in {(held.what, held.why) for held in decided(world, ONE_TYPE).plan.held_back}


def test_new_classes_of_a_vgpu_card_do_not_replace_its_provider():
    """If the resource classes of a vGPU card change, the agent keeps the card's existing provider."""
    old = child(GPU_06, inventory("CUSTOM_OLD", 4), inventory("VGPU", 1))
    tree = tree_of(snapshot(libvirt=CARDS, placement=standing(old)), ONE_TYPE)
    found = below(tree)[GPU_06]
    assert found.uuid == old.uuid
    assert found.owned_classes == {"VGPU", "CUSTOM_OLD"}


def test_an_obsolete_mdev_provider_in_use_is_not_deleted():
    """The agent does not delete an obsolete mdev provider while it has VGPU allocations."""
    old = child(GPU_06, inventory("VGPU", 16))
    world = snapshot(libvirt=CARDS, placement=standing(old, held=(on(old.uuid, "i1", "VGPU", 1),)))
    plan = decided(world, CAPPED).plan
    assert not [write for write in plan.writes if isinstance(write, DeleteProvider)]
    why = "the provider must be deleted, but has allocations of VGPU"
    assert (old.uuid, why) in {(h.provider_uuid, h.why) for h in plan.held_back}


def test_s106_vgpus_in_use_stay_on_the_root_provider():
    """While the root provider has VGPU allocations, cards get no child providers. The agent reports a finding."""
    world = snapshot(
        libvirt=CARDS,
        placement=standing(held=(on(ROOT_UUID, "i1", "VGPU", 1),), inventories=(inventory("VGPU", 16),)),
    )
    decision = decided(world, ONE_TYPE)
    assert totals(decision.tree) == {}
    assert "the root provider still has allocations of VGPU (reshape-needed)" in {
        family.why for family in decision.tree.frozen_families
    }
    assert [f.resource_class for f in decision.findings if f.code == "reshape-needed"] == ["VGPU"]
    put = next(w for w in decision.plan.writes if w.provider_uuid == ROOT_UUID and hasattr(w, "inventories"))
    assert {i.resource_class for i in put.inventories} >= {"VGPU", "VCPU", "MEMORY_MB", "DISK_GB"}, "the root goes out"


def test_unused_vgpus_move_from_the_root_to_child_providers():
    """If nobody uses the root provider's VGPU inventory, the agent moves it to the child providers of the cards."""
    world = snapshot(libvirt=CARDS, placement=standing(inventories=(inventory("VGPU", 16),)))
    decision = decided(world, ONE_TYPE)
    put = next(w for w in decision.plan.writes if w.provider_uuid == ROOT_UUID and hasattr(w, "inventories"))
    assert "VGPU" not in {i.resource_class for i in put.inventories}
    assert totals(decision.tree) == {GPU_06: {"VGPU": 16}, GPU_07: {"VGPU": 8}}


def test_vgpus_stay_on_the_root_if_no_mdev_type_is_enabled():
    """Without a configured mdev type, the agent does not remove VGPU inventory from the root provider."""
    world = snapshot(libvirt=CARDS, placement=standing(inventories=(inventory("VGPU", 16),)))
    assert "VGPU" not in tree_of(world, settings()).root.owned_classes


PLACES = {
    "pci_0000_84_00_0": "0000:84:00.0",
    "pci_10000_e1_00_7": "10000:e1:00.7",
    "mtty_mtty": "mtty_mtty",
    "pci_0000_84_00": "pci_0000_84_00",
}


@pytest.mark.parametrize(("name", "place"), PLACES.items())
def test_the_pci_address_is_read_from_the_device_name(name, place):
    """The device name pci_0000_84_00_0 contains the address 0000:84:00.0. A name without an address stays unchanged."""
    assert place_of(name) == place


def test_mdev_providers_need_a_readable_libvirt():
    """If libvirt cannot be read, the agent adds and removes no provider of mediated devices."""
    family, blind = MediatedDevices(), snapshot(lost=[LIBVIRT])
    assert family.needs(ONE_TYPE) == {LIBVIRT}
    assert family.obstacle(blind, ONE_TYPE) is None
    assert family.providers(blind, ONE_TYPE) == ()
    assert family.withdrawn(blind, ONE_TYPE) == frozenset()


def test_a_child_provider_without_the_node_name_is_kept():
    """The agent keeps a child provider if its name does not begin with the compute node's name."""
    other = dataclasses.replace(child(GPU_06), name=f"other_{GPU_06}", uuid=uuid("other"))
    tree = tree_of(snapshot(libvirt=CARDS, placement=standing(other)), CAPPED)
    assert tree.obsolete == ()
    assert root().uuid not in {found.uuid for found in below(tree).values()}
