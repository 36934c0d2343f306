"""provider.yaml entries in the wanted tree: scenarios 129 to 136."""

from __future__ import annotations

import dataclasses

import pytest

from agent.audit.decide import decide
from agent.model.books import DesiredTree
from agent.model.compared import Subject
from agent.model.finding import History
from agent.model.placement import Provider
from agent.model.plan import DeleteProvider, PutInventories, PutTraits
from agent.model.provider_config import COMPUTE_NODE, Added, Addition, ProviderEntry
from agent.provider_tree.diff import diff
from tests.rigs import nested, pci
from tests.rigs.facts import (
    NODE,
    ROOT_UUID,
    decided,
    findings,
    host,
    inventory,
    root,
    settings,
    snapshot,
    uuid,
    view,
    wanted_root,
)

CHILD = Provider(
    uuid=uuid("gpu"), name=f"{NODE}_gpu", parent_uuid=ROOT_UUID, generation=3, inventories=(inventory("VGPU", 2),)
)
OURS = root(inventory("DISK_GB", 6), inventory("MEMORY_MB", 512), inventory("VCPU", 4, allocation_ratio=4.0))


def entry(*inventories, traits=(), **who):
    return ProviderEntry(origin="site.yaml:4", inventories=inventories, traits=frozenset(traits), **who)


def world(*providers):
    return snapshot(placement=view(providers=providers or (OURS,)))


def custom(found):
    return {i.resource_class: i.total for i in found.inventories if i.resource_class.startswith("CUSTOM_")}


def tree(there, *entries) -> DesiredTree:
    made = decided(there, settings(provider_entries=entries)).tree
    assert made is not None
    return made


def test_s129_an_entry_for_the_host_replaces_the_general_one():
    """In provider.yaml, an entry with the host's UUID replaces the entry for all compute nodes."""
    every = entry(inventory("CUSTOM_A", 100), traits={"CUSTOM_T"}, uuid=COMPUTE_NODE)
    ours = entry(inventory("CUSTOM_B", 5), uuid=ROOT_UUID)
    assert custom(tree(world(), every, ours).root) == {"CUSTOM_B": 5}
    assert "CUSTOM_T" not in tree(world(), every, ours).root.traits_wanted
    assert custom(tree(world(), every).root) == {"CUSTOM_A": 100}
    assert "CUSTOM_T" in tree(world(), every).root.traits_wanted


def test_provider_yaml_applies_to_a_new_root_provider():
    """If the root provider does not exist yet, the agent plans it with the inventory from provider.yaml."""
    named = entry(inventory("CUSTOM_B", 5), name=NODE)
    assert custom(tree(snapshot(placement=view(providers=())), named).root) == {"CUSTOM_B": 5}


def test_s130_two_entries_for_one_provider_are_reported():
    """One entry in provider.yaml has a provider's uuid, and another has its name. The agent reports the conflict."""
    by_uuid, by_name = entry(inventory("CUSTOM_A", 1), uuid=ROOT_UUID), entry(traits={"CUSTOM_T"}, name=NODE)
    assert custom(tree(world(), by_uuid, by_name).root) == {}
    (found,) = findings(world(), "provider-config-conflict", settings(provider_entries=(by_uuid, by_name)))
    assert "by its uuid, another entry by its name" in found.actual
    assert {i.resource_class for i in tree(world(), by_uuid, by_name).root.inventories} == {
        "DISK_GB",
        "MEMORY_MB",
        "VCPU",
    }


def test_s132_provider_yaml_cannot_change_the_vcpu_inventory():
    """An entry in provider.yaml contains VCPU. The agent reports a conflict, and keeps its own VCPU inventory."""
    # The reader refuses standard classes in a file. This entry bypasses the reader and stands for a child's class.
    taken = entry(inventory("VCPU", 99), uuid=ROOT_UUID)
    (found,) = findings(world(), "provider-config-conflict", settings(provider_entries=(taken,)))
    assert found.actual.startswith(f"site.yaml:4: VCPU of provider {NODE} ({ROOT_UUID}) is decided by the agent itself")
    assert wanted_root(decided(world(), settings(provider_entries=(taken,)))).inventory("VCPU").total == 4


