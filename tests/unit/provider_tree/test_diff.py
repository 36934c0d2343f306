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
def test_inventories_are_written_only_if_one_must_change(provider, observed, expected):
    """If all inventories of a provider are as planned, the agent does not write them."""
    plan = diff(tree(provider), observed)
    assert list(plan.writes) == expected
    assert plan.generations == (((ROOT_UUID, 7),) if expected else ())


def test_a_resource_class_with_allocations_is_not_removed():
    """The agent wants to remove the class PCPU from a provider.

    It waits, because an instance has an allocation of PCPU.
    """
    used = inventory("PCPU", 2)
    observed = dataclasses.replace(held(used, VCPU), allocations=allocations(uuid("i1"), PCPU=1))
    plan = diff(tree(wanted(MEMORY, VCPU)), observed)
    assert plan.writes == (put(MEMORY, used, VCPU),)
    why = "the class must be removed, but has allocations"
    assert plan.held_back == (HeldBack(provider_uuid=ROOT_UUID, what="PCPU", why=why),)


def test_the_total_of_an_allocated_class_may_be_reduced():
    """An instance has an allocation of VCPU. The agent still lowers the total of VCPU, which Placement accepts."""
    observed = dataclasses.replace(held(VCPU), allocations=allocations(uuid("i1"), VCPU=16))
    smaller = dataclasses.replace(VCPU, total=2, max_unit=2)
    assert diff(tree(wanted(smaller)), observed).writes == (put(smaller),)


def test_root_pcpu_is_removed_if_only_a_child_has_allocations():
    """The agent removes PCPU from the root provider if only a child provider has allocations of PCPU."""
    elsewhere = tuple(dataclasses.replace(a, provider_uuid=uuid("child")) for a in allocations(uuid("i1"), PCPU=1))
    observed = dataclasses.replace(held(inventory("PCPU", 2), VCPU), allocations=elsewhere)
    assert diff(tree(wanted(VCPU)), observed).writes == (put(VCPU),)


def test_the_disk_inventory_stays_if_lvm_cannot_be_read():
    """LVM cannot be read. The agent leaves the DISK_GB inventory in Placement as it is, and says why."""
    lvm_down = Frozen(name="DISK_GB", why="lvm could not be read")
    disk = inventory("DISK_GB", 20, reserved=3)
    plan = diff(tree(wanted(MEMORY, frozen=(lvm_down,))), held(disk))
    assert plan.writes == (put(disk, MEMORY),)
    assert plan.held_back == (HeldBack(provider_uuid=ROOT_UUID, what="DISK_GB", why="lvm could not be read"),)


def test_no_disk_inventory_is_added_if_lvm_cannot_be_read():
    """LVM cannot be read, and the provider in Placement has no DISK_GB inventory. The agent does not add one."""
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
def test_a_trait_update_keeps_the_traits_of_operators(before, after):
    """The agent adds its traits, removes nova's trait OWNER_NOVA, and keeps a trait that an operator set."""
    plan = diff(tree(wanted(VCPU)), held(VCPU, traits=before))
    expected = () if after is None else (PutTraits(provider_uuid=ROOT_UUID, traits=tuple(sorted(after))),)
    assert plan.writes == expected


def test_a_provider_is_created_before_its_inventories():
    """For a new host, the agent creates the provider first. Then it writes the inventories and the traits."""
    plan = diff(tree(wanted(MEMORY, VCPU)), NOTHING)
    assert plan.writes == (
        CreateProvider(provider_uuid=ROOT_UUID, name=NODE, parent_uuid=None),
        put(MEMORY, VCPU),
        PutTraits(provider_uuid=ROOT_UUID, traits=tuple(sorted(OURS))),
    )
    assert plan.generations == ()


def test_no_root_provider_is_created_without_a_node_name():
    """If the agent does not know the node's name, it creates no root provider and says why."""
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


def test_s157_parents_are_written_first_and_deletions_last():
    """The agent writes a parent provider before its children. It deletes obsolete providers at the end."""
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
def test_a_provider_is_deleted_only_with_all_its_children(child_goes):
    """The agent deletes a parent provider only if all its children are also deleted."""
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


