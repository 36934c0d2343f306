"""hostname-duplicated: two hosts with one node name."""

from __future__ import annotations

import pytest

from agent.model.finding import Severity
from tests.rigs.facts import NODE, ROOT_UUID, decided, findings, node, root, snapshot, state, uuid, view

CODE = "hostname-duplicated"
THEIRS = node(9, uuid=uuid("theirs"), host="cmp2")
HOLDER = root(uuid=uuid("theirs"))


def world_of(*rows):
    return snapshot(nova=state(nodes=rows), placement=view(providers=(), name_holder=HOLDER))


def test_a_duplicate_node_name_stops_all_writes():
    """If another host has a compute node of the same name, the agent reports that host and writes nothing."""
    world = world_of(THEIRS)
    (found,) = findings(world, CODE)
    assert (found.provider_uuid, found.subject, found.severity) == (uuid("theirs"), "cmp2", Severity.ERROR)
    assert found.expected == f"only host cmp1 has a compute node named {NODE}"
    assert found.actual == f"host cmp2 also has a compute node named {NODE} (uuid {uuid('theirs')}, id 9)"
    assert decided(world).plan.is_empty


def test_a_node_with_a_duplicate_name_is_not_called_orphaned():
    """If another host has a compute node of the same name, the agent reports a duplicate, not an orphaned node."""
    codes = {f.code for f in decided(world_of(node(), THEIRS)).findings}
    assert CODE in codes
    assert not codes & {"compute-node-orphaned", "identity-changed"}


QUIET = {
    "our own lost identity": world_of(node(9, uuid=uuid("theirs"))),
    "another name": world_of(node(9, uuid=uuid("theirs"), host="cmp2", hypervisor_hostname="cmp2.example.org")),
    "deleted": world_of(node(9, uuid=uuid("theirs"), host="cmp2", deleted=True)),
    "our own uuid is a clone's": world_of(node(9, uuid=ROOT_UUID, host="cmp2")),
    "the usual": snapshot(),
}


@pytest.mark.parametrize("world", QUIET.values(), ids=QUIET.keys())
def test_a_compute_node_without_a_name_conflict_is_accepted(world):
    """A compute node is accepted if it is deleted, has a different name or belongs to this host."""
    assert findings(world, CODE) == ()
