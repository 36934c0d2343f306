"""The writes that turn one tree into another, and what they leave alone."""

from __future__ import annotations

import dataclasses

import pytest

from agent.model.books import DesiredProvider, DesiredTree, Frozen
from agent.model.placement import ROOT, ProviderKey
from agent.model.plan import (
    CreateProvider,
    DeleteProvider,
    HeldBack,
    MoveProvider,
    PutAggregates,
    PutInventories,
    PutTraits,
)
from agent.provider_tree.diff import diff
from agent.resources import OWNED_CLASSES
from tests.rigs.facts import NODE, ROOT_UUID, allocations, inventory, root, uuid, view

VCPU, MEMORY = inventory("VCPU", 4, allocation_ratio=4.0), inventory("MEMORY_MB", 512)
OPERATORS = inventory("CUSTOM_X", 7)
OURS = frozenset({"COMPUTE_NODE", "CUSTOM_OWNER_STOCKTAKE"})


def wanted(*inventories, **changes):
    plain = DesiredProvider(
        key=ROOT,
        uuid=ROOT_UUID,
        name=NODE,
        parent_uuid=None,
        inventories=inventories,
        owned_classes=OWNED_CLASSES,
        traits_wanted=OURS,
        traits_unwanted=frozenset({"OWNER_NOVA"}),
    )
    return dataclasses.replace(plain, **changes)


def tree(*providers, obsolete=()):
    return DesiredTree(providers=providers, obsolete=obsolete)


def held(*inventories, **changes):
    return view(provider=root(*inventories, **changes))


def put(*inventories):
    return PutInventories(provider_uuid=ROOT_UUID, inventories=inventories)


NOTHING = view(providers=())
INVENTORIES = {
    "s144 nothing changed": (wanted(MEMORY, VCPU), held(VCPU, MEMORY), []),
    "one field differs": (wanted(VCPU), held(dataclasses.replace(VCPU, max_unit=99)), [put(VCPU)]),
    "s145 reserved appeared in Placement": (wanted(VCPU), held(dataclasses.replace(VCPU, reserved=1)), [put(VCPU)]),
    "a class is new": (wanted(MEMORY, VCPU), held(VCPU), [put(MEMORY, VCPU)]),
    "a class of ours is to go": (wanted(VCPU), held(VCPU, inventory("PCPU", 2)), [put(VCPU)]),
    "the operator's class is carried through": (
        wanted(MEMORY, VCPU),
        held(OPERATORS, VCPU),
        [put(OPERATORS, MEMORY, VCPU)],
    ),
    "the operator's class alone is no reason": (wanted(VCPU), held(OPERATORS, VCPU), []),
    "nothing to offer, nothing there": (wanted(), held(), []),
}


@pytest.mark.parametrize(("provider", "observed", "expected"), INVENTORIES.values(), ids=INVENTORIES.keys())
def test_inventories_are_written_only_if_a_class_managed_by_the_agent_changes(provider, observed, expected):
    plan = diff(tree(provider), observed)
    assert list(plan.writes) == expected
    assert plan.generations == (((ROOT_UUID, 7),) if expected else ())


def test_a_resource_class_that_has_allocations_is_not_removed():
    used = inventory("PCPU", 2)
    observed = dataclasses.replace(held(used, VCPU), allocations=allocations(uuid("i1"), PCPU=1))
    plan = diff(tree(wanted(MEMORY, VCPU)), observed)
    assert plan.writes == (put(MEMORY, used, VCPU),)
    why = "the class must be removed, but has allocations"
    assert plan.held_back == (HeldBack(provider_uuid=ROOT_UUID, what="PCPU", why=why),)


def test_the_total_of_a_class_that_has_allocations_may_be_reduced():
    """Placement accepts the smaller total with 200 (measured); over-capacity reports it."""
    observed = dataclasses.replace(held(VCPU), allocations=allocations(uuid("i1"), VCPU=16))
    smaller = dataclasses.replace(VCPU, total=2, max_unit=2)
    assert diff(tree(wanted(smaller)), observed).writes == (put(smaller),)


def test_a_resource_class_is_removed_even_if_a_child_has_allocations_of_it():
    elsewhere = tuple(dataclasses.replace(a, provider_uuid=uuid("child")) for a in allocations(uuid("i1"), PCPU=1))
    observed = dataclasses.replace(held(inventory("PCPU", 2), VCPU), allocations=elsewhere)
    assert diff(tree(wanted(VCPU)), observed).writes == (put(VCPU),)


