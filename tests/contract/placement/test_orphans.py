"""Trees of orphaned nodes: what the agent reads, the number of requests, and the effect of a provider's rename."""

from __future__ import annotations

import pytest

from agent.errors import DuplicateName
from agent.model.placement import PlacementView
from agent.model.plan import RenameProvider
from agent.placement.names import ProviderNames
from agent.placement.reader import TreeReader
from tests.rigs.placement import client_of, looking_at, new_uuid

NOTHING = PlacementView(root_uuid="", providers=(), allocations=(), allocations_fresh=True)


@pytest.fixture
def reader(tmp_path, placement):
    return TreeReader(client_of(tmp_path, placement.server.url))


@pytest.fixture
def orphan(placement):
    """A provider of nova-compute with a child and one allocation."""
    root = placement.make_provider()
    placement.set_inventories(root, {"VCPU": {"total": 8}})
    placement.set_traits(root, "OWNER_NOVA")
    child = placement.make_provider(parent=root)
    return root, child, placement.allocate({root: {"VCPU": 2}})


def test_an_orphaned_tree_is_read_with_its_allocations(reader, orphan):
    """Libvirt no longer reports a compute node.

    The agent reads the node's providers, traits and allocations in Placement.
    """
    root, child, consumer = orphan
    seen = reader.orphans(NOTHING, frozenset({root}))
    (tree,) = seen.orphans
    assert [p.uuid for p in tree.providers] == [root, child]
    assert tree.root is not None
    assert "OWNER_NOVA" in tree.root.traits
    assert [(a.consumer_uuid, a.amount) for a in tree.allocations] == [(consumer, 2)]
    assert (seen.providers, seen.requests > 0) == ((), True)


def test_an_orphaned_compute_node_may_have_no_provider(reader):
    """Libvirt no longer reports a compute node, and Placement has no provider for it. The agent reads an empty tree."""
    uuid = new_uuid()
    (tree,) = reader.orphans(NOTHING, frozenset({uuid})).orphans
    assert (tree.uuid, tree.providers, tree.root) == (uuid, (), None)


def test_no_orphaned_node_means_no_request(reader, placement):
    """If libvirt still reports every compute node, the agent sends Placement no request about orphaned nodes."""
    with placement.watched() as seen:
        assert reader.orphans(NOTHING, frozenset()) is NOTHING
    assert seen == []


def test_a_second_read_of_an_orphaned_tree_takes_two_requests(reader, placement, orphan):
    """The provider tree of an orphaned compute node is unchanged.

    The agent asks Placement only for providers and allocations.
    """
    root, _, consumer = orphan
    reader.orphans(NOTHING, frozenset({root}))
    assert reader.orphans(NOTHING, frozenset({root})).requests == 2
    placement.release(consumer)  # the generation stays, and the agent reads allocations nevertheless
    (tree,) = reader.orphans(NOTHING, frozenset({root})).orphans
    assert tree.allocations == ()
    assert reader.orphans(NOTHING, frozenset({root})).requests == 1


def test_a_full_read_includes_orphaned_trees(reader, placement, orphan):
    """The agent keeps the trees of orphaned compute nodes in a cache. A full read of Placement reads them again."""
    root, _, _ = orphan
    mine = placement.make_provider()
    reader.orphans(NOTHING, frozenset({root}))
    reader.view(looking_at(mine))
    assert reader.orphans(NOTHING, frozenset({root})).requests == 2
    reader.view(looking_at(mine, everything=True))
    assert reader.orphans(NOTHING, frozenset({root})).requests == 9


def test_a_rename_keeps_a_providers_allocations(reader, placement, tmp_path, orphan):
    """The agent renames a provider in Placement. Its generation, its parent and its allocations do not change."""
    root, child, _ = orphan
    names = ProviderNames(client_of(tmp_path, placement.server.url))
    before = placement.generation(root)
    held = placement.done("GET", f"/resource_providers/{root}/allocations")
    for uuid in (root, child):
        names.rename(RenameProvider(provider_uuid=uuid, name=f"new-{uuid}"))
        assert names.name_of(uuid) == f"new-{uuid}"
    assert placement.done("GET", f"/resource_providers/{root}/allocations") == held
    assert placement.generation(root) == before
    assert placement.done("GET", f"/resource_providers/{child}")["parent_provider_uuid"] == root
    assert names.holder(f"new-{root}").uuid == root


def test_renaming_a_provider_to_a_taken_name_raises_an_error(placement, tmp_path, orphan):
    root, child, _ = orphan
    names = ProviderNames(client_of(tmp_path, placement.server.url))
    taken = names.name_of(child)
    with pytest.raises(DuplicateName):
        names.rename(RenameProvider(provider_uuid=root, name=taken))
    assert (names.name_of(new_uuid()), names.holder(f"nobody-{new_uuid()}")) == (None, None)
