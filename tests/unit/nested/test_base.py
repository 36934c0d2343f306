"""How the agent finds its own children among the tree's providers, and the rules that all families share."""

from __future__ import annotations

import dataclasses

import pytest

from agent.model.placement import ROOT, ProviderKey
from agent.model.snapshot import LIBVIRT, PLACEMENT
from agent.nested import BUILTIN
from agent.nested.base import child_of, children, still_on_root
from agent.nested.mdev import MediatedDevices
from agent.provider_tree.desired import child_uuid
from agent.traits.memory_encryption import models
from tests.rigs import pci
from tests.rigs.facts import NODE, ROOT_UUID, host, inventory, root, settings, snapshot, uuid, view
from tests.rigs.nested import CARDS, GPU_06, GPU_07, below, child, mdev_type, on, standing, tree_of

ONE_TYPE = settings(mdev_types=(mdev_type("nvidia-11"),))


def test_child_providers_are_found_by_their_name():
    """The agent treats a provider below the root as a child only if its name begins with the node's name and "_"."""
    mine, grandchild = child(GPU_06), dataclasses.replace(child(GPU_07), parent_uuid=uuid(GPU_06))
    others = (
        dataclasses.replace(child("x"), uuid=uuid("other"), name="other_x"),
        dataclasses.replace(child("y"), uuid=uuid("near"), name=f"{NODE}2_y"),
    )
    found = children(standing(mine, grandchild, *others), NODE)
    assert {name: provider.uuid for name, provider in found.items()} == {GPU_06: mine.uuid, GPU_07: grandchild.uuid}


def test_the_root_provider_is_never_a_child_provider():
    """Even if the root provider has a name like that of a child provider, the agent does not treat it as a child."""
    odd = view(provider=root(name=f"{NODE}_{GPU_06}"))
    assert children(odd, NODE) == {}
    assert children(None, NODE) == {}


def test_a_gpus_child_provider_is_found_by_the_device_name():
    """The agent finds the child provider of a GPU by the name of the GPU's device."""
    world = snapshot(placement=standing(child(GPU_06)))
    assert child_of(world, ProviderKey("mdev", GPU_06)) == child(GPU_06)
    assert child_of(world, ProviderKey("mdev", GPU_07)) is None
    assert child_of(snapshot(placement=view(providers=())), ProviderKey("mdev", GPU_06)) is None
    assert child_of(snapshot(lost=[PLACEMENT]), ProviderKey("mdev", GPU_06)) is None


KINDS = tuple(model.name for model in models(host(), settings()))


def test_child_providers_are_kept_if_libvirt_is_unreadable():
    """If libvirt is unreadable, the agent neither changes nor deletes its child providers."""
    device = pci.child("0000:81:0a.0", name=f"{NODE}_0000:81:0A.0")
    of_nova = pci.child("0000:82:00.0", name=f"{NODE}_renamed", traits=frozenset({pci.MANAGED}))
    ours = (child(GPU_06), child("mtty_mtty"), device, of_nova, *(child(kind) for kind in KINDS))
    facts = snapshot(placement=standing(*ours, child("cyborg"), child("mtty_other")), lost=[LIBVIRT])
    types = (mdev_type("nvidia-11"), mdev_type("mtty-1", "mtty_mtty"))
    chosen = pci.pci_settings({"vendor_id": "10de"}, mdev_types=types)
    assert tree_of(facts, chosen).left_alone == {provider.uuid for provider in ours}
    assert tree_of(facts, settings()).left_alone == {uuid(kind) for kind in KINDS}, "the others are turned off"


LEFT = {
    "in use on the root": (
        standing(held=(on(ROOT_UUID, "i1", "VGPU", 1),), inventories=(inventory("VGPU", 2),)),
        ("VGPU",),
    ),
    "offered there, and nobody uses it": (standing(inventories=(inventory("VGPU", 2),)), ()),
    # Placement itself lets no allocation outlive its inventory; the agent does not move such an allocation.
    "used, and not offered there": (standing(held=(on(ROOT_UUID, "i1", "VGPU", 1),)), ()),
    "used on a child": (
        standing(
            child(GPU_06, inventory("VGPU", 2)),
            held=(on(uuid(GPU_06), "i1", "VGPU", 1),),
            inventories=(inventory("VGPU", 2),),
        ),
        (),
    ),
    "no root yet": (view(providers=()), ()),
}


@pytest.mark.parametrize(("placement", "expected"), LEFT.values(), ids=LEFT.keys())
def test_vgpu_stays_on_the_root_only_while_it_is_in_use(placement, expected):
    """VGPU stays on the root provider only while the root has both inventory and allocations of VGPU."""
    assert still_on_root(MediatedDevices(), snapshot(placement=placement)) == expected


def test_the_uuid_of_a_new_child_provider_is_stable_and_unique():
    """A new child provider's uuid depends only on the root provider's uuid and the child's kind and name."""
    keys = [ProviderKey(kind, name) for kind in ("mdev", "pci") for name in (GPU_06, GPU_07)]
    first = [child_uuid(ROOT_UUID, key) for key in keys]
    assert len(set(first)) == len(first)
    assert first == [child_uuid(ROOT_UUID, key) for key in keys]
    assert child_uuid(uuid("another root"), keys[0]) not in first
    made = below(tree_of(snapshot(libvirt=CARDS), ONE_TYPE))
    assert made[GPU_06].uuid == child_uuid(ROOT_UUID, ProviderKey("mdev", GPU_06))


def test_child_provider_modules_have_different_names():
    """All modules for child providers, such as mdev and pci, have different names."""
    assert len({family.name for family in BUILTIN}) == len(BUILTIN)
    moved = [name for family in BUILTIN for name in family.root_classes]
    assert len(set(moved)) == len(moved)


@pytest.mark.parametrize("family", BUILTIN, ids=lambda family: family.name)
def test_child_provider_modules_leave_the_root_alone(family):
    """A module for child providers, such as mdev or pci, never publishes or removes the root provider."""
    world = snapshot(libvirt=CARDS)
    keys = {one.key for one in family.providers(world, ONE_TYPE)} | family.withdrawn(world, ONE_TYPE)
    assert ROOT not in keys
    assert {key.kind for key in keys} <= {family.name}