def test_the_disk_gb_inventory_stays_unchanged_if_lvm_cannot_be_read():
    lvm_down = Frozen(name="DISK_GB", why="lvm could not be read")
    disk = inventory("DISK_GB", 20, reserved=3)
    plan = diff(tree(wanted(MEMORY, frozen=(lvm_down,))), held(disk))
    assert plan.writes == (put(disk, MEMORY),)
    assert plan.held_back == (HeldBack(provider_uuid=ROOT_UUID, what="DISK_GB", why="lvm could not be read"),)


def test_disk_gb_is_not_added_to_placement_while_lvm_cannot_be_read():
    frozen = Frozen(name="DISK_GB", why="lvm could not be read")
    assert diff(tree(wanted(VCPU, frozen=(frozen,))), held(VCPU)).writes == ()


TRAITS = {
    "as wanted": (OURS, None),
    "one is missing": (frozenset({"COMPUTE_NODE"}), OURS),
    "s109 the operator's stays": (OURS | {"CUSTOM_X"}, None),
    "s109 carried through": (frozenset({"CUSTOM_X"}), OURS | {"CUSTOM_X"}),
    "an unwanted one goes": (OURS | {"OWNER_NOVA", "CUSTOM_X"}, OURS | {"CUSTOM_X"}),
}


@pytest.mark.parametrize(("before", "after"), TRAITS.values(), ids=TRAITS.keys())
def test_a_trait_update_keeps_traits_that_the_agent_does_not_manage(before, after):
    plan = diff(tree(wanted(VCPU)), held(VCPU, traits=before))
    expected = () if after is None else (PutTraits(provider_uuid=ROOT_UUID, traits=tuple(sorted(after))),)
    assert plan.writes == expected


def test_a_new_root_provider_is_created_before_its_inventories_and_traits():
    plan = diff(tree(wanted(MEMORY, VCPU)), NOTHING)
    assert plan.writes == (
        CreateProvider(provider_uuid=ROOT_UUID, name=NODE, parent_uuid=None),
        put(MEMORY, VCPU),
        PutTraits(provider_uuid=ROOT_UUID, traits=tuple(sorted(OURS))),
    )
    assert plan.generations == ()


def test_a_root_provider_is_created_only_if_its_name_is_known():
    plan = diff(tree(wanted(VCPU, name="")), NOTHING)
    assert plan.writes == ()
    assert plan.held_back == (HeldBack(provider_uuid=ROOT_UUID, what="create", why="the node's name is not known"),)


def child(name, parent=ROOT_UUID, **changes):
    return wanted(
        inventory("VGPU", 1),
        key=ProviderKey("pci", name),
        uuid=uuid(name),
        name=name,
        parent_uuid=parent,
        owned_classes=frozenset({"VGPU"}),
        **changes,
    )


def test_s157_parent_providers_are_written_first_and_deletions_come_last():
    before = (root(), *(root(uuid=uuid(n), name=n, parent_uuid=ROOT_UUID) for n in ("r", "s")))
    observed = view(providers=before)
    plan = diff(
        tree(wanted(VCPU), child("p"), child("q", uuid("p")), obsolete=(uuid("s"), uuid("r"), uuid("gone"))), observed
    )
    assert [(type(w).__name__, w.provider_uuid) for w in plan.writes] == [
        ("PutInventories", ROOT_UUID),
        ("CreateProvider", uuid("p")),
        ("PutInventories", uuid("p")),
        ("PutTraits", uuid("p")),
        ("CreateProvider", uuid("q")),
        ("PutInventories", uuid("q")),
        ("PutTraits", uuid("q")),
        ("DeleteProvider", uuid("s")),
        ("DeleteProvider", uuid("r")),
    ]
    assert plan.writes[-1] == DeleteProvider(provider_uuid=uuid("r"))
    assert plan.generations == ((ROOT_UUID, 7),)


@pytest.mark.parametrize("child_goes", [False, True])
def test_a_provider_is_deleted_only_together_with_all_of_its_children(child_goes):
    """Placement refuses to delete a parent with 409; an operator may have put another provider below the agent's."""
    below = root(uuid=uuid("below"), name="below", parent_uuid=uuid("old"))
    old = root(uuid=uuid("old"), name="old", parent_uuid=ROOT_UUID)
    gone = (uuid("below"), uuid("old")) if child_goes else (uuid("old"),)
    plan = diff(tree(wanted(VCPU), obsolete=gone), view(providers=(root(VCPU), old, below)))
    if child_goes:
        assert plan.writes == tuple(DeleteProvider(provider_uuid=one) for one in gone)
        return
    assert plan.writes == ()
    assert plan.held_back == (
        HeldBack(provider_uuid=uuid("old"), what="delete", why="the provider must be deleted, but has children: below"),
    )