def test_a_child_provider_made_by_nova_stays_unchanged():
    """The agent writes nothing to a child provider that nova made below the host's root provider."""
    observed = view(providers=(root(VCPU), root(uuid=uuid("nova's"), name="x", parent_uuid=ROOT_UUID)))
    assert diff(tree(wanted(VCPU)), observed).writes == ()


def test_only_equal_plans_have_equal_digests():
    """Two equal plans of writes have the same digest. A plan with another reserved amount has another digest."""
    one, same = (diff(tree(wanted(MEMORY, VCPU)), held(VCPU)) for _ in range(2))
    other = diff(tree(wanted(dataclasses.replace(MEMORY, reserved=1), VCPU)), held(VCPU))
    assert one.digest == same.digest
    assert one.digest != other.digest


def test_a_trait_unknown_to_placement_is_not_written():
    """The agent wants to set a trait that is unknown to an older Placement.

    It does not write the trait, and says why.
    """
    provider = wanted(VCPU, traits_wanted=OURS | {"HW_NEW"})
    plan = diff(tree(provider), held(VCPU, traits=OURS), frozenset({"HW_NEW", "HW_OTHER"}))
    assert plan.writes == ()
    assert plan.held_back == (
        HeldBack(provider_uuid=ROOT_UUID, what="traits HW_NEW", why="this Placement does not know these traits"),
    )


def test_known_traits_are_written_beside_an_unknown_one():
    """One trait is unknown to an older Placement. The agent still writes the other traits of the provider."""
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
def test_a_provider_keeps_the_aggregates_of_operators(before, after):
    """The agent adds and removes its own aggregates at a provider. Aggregates that others set stay."""
    provider = wanted(VCPU, aggregates_wanted=frozenset({"a"}), aggregates_unwanted=frozenset({"b"}))
    plan = diff(tree(provider), held(VCPU, traits=OURS, aggregates=frozenset(before)))
    expected = () if after is None else (PutAggregates(provider_uuid=ROOT_UUID, aggregates=tuple(sorted(after))),)
    assert plan.writes == expected
    assert plan.generations == (((ROOT_UUID, 7),) if expected else ())


def standing(name, parent=ROOT_UUID):
    return root(inventory("VGPU", 1), uuid=uuid(name), name=f"{name} by hand", parent_uuid=parent, traits=OURS)


def test_a_provider_below_a_wrong_parent_is_moved():
    """The agent moves a provider below the planned parent, and keeps the name that the provider has in Placement."""
    observed = view(providers=(root(traits=OURS), standing("p"), standing("q", uuid("p"))))
    plan = diff(tree(wanted(), child("p"), child("q")), observed)
    assert plan.writes == (MoveProvider(provider_uuid=uuid("q"), name="q by hand", parent_uuid=ROOT_UUID),)


def test_children_are_moved_before_their_parent_is_deleted():
    """An obsolete provider has a child that is still needed.

    The agent moves the child first and then deletes the parent.
    """
    observed = view(providers=(root(traits=OURS), standing("r"), standing("q", uuid("r"))))
    plan = diff(tree(wanted(), child("q"), obsolete=(uuid("r"),)), observed)
    assert plan.writes == (
        MoveProvider(provider_uuid=uuid("q"), name="q by hand", parent_uuid=ROOT_UUID),
        DeleteProvider(provider_uuid=uuid("r")),
    )


def test_nothing_is_created_or_moved_below_a_missing_parent():
    """The planned parent of two providers does not exist.

    The agent neither creates nor moves a provider, and says why.
    """
    observed = view(providers=(root(traits=OURS), standing("p")))
    plan = diff(tree(wanted(), child("p", uuid("nobody")), child("q", uuid("nobody"))), observed)
    assert plan.writes == ()
    assert [(one.provider_uuid, one.what) for one in plan.held_back] == [
        (uuid("p"), "new parent"),
        (uuid("q"), "create"),
    ]
    assert {one.why for one in plan.held_back} == {f"the planned parent {uuid('nobody')} does not exist"}