def test_s135_an_added_class_is_no_conflict_in_the_next_audit():
    """The agent adds a resource class from provider.yaml to a child provider. The next audit reports no conflict."""
    added = entry(inventory("CUSTOM_A", 100), traits={"CUSTOM_T"}, uuid=CHILD.uuid)
    there = world(OURS, CHILD)
    plan = decided(there, settings(provider_entries=(added,))).plan
    assert plan.writes == (
        PutInventories(provider_uuid=CHILD.uuid, inventories=(inventory("CUSTOM_A", 100), inventory("VGPU", 2))),
        PutTraits(provider_uuid=CHILD.uuid, traits=("CUSTOM_T",)),
    )
    after = dataclasses.replace(
        CHILD, inventories=(inventory("CUSTOM_A", 100), inventory("VGPU", 2)), traits=frozenset({"CUSTOM_T"})
    )
    second = decided(world(OURS, after), settings(provider_entries=(added,)))
    assert second.plan.writes == ()
    assert findings(world(OURS, after), "provider-config-conflict", settings(provider_entries=(added,))) == ()


@pytest.mark.parametrize("who", [{"uuid": uuid("nobody")}, {"name": "nobody"}])
def test_s136_an_entry_is_reported_until_its_provider_exists(who):
    """An entry in provider.yaml is reported as long as its provider does not exist."""
    waiting = entry(inventory("CUSTOM_A", 1), **who)
    chosen = settings(provider_entries=(waiting,))
    (found,) = findings(world(), "provider-config-unmatched", chosen)
    assert found.actual.startswith(f"site.yaml:4: there is no provider {next(iter(who.values()))} in this host's tree")
    there = dataclasses.replace(CHILD, uuid=uuid("nobody"), name="nobody")
    assert findings(world(OURS, there), "provider-config-unmatched", chosen) == ()
    assert custom(tree(world(OURS, there), waiting).providers[-1]) == {"CUSTOM_A": 1}


def test_an_unmatched_entry_is_not_reported_without_placement():
    """If Placement is unread, the agent does not report an entry in provider.yaml that matches no provider."""
    waiting = entry(inventory("CUSTOM_A", 1), name="nobody")
    unread = snapshot(lost=("placement",))
    assert findings(unread, "provider-config-unmatched", settings(provider_entries=(waiting,))) == ()


def test_provider_yaml_does_not_replace_a_vgpu_inventory():
    """The agent adds a class from provider.yaml to a provider, and the VGPU inventory of the provider stays."""
    added = tree(world(OURS, CHILD), entry(inventory("CUSTOM_A", 1), uuid=CHILD.uuid))
    plan = diff(added, view(providers=(OURS, CHILD)))
    (put,) = [w for w in plan.writes if isinstance(w, PutInventories) and w.provider_uuid == CHILD.uuid]
    assert put.inventories == (inventory("CUSTOM_A", 1), inventory("VGPU", 2))


def after(*was, entries=(), there=None):
    """Return the decision on the root after an earlier audit added ``was`` from files."""
    view_of = there or root(*OURS.inventories, inventory("CUSTOM_A", 9), traits=OURS.traits | {"CUSTOM_T", "CUSTOM_OP"})
    snap = snapshot(placement=view(providers=(view_of, CHILD)))
    subject = Subject(root_uuid=ROOT_UUID, node=NODE)
    return decide(snap, settings(provider_entries=entries), subject, None, history=History(added=was))


A, T = Addition(ROOT_UUID, Added.RESOURCE_CLASS, "CUSTOM_A"), Addition(ROOT_UUID, Added.TRAIT, "CUSTOM_T")


def test_traits_of_operators_stay_after_an_entry_is_deleted():
    """If an entry of provider.yaml is deleted, the agent removes the entry's trait and keeps operators' traits."""
    put, traits = after(A, T).plan.writes
    assert (put.provider_uuid, {i.resource_class for i in put.inventories}) == (
        ROOT_UUID,
        {"DISK_GB", "MEMORY_MB", "VCPU"},
    )
    assert "CUSTOM_T" not in traits.traits
    assert "CUSTOM_OP" in traits.traits
    assert after().plan.writes == ()


def test_values_from_provider_yaml_are_remembered():
    """The agent remembers which values in Placement it added from provider.yaml, as long as Placement has them."""
    assert after(A, T).tree.added == (A, T)
    assert after(A, T, there=OURS).tree.added == ()
    named = entry(inventory("CUSTOM_A", 9), uuid=COMPUTE_NODE)
    assert after(T, entries=(named,)).tree.added == (A, T)