def test_a_child_provider_that_the_agent_does_not_manage_stays_unchanged():
    observed = view(providers=(root(VCPU), root(uuid=uuid("nova's"), name="x", parent_uuid=ROOT_UUID)))
    assert diff(tree(wanted(VCPU)), observed).writes == ()


def test_equal_plans_have_equal_digests_and_different_plans_different_digests():
    one, same = (diff(tree(wanted(MEMORY, VCPU)), held(VCPU)) for _ in range(2))
    other = diff(tree(wanted(dataclasses.replace(MEMORY, reserved=1), VCPU)), held(VCPU))
    assert one.digest == same.digest
    assert one.digest != other.digest


def test_a_trait_unknown_to_placement_is_reported_and_not_written():
    provider = wanted(VCPU, traits_wanted=OURS | {"HW_NEW"})
    plan = diff(tree(provider), held(VCPU, traits=OURS), frozenset({"HW_NEW", "HW_OTHER"}))
    assert plan.writes == ()
    assert plan.held_back == (
        HeldBack(provider_uuid=ROOT_UUID, what="traits HW_NEW", why="this Placement does not know these traits"),
    )


def test_a_trait_unknown_to_placement_does_not_prevent_writing_the_others():
    provider = wanted(VCPU, traits_wanted=OURS | {"HW_NEW"})
    plan = diff(tree(provider), held(VCPU, traits=frozenset({"CUSTOM_RACK"})), frozenset({"HW_NEW"}))
    assert plan.writes == (PutTraits(provider_uuid=ROOT_UUID, traits=tuple(sorted(OURS | {"CUSTOM_RACK"}))),)


AGGREGATES = {
    "as wanted": ({"a", "theirs"}, None),
    "one is missing": ({"theirs"}, {"a", "theirs"}),
    "an unwanted one goes": ({"a", "b", "theirs"}, {"a", "theirs"}),
    "others alone are no reason": ({"a", "theirs", "more"}, None),
}


@pytest.mark.parametrize(("before", "after"), AGGREGATES.values(), ids=AGGREGATES.keys())
def test_a_provider_keeps_aggregates_that_the_agent_does_not_manage(before, after):
    """Wanted aggregates are added, and unwanted ones removed."""
    provider = wanted(VCPU, aggregates_wanted=frozenset({"a"}), aggregates_unwanted=frozenset({"b"}))
    plan = diff(tree(provider), held(VCPU, traits=OURS, aggregates=frozenset(before)))
    expected = () if after is None else (PutAggregates(provider_uuid=ROOT_UUID, aggregates=tuple(sorted(after))),)
    assert plan.writes == expected
    assert plan.generations == (((ROOT_UUID, 7),) if expected else ())


def standing(name, parent=ROOT_UUID):
    return root(inventory("VGPU", 1), uuid=uuid(name), name=f"{name} by hand", parent_uuid=parent, traits=OURS)


def test_a_provider_below_a_wrong_parent_is_moved_and_keeps_its_name():
    observed = view(providers=(root(traits=OURS), standing("p"), standing("q", uuid("p"))))
    plan = diff(tree(wanted(), child("p"), child("q")), observed)
    assert plan.writes == (MoveProvider(provider_uuid=uuid("q"), name="q by hand", parent_uuid=ROOT_UUID),)


def test_an_obsolete_provider_is_deleted_after_its_children_are_moved():
    observed = view(providers=(root(traits=OURS), standing("r"), standing("q", uuid("r"))))
    plan = diff(tree(wanted(), child("q"), obsolete=(uuid("r"),)), observed)
    assert plan.writes == (
        MoveProvider(provider_uuid=uuid("q"), name="q by hand", parent_uuid=ROOT_UUID),
        DeleteProvider(provider_uuid=uuid("r")),
    )


def test_no_provider_is_created_or_moved_below_a_missing_parent():
    observed = view(providers=(root(traits=OURS), standing("p")))
    plan = diff(tree(wanted(), child("p", uuid("nobody")), child("q", uuid("nobody"))), observed)
    assert plan.writes == ()
    assert [(one.provider_uuid, one.what) for one in plan.held_back] == [
        (uuid("p"), "new parent"),
        (uuid("q"), "create"),
    ]
    assert {one.why for one in plan.held_back} == {f"the planned parent {uuid('nobody')} does not exist"}
