"""identity-changed: uuid and name of this host do not belong together; a wrong name stops every write."""

from __future__ import annotations

import pytest

from agent.audit.decide import decide
from agent.model.compared import Subject
from agent.model.finding import Severity
from agent.model.nova import StateKind
from agent.model.snapshot import PLACEMENT, STATE
from tests.rigs.facts import (
    NODE,
    ROOT_UUID,
    decided,
    domain,
    findings,
    host,
    inventory,
    node,
    root,
    service,
    settings,
    snapshot,
    state,
    uuid,
    view,
    without,
)

CODE = "identity-changed"
RENAMED_PROVIDER = snapshot(placement=view(provider=root(inventory("VCPU", 99), name="old-name")))
RENAMED_ROW = snapshot(nova=state(nodes=(node(hypervisor_hostname="old-name"),)))
ANOTHER_UUID = snapshot(nova=state(nodes=(node(uuid=uuid("row")),)))


@pytest.mark.parametrize(
    ("world", "actual", "held"),
    [
        (RENAMED_PROVIDER, "in Placement this provider is named old-name", ["everything"]),
        (RENAMED_ROW, f"compute node row 1 has uuid {ROOT_UUID} and the name old-name", ["everything"]),
        (ANOTHER_UUID, f"compute node row 1 has uuid {uuid('row')} and the name {NODE}", []),
    ],
    ids=["provider under another name", "row of our uuid under another name", "row of our name with another uuid"],
)
def test_s92_a_wrong_node_name_stops_all_writes(world, actual, held):
    """A wrong name for this host in nova or Placement stops all writes. A wrong uuid in nova is only reported."""
    (found,) = findings(world, CODE)
    assert (found.provider_uuid, found.actual, found.severity) == (ROOT_UUID, actual, Severity.ERROR)
    assert NODE in found.expected
    assert "compute_id" in found.remedy
    plan = decided(world).plan
    assert [h.what for h in plan.held_back] == held
    assert (plan.writes == ()) is bool(held)


def test_s61_a_uuid_of_another_host_stops_all_writes():
    """If this host's UUID belongs to a compute node of another host in nova's database, the agent writes nothing."""
    world = snapshot(nova=state(nodes=(node(host="cmp2"),)))
    (found,) = findings(world, CODE)
    assert found.actual == f"compute node row 1 has uuid {ROOT_UUID} and belongs to host cmp2"
    assert found.expected.endswith(", and the compute node row with this uuid belongs to host cmp1")
    assert decided(world).plan.is_empty


NOVA_GUEST = domain(managed_by_nova=True)


@pytest.mark.parametrize("known", [ROOT_UUID, None], ids=["identity from a file", "no identity"])
def test_the_agent_writes_nothing_if_nova_lost_the_host(known):
    """If a host has a guest made by nova, and nova's database does not know the host, the agent writes nothing."""
    world = snapshot(
        nova=state(nodes=()), libvirt=host(NOVA_GUEST), placement=view(provider=root(inventory("VCPU", 9)))
    )
    decision = decide(world, settings(), Subject(root_uuid=known, node=NODE), None)
    (found,) = [f for f in decision.findings if f.code == CODE]
    assert found.actual.startswith("the database has no service and no compute node of this host")
    assert found.expected.endswith(", because nova made one guest here")
    assert decision.plan.is_empty


BELIEVED = {
    "a guest that nova did not make": snapshot(nova=state(nodes=()), libvirt=host(domain())),
    "no guests: a new host": snapshot(nova=state(nodes=()), libvirt=host()),
    "a service": snapshot(nova=state(nodes=(), service=service()), libvirt=host(NOVA_GUEST)),
    "a row, deleted": snapshot(nova=state(nodes=(node(deleted=True),)), libvirt=host(NOVA_GUEST)),
    "no cloud": snapshot(nova=state(nodes=(), kind=StateKind.NONE), libvirt=host(NOVA_GUEST)),
}


@pytest.mark.parametrize("world", BELIEVED.values(), ids=BELIEVED.keys())
def test_a_new_host_without_a_compute_node_is_not_reported(world):
    """A new host has no guests, so the agent does not report that its compute node is missing in nova."""
    assert findings(world, CODE) == ()


QUIET = {
    "all the same": snapshot(placement=view(provider=root())),
    "no provider yet": snapshot(placement=view(providers=())),
    "another node of this host": snapshot(nova=state(nodes=(node(), node(2, uuid=uuid("x"), hypervisor_hostname="x")))),
    "a deleted row": snapshot(nova=state(nodes=(node(deleted=True, uuid=uuid("row")),))),
    "placement not read": without(RENAMED_PROVIDER, PLACEMENT),
    "state not read": without(RENAMED_ROW, STATE),
}


@pytest.mark.parametrize("world", QUIET.values(), ids=QUIET.keys())
def test_identity_changed_needs_a_changed_name_or_uuid(world):
    """The agent reports `identity-changed` only if it has read a changed name or UUID from nova or Placement."""
    assert findings(world, CODE) == ()


def test_s92_a_new_libvirt_host_name_is_used_after_a_restart():
    """If libvirt reports a new host name, the agent keeps the old name until a restart."""
    world = snapshot(libvirt=host(ignored_hostname="new-name"), placement=view(provider=root(inventory("VCPU", 99))))
    (found,) = findings(world, CODE)
    assert found.actual == f"libvirt reports new-name now; the agent keeps {NODE} until the agent restarts"
    assert decided(world).plan.writes != ()