def test_a_class_and_trait_stay_while_provider_yaml_has_them():
    """The agent added a class and a trait to a provider. It keeps them as long as provider.yaml contains them."""
    assert (
        after(A, T, entries=(entry(inventory("CUSTOM_A", 9), traits={"CUSTOM_T"}, uuid=ROOT_UUID),)).plan.writes == ()
    )


def test_conflicting_entries_leave_the_root_provider_unchanged():
    """Two entries in provider.yaml for the root provider conflict, so the agent leaves the provider unchanged."""
    both = entry(inventory("CUSTOM_B", 1), uuid=ROOT_UUID), entry(traits={"CUSTOM_U"}, name=NODE)
    assert after(A, T, entries=both).plan.writes == ()


def test_removing_an_entry_keeps_the_inventory_of_nova():
    """An entry for CUSTOM_A is removed from provider.yaml.

    The agent removes CUSTOM_A and keeps nova's VGPU inventory.
    """
    gone = Addition(CHILD.uuid, Added.RESOURCE_CLASS, "CUSTOM_A")
    extended = dataclasses.replace(CHILD, inventories=(inventory("CUSTOM_A", 1), inventory("VGPU", 2)))
    snap = snapshot(placement=view(providers=(OURS, extended)))
    subject = Subject(root_uuid=ROOT_UUID, node=NODE)
    (put,) = decide(snap, settings(), subject, None, history=History(added=(gone,))).plan.writes
    assert put == PutInventories(provider_uuid=CHILD.uuid, inventories=(inventory("VGPU", 2),))


def test_values_are_remembered_while_placement_is_unread():
    """An audit cannot read Placement. The agent still remembers which values it added from provider.yaml."""
    subject = Subject(root_uuid=ROOT_UUID, node=NODE)
    assert decide(
        snapshot(lost=("placement",)), settings(), subject, None, history=History(added=(A, T))
    ).tree.added == (A, T)


GPU = nested.child(nested.GPU_06, inventory("CUSTOM_GPU", 16, max_unit=16))
GPU_TYPE = nested.mdev_type("nvidia-11", nested.AT_06, resource_class="CUSTOM_GPU")
CARD = nested.with_devices(nested.card(nested.GPU_06, nvidia_11=16))
LISTED_NO_MORE = nested.with_devices()
UNKNOWN = host(devices=None, devices_unknown_because="no answer within 5 s")
GPU_CLASS, GPU_TRAIT = (
    Addition(GPU.uuid, Added.RESOURCE_CLASS, "CUSTOM_GPU"),
    Addition(GPU.uuid, Added.TRAIT, "CUSTOM_T"),
)


def on_gpu(facts, *entries, there=GPU, was=(), held=()):
    """Return the decision on a host with that card, and that child in Placement."""
    snap = snapshot(libvirt=facts, placement=nested.standing(there, held=held))
    chosen = settings(mdev_types=(GPU_TYPE,), provider_entries=entries)
    return decide(snap, chosen, Subject(root_uuid=ROOT_UUID, node=NODE), None, history=History(added=was))


def of_gpu(decision):
    return [write for write in decision.plan.writes if write.provider_uuid == GPU.uuid]


def test_a_class_set_by_the_agent_does_not_count_as_added():
    """A resource class that the agent itself gives a GPU's provider does not count as added by provider.yaml."""
    assert on_gpu(CARD, was=(GPU_CLASS,)).tree.added == ()
    assert on_gpu(UNKNOWN, was=(GPU_CLASS,)).tree.added == (GPU_CLASS,), "not known now whether it wants it"
    owned = entry(traits={"CUSTOM_OWNER_STOCKTAKE", "CUSTOM_T"}, uuid=GPU.uuid)
    assert on_gpu(CARD, owned).tree.added == (GPU_TRAIT,)


@pytest.mark.parametrize("facts", [UNKNOWN, LISTED_NO_MORE], ids=["its family is frozen", "it is listed no more"])
@pytest.mark.parametrize(
    "entries",
    [
        (),
        (entry(inventory("CUSTOM_GPU", 1), uuid=GPU.uuid),),
        (entry(inventory("CUSTOM_B", 1), traits={"CUSTOM_U"}, name=GPU.name),),
        (entry(inventory("CUSTOM_B", 1), uuid=GPU.uuid), entry(traits={"CUSTOM_U"}, name=GPU.name)),
    ],
    ids=["nothing named", "its own class", "another class", "two entries"],
)
def test_provider_yaml_applies_only_to_gpus_that_libvirt_lists(facts, entries):
    """If libvirt does not list a GPU, the agent does not apply provider.yaml to the GPU's provider."""
    there = dataclasses.replace(GPU, traits=GPU.traits | {"CUSTOM_T"})
    found = on_gpu(facts, *entries, there=there, was=(GPU_CLASS, GPU_TRAIT))
    assert of_gpu(found) == []
    assert found.tree.added == (GPU_CLASS, GPU_TRAIT)
    assert not [f.code for f in found.findings if f.code.startswith("provider-config")]


