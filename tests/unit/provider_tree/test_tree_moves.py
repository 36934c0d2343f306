"""Where providers are created and moved to, and that an audit moves the agent's own child back below the root."""

from __future__ import annotations

import dataclasses

from agent.model.placement import DetachedTree
from agent.model.plan import MoveProvider
from agent.provider_tree.tree_moves import depth
from tests.rigs.facts import NODE, ROOT_UUID, decided, inventory, root, settings, snapshot, uuid
from tests.rigs.nested import CARDS, GPU_06, child, mdev_type, standing

OTHER = root(uuid=uuid("other"), name="somebody's", parent_uuid=ROOT_UUID)


def decision_with(*children, **changes):
    placement = dataclasses.replace(standing(*children), **changes)
    return decided(snapshot(libvirt=CARDS, placement=placement), settings(mdev_types=(mdev_type("nvidia-11"),)))


def moves(decision):
    return [write for write in decision.plan.writes if isinstance(write, MoveProvider)]


def astray():
    return dataclasses.replace(child(GPU_06, inventory("VGPU", 16)), parent_uuid=OTHER.uuid)


def test_a_child_with_a_wrong_parent_is_moved_to_the_host():
    """A GPU's provider is below a provider of somebody else. The agent moves it back below the host's provider."""
    assert moves(decision_with(OTHER, astray())) == [
        MoveProvider(provider_uuid=uuid(GPU_06), name=f"{NODE}_{GPU_06}", parent_uuid=ROOT_UUID)
    ]


def test_no_provider_is_moved_without_microversion_1_37():
    """Placement can move a child provider only from microversion 1.37 on. Before, the agent plans no move."""
    decision = decision_with(OTHER, astray(), reparents=False)
    assert moves(decision) == []
    (held,) = [held for held in decision.plan.held_back if held.what == "new parent"]
    assert held.provider_uuid == uuid(GPU_06)
    assert "microversion 1.37" in held.why


def test_the_agent_moves_only_child_providers_that_it_made():
    theirs = root(uuid=uuid("theirs"), name="theirs", parent_uuid=OTHER.uuid)
    assert moves(decision_with(OTHER, theirs, child(GPU_06))) == []


def test_a_provider_in_another_tree_is_found():
    """The agent finds its own provider even if the provider is in another host's tree."""
    view = dataclasses.replace(standing(), beside=(DetachedTree(uuid=OTHER.uuid, providers=(OTHER,)),))
    assert view.provider(OTHER.uuid) is None
    assert view.known[OTHER.uuid] == OTHER
    assert view.known[ROOT_UUID] == view.root


def test_the_depth_of_a_provider_counts_its_known_ancestors():
    """A provider with a parent and a grandparent has depth 2. An unknown parent does not count."""
    parents = {"a": None, "b": "a", "c": "b", "d": "nobody", "e": "f", "f": "e"}
    assert [depth(one, parents) for one in parents] == [0, 1, 2, 0, 2, 2]
