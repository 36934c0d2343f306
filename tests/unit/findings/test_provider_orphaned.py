"""provider-orphaned: providers of a former node that remain in Placement and that no audit may delete."""

from __future__ import annotations

import pytest

from agent.model.finding import History, Severity
from agent.model.nova import StateKind
from agent.model.placement import Allocation, DetachedTree, LeftProvider
from agent.model.snapshot import STATE
from tests.rigs.facts import findings, node, root, snapshot, uuid, view
from tests.rigs.records import about, conductor, decision, orphan, stored, tree

CODE = "provider-orphaned"
OLD = orphan()
ROW = node(2, uuid=OLD.uuid, hypervisor_hostname=OLD.hypervisor_hostname)
HELD = Allocation(
    consumer_uuid=uuid("i1"), consumer_generation=1, provider_uuid=OLD.uuid, resource_class="MEMORY_MB", amount=512
)


ROWS = (node(), ROW)


def world_of(*trees, nodes=ROWS, **changes):
    state = conductor(nodes=nodes, records=(stored(), OLD), **changes)
    return snapshot(nova=state, libvirt=about(), placement=view(provider=root(), orphans=trees))


@pytest.mark.parametrize("kind", [StateKind.SQL, StateKind.CONDUCTOR])
def test_s158_an_orphaned_provider_is_reported(kind):
    """A compute node does not belong to this host any more.

    The compute node's provider is still in Placement. The agent reports this provider and the provider's allocations.
    """
    (found,) = findings(world_of(tree(OLD, HELD), kind=kind), CODE)
    assert (found.provider_uuid, found.subject, found.severity) == (OLD.uuid, "old-name", Severity.WARNING)
    assert found.expected == (
        "old-name has no provider in Placement, because it is not a compute node of host cmp1 any more"
    )
    still = f"provider {OLD.uuid} is still in Placement"
    assert found.actual == f"{still}; 1 consumer has allocations in this provider's tree: MEMORY_MB"
    assert dict(found.facts) == {
        "providers": 1,
        "inventory": "",
        "allocations": f"{uuid('i1')}: 512 MiB of MEMORY_MB",
    }
    assert OLD.uuid in found.remedy
    assert not found.rests_on_recorded


def test_the_provider_of_a_deleted_node_row_is_reported():
    """A former node's row is gone from nova's database; the agent remembers the node's provider and reports it."""
    world = world_of(tree(OLD, HELD), nodes=(node(),))
    assert findings(world, CODE) == ()
    left = History(left=(LeftProvider(OLD.uuid, OLD.hypervisor_hostname),))
    assert [f.provider_uuid for f in decision(world, None, left).findings if f.code == CODE] == [OLD.uuid]


@pytest.mark.parametrize("held", [(), (HELD,)], ids=["empty", "with allocations"])
def test_no_orphaned_provider_is_reported_without_nova_data(held):
    """If nova's database could not be read, the agent does not know which providers are orphaned and reports none."""
    left = History(left=(LeftProvider(OLD.uuid, OLD.hypervisor_hostname),))
    there = view(provider=root(), orphans=(tree(OLD, *held),))
    unread = snapshot(libvirt=about(), placement=there, lost=(STATE,))
    assert [f.code for f in decision(unread, None, left).findings if f.code == CODE] == []


QUIET = {
    "an empty one goes with its record": world_of(tree(OLD)),
    "there is none": world_of(DetachedTree(uuid=OLD.uuid)),
    "no tree was read": world_of(),
    "nobody's orphan": world_of(tree(OLD, HELD), nodes=(node(),)),
    "no orphans": snapshot(),
}


@pytest.mark.parametrize("world", QUIET.values(), ids=QUIET.keys())
def test_an_empty_orphaned_provider_is_not_reported(world):
    """The agent does not report a former node's provider that has no allocations."""
    assert findings(world, CODE) == ()
