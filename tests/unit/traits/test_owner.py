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


def test_s115_stocktake_replaces_the_owner_trait_of_nova():
    """The agent plans CUSTOM_OWNER_STOCKTAKE instead of OWNER_NOVA on the root provider."""
    assert owner.wish(snapshot(), settings()) == Wish(
        wanted=frozenset({"COMPUTE_NODE", "CUSTOM_OWNER_STOCKTAKE"}), unwanted=frozenset({"OWNER_NOVA"})
    )


def test_the_owner_trait_does_not_depend_on_any_read():
    """The agent sets CUSTOM_OWNER_STOCKTAKE even if nova's database, libvirt and the disks could not be read."""
    lost = snapshot(lost=[STATE, LIBVIRT, LVM, FILESYSTEM])
    assert owner.wish(lost, settings()) == owner.wish(snapshot(), settings())


def test_a_new_root_provider_gets_the_owner_trait():
    """A root provider that the agent creates gets the traits COMPUTE_NODE and CUSTOM_OWNER_STOCKTAKE."""
    assert traits_put(snapshot(placement=view(providers=()))) == [("COMPUTE_NODE", "CUSTOM_OWNER_STOCKTAKE")]


def test_s110_the_next_audit_restores_a_removed_trait():
    """The next audit sets COMPUTE_NODE on the root provider again if somebody removed the trait."""
    taken = view(provider=root(traits=OTHERS | {"CUSTOM_OWNER_STOCKTAKE"}))
    assert traits_put(snapshot(placement=taken)) == [("COMPUTE_NODE", "CUSTOM_OWNER_STOCKTAKE")]


def test_s109_a_trait_that_an_operator_set_is_not_removed():
    """The agent keeps an operator's trait, such as CUSTOM_X, when it writes the traits of the root provider."""
    ours = frozenset({"COMPUTE_NODE", "CUSTOM_OWNER_STOCKTAKE", "CUSTOM_X", "HW_CPU_X86_AVX2"})
    assert traits_put(snapshot(placement=view(provider=root(traits=OTHERS | ours)))) == []
    without_node = view(provider=root(traits=OTHERS | ours - {"COMPUTE_NODE"}))
    assert traits_put(snapshot(placement=without_node)) == [tuple(sorted(ours))]


def test_owner_nova_is_removed_only_if_takeover_is_allowed():
    """The agent removes nova's trait OWNER_NOVA from the root provider only if `[agent] takeover` is set."""
    novas = view(provider=root(traits=OTHERS | {"COMPUTE_NODE", "OWNER_NOVA", "CUSTOM_X"}))
    world = snapshot(placement=novas, nova=state(service=service()))
    assert traits_put(world) == []
    assert traits_put(world, settings(takeover=True)) == [("COMPUTE_NODE", "CUSTOM_OWNER_STOCKTAKE", "CUSTOM_X")]
    assert decided(world, settings(takeover=True)).plan.generations == ((ROOT_UUID, 7),)
