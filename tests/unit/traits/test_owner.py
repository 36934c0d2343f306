"""The provider's owner trait: scenario 115, with the agent's trait in the place of OWNER_NOVA."""

from __future__ import annotations

from agent.model.plan import PutTraits
from agent.model.snapshot import FILESYSTEM, LIBVIRT, LVM, STATE
from agent.traits import owner
from agent.traits.base import Wish
from tests.rigs.facts import ROOT_UUID, decided, root, service, settings, snapshot, state, usual_traits, view

OTHERS = usual_traits() - {"COMPUTE_NODE", "CUSTOM_OWNER_STOCKTAKE"}


def traits_put(world, chosen=None):
    """Return every trait set that the plan would write, without traits that other families always want."""
    writes = decided(world, chosen).plan.writes
    return [tuple(sorted(set(write.traits) - OTHERS)) for write in writes if isinstance(write, PutTraits)]


def test_s115_the_owner_trait_of_stocktake_replaces_that_of_nova():
    assert owner.wish(snapshot(), settings()) == Wish(
        wanted=frozenset({"COMPUTE_NODE", "CUSTOM_OWNER_STOCKTAKE"}), unwanted=frozenset({"OWNER_NOVA"})
    )


def test_the_owner_trait_stays_the_same_if_nova_and_libvirt_could_not_be_read():
    lost = snapshot(lost=[STATE, LIBVIRT, LVM, FILESYSTEM])
    assert owner.wish(lost, settings()) == owner.wish(snapshot(), settings())


def test_a_new_root_provider_gets_compute_node_and_the_owner_trait_of_stocktake():
    assert traits_put(snapshot(placement=view(providers=()))) == [("COMPUTE_NODE", "CUSTOM_OWNER_STOCKTAKE")]


def test_s110_the_next_audit_restores_a_required_trait_that_was_removed():
    taken = view(provider=root(traits=OTHERS | {"CUSTOM_OWNER_STOCKTAKE"}))
    assert traits_put(snapshot(placement=taken)) == [("COMPUTE_NODE", "CUSTOM_OWNER_STOCKTAKE")]


def test_s109_a_trait_that_an_operator_set_is_not_removed():
    ours = frozenset({"COMPUTE_NODE", "CUSTOM_OWNER_STOCKTAKE", "CUSTOM_X", "HW_CPU_X86_AVX2"})
    assert traits_put(snapshot(placement=view(provider=root(traits=OTHERS | ours)))) == []
    without_node = view(provider=root(traits=OTHERS | ours - {"COMPUTE_NODE"}))
    assert traits_put(snapshot(placement=without_node)) == [tuple(sorted(ours))]


def test_the_agent_removes_the_trait_owner_nova_only_if_takeover_is_allowed():
    """The option is `[agent] takeover`."""
    novas = view(provider=root(traits=OTHERS | {"COMPUTE_NODE", "OWNER_NOVA", "CUSTOM_X"}))
    world = snapshot(placement=novas, nova=state(service=service()))
    assert traits_put(world) == []
    assert traits_put(world, settings(takeover=True)) == [("COMPUTE_NODE", "CUSTOM_OWNER_STOCKTAKE", "CUSTOM_X")]
    assert decided(world, settings(takeover=True)).plan.generations == ((ROOT_UUID, 7),)