def test_provider_yaml_is_not_applied_to_an_ambiguous_card():
    """nova's device_spec matches a PCI card and its virtual functions. provider.yaml then adds nothing to the card."""
    there = pci.child("0000:82:00.0", inventory("CUSTOM_PCI_8086_1515", 2))
    chosen = pci.pci_settings(
        {"vendor_id": "8086"}, provider_entries=(entry(inventory("CUSTOM_PCI_8086_1515", 1), uuid=there.uuid),)
    )
    facts = pci.world(*pci.functions("0000:82:00.0", 2), placement=pci.tree(there))
    assert not [w for w in decided(facts, chosen).plan.writes if w.provider_uuid == there.uuid]
    assert decided(facts, chosen).tree.added == ()


def test_provider_yaml_is_not_applied_to_an_obsolete_child():
    """The agent will delete a child provider. It adds nothing from provider.yaml to this provider."""
    none_left = nested.with_devices(nested.card(nested.GPU_06, nvidia_11=0))
    (write,) = of_gpu(on_gpu(none_left, entry(inventory("CUSTOM_B", 1), uuid=GPU.uuid)))
    assert write == DeleteProvider(provider_uuid=GPU.uuid)


def test_provider_yaml_applies_to_a_gpu_without_mdev_types():
    """No mdev type is enabled for a GPU. The agent still adds a class from provider.yaml to the GPU's provider."""
    there = snapshot(libvirt=CARD, placement=nested.standing(GPU))
    added = tree(there, entry(inventory("CUSTOM_B", 1), uuid=GPU.uuid))
    assert custom(added.providers[-1]) == {"CUSTOM_B": 1}


CONTRADICTING = (entry(inventory("CUSTOM_A", 5), uuid=GPU.uuid), entry(traits={"CUSTOM_T"}, name=GPU.name))
ADDED_TO = dataclasses.replace(
    GPU,
    inventories=(inventory("CUSTOM_A", 5), inventory("CUSTOM_OLD", 5), *GPU.inventories),
    traits=GPU.traits | {"CUSTOM_T"},
)


def test_a_gpu_provider_keeps_added_values_during_a_conflict():
    """If two provider.yaml entries conflict, a GPU's provider keeps the values that the agent added earlier."""
    was = (Addition(GPU.uuid, Added.RESOURCE_CLASS, "CUSTOM_A"), GPU_TRAIT)
    found = on_gpu(CARD, *CONTRADICTING, there=ADDED_TO, was=was)
    (put,) = of_gpu(found)
    assert {i.resource_class for i in put.inventories} == {"CUSTOM_A", "CUSTOM_GPU"}, "all but what nobody added"
    assert found.tree.added == was
    assert [f.code for f in found.findings if f.code.startswith("provider-config")] == ["provider-config-conflict"]


def test_a_pci_provider_keeps_its_trait_during_a_conflict():
    """Two entries of provider.yaml contradict each other about a PCI device's provider.

    The provider keeps its earlier trait.
    """
    there = pci.child("0000:81:00.0", inventory("CUSTOM_PCI_10DE_1EB8", 1))
    extended = dataclasses.replace(there, traits=there.traits | {"CUSTOM_T", "CUSTOM_OLD"})
    both = entry(inventory("CUSTOM_A", 5), uuid=there.uuid), entry(traits={"CUSTOM_T"}, name=there.name)
    facts = pci.world(pci.device("0000:81:00.0"), placement=pci.tree(extended))
    chosen = pci.pci_settings({"vendor_id": "10de"}, provider_entries=both)
    subject, was = Subject(root_uuid=ROOT_UUID, node=NODE), (Addition(there.uuid, Added.TRAIT, "CUSTOM_T"),)
    writes = decide(facts, chosen, subject, None, history=History(added=was)).plan.writes
    assert [w.traits for w in writes if w.provider_uuid == there.uuid] == [tuple(sorted(there.traits | {"CUSTOM_T"}))]
