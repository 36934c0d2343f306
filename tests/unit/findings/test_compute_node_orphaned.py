"""compute-node-orphaned: story 4 of the README, a row of this host that no hypervisor reports."""

from __future__ import annotations

import pytest

from agent.audit.decide import decide
from agent.model.compared import Subject
from agent.model.finding import Severity
from agent.model.nova import StateKind
from agent.model.snapshot import LIBVIRT, PLACEMENT, STATE
from tests.rigs.facts import ROOT_UUID, findings, node, settings, snapshot, state, uuid, without

CODE = "compute-node-orphaned"
OLD = node(2, uuid=uuid("old"), hypervisor_hostname="old.example.org", vcpus=48, memory_mib=262144, local_gib=1000)
WORLD = snapshot(nova=state(nodes=(node(), OLD)))


@pytest.mark.parametrize("world", [WORLD, without(WORLD, PLACEMENT)], ids=["all read", "without placement"])
def test_the_finding_names_the_compute_node_row_and_its_resources(world):
    (found,) = findings(world, CODE)
    assert (found.provider_uuid, found.consumer_uuid, found.resource_class) == (uuid("old"), None, None)
    assert found.expected == "host cmp1 has only one compute node: cmp1.example.org"
    assert found.actual == (
        f"compute node old.example.org (uuid {uuid('old')}, id 2) has a row with 48 vCPUs, 262144 MiB, 1000 GiB, "
        "but libvirt reports no such hypervisor"
    )
    assert found.facts == (("compute_node_id", 2), ("hypervisor_hostname", "old.example.org"))
    assert found.severity is Severity.WARNING
    assert not found.rests_on_recorded
    assert "check that no instance names the old node" in found.remedy


def test_each_orphaned_row_has_its_own_finding():
    other = node(3, uuid=uuid("older"), hypervisor_hostname="older.example.org")
    found = findings(snapshot(nova=state(nodes=(node(), OLD, other))), CODE)
    assert {f.provider_uuid for f in found} == {uuid("old"), uuid("older")}
    assert len({f.id for f in found}) == 2


QUIET = {
    "our own": snapshot(),
    "deleted": snapshot(nova=state(nodes=(node(), node(2, uuid=uuid("old"), hypervisor_hostname="x", deleted=True)))),
    "our identity under an older name": snapshot(nova=state(nodes=(node(hypervisor_hostname="old.example.org"),))),
    "our name under another identity is a conflict, not an orphan": snapshot(nova=state(nodes=(node(uuid=uuid("x")),))),
    "no cloud": snapshot(nova=state(kind=StateKind.NONE, nodes=())),
    "state not read": without(WORLD, STATE),
}


@pytest.mark.parametrize("world", QUIET.values(), ids=QUIET.keys())
def test_no_finding_if_the_row_is_in_use_or_deleted_or_its_owner_is_unclear(world):
    assert findings(world, CODE) == ()


def test_no_row_is_reported_as_orphaned_if_this_hosts_node_name_is_unknown():
    blind = without(WORLD, LIBVIRT)
    decision = decide(blind, settings(), Subject(root_uuid=ROOT_UUID, node=None), None)
    assert [f for f in decision.findings if f.code == CODE] == []
