"""Orphaned compute nodes and their providers: what is deleted when, and what must stay (scenarios 68, 69, 158)."""

from __future__ import annotations

import dataclasses

import pytest

from agent.model.finding import History
from agent.model.nova import StateKind
from agent.model.placement import Allocation, DetachedTree, LeftProvider, Provider
from agent.model.plan import DeleteComputeNode, DeleteProvider
from agent.model.settings import Role
from agent.model.snapshot import PLACEMENT
from agent.node_record.orphans import left_after, obstacle, orphan_rows
from tests.rigs.facts import (
    NODE,
    ROOT_UUID,
    findings,
    instance,
    node,
    root,
    settings,
    snapshot,
    uuid,
    view,
    without,
)
from tests.rigs.records import about, conductor, decision, history_after, orphan, stored, tree

OLD = orphan()
ROW = node(2, uuid=OLD.uuid, hypervisor_hostname=OLD.hypervisor_hostname)


def held(consumer: str, record=OLD) -> Allocation:
    return Allocation(
        consumer_uuid=uuid(consumer), consumer_generation=1, provider_uuid=record.uuid, resource_class="VCPU", amount=4
    )


def child(name: str = "old-name_amd_sev", **changes) -> Provider:
    plain = Provider(
        uuid=uuid(name), name=name, parent_uuid=OLD.uuid, generation=1, traits=frozenset({"CUSTOM_OWNER_STOCKTAKE"})
    )
    return dataclasses.replace(plain, **changes)


def below(whole: DetachedTree, *children: Provider) -> DetachedTree:
    return dataclasses.replace(whole, providers=(*whole.providers, *children))


def world_of(*trees, instances=(), **changes):
    state = conductor(*instances, **{"nodes": (node(1), ROW), "records": (stored(), OLD), **changes})
    return snapshot(nova=state, libvirt=about(), placement=view(provider=root(), orphans=trees))


def after(world, audits=1, chosen=None):
    """Return the plan of the next audit after that many audits."""
    return decision(world, chosen, history_after(audits, world, chosen)).plan


def test_s68_an_orphaned_node_and_its_provider_are_deleted():
    """The second audit that finds an orphaned compute node record deletes the record and its unused provider."""
    world = world_of(below(tree(OLD), child()))
    first = after(world, audits=0)
    assert (first.records, first.removals) == ((), ())
    assert [h.why for h in first.held_back if h.provider_uuid == OLD.uuid] == [
        "the finding compute-node-orphaned is not confirmed yet"
    ]
    second = after(world)
    assert second.records == (DeleteComputeNode(record=OLD),)
    assert second.removals == (DeleteProvider(provider_uuid=child().uuid), DeleteProvider(provider_uuid=OLD.uuid))


def test_the_first_audit_may_delete_an_orphaned_node():
    """If confirm_audits is 1, the first audit that finds an orphaned compute node record already deletes the record."""
    chosen = settings(confirm_audits=1)
    assert after(world_of(tree(OLD)), 0, chosen).records == (DeleteComputeNode(record=OLD),)


def test_an_orphaned_node_row_is_kept_right_after_a_change():
    """If an orphaned row of compute_nodes has changed since the last audit, the agent does not delete the row yet."""
    before = history_after(1, world_of(tree(OLD)))
    changed = dataclasses.replace(ROW, vcpus=5)
    world = world_of(tree(OLD), nodes=(node(1), changed))
    assert decision(world, None, before).plan.records == ()


def test_an_orphaned_provider_above_another_node_is_kept():
    """The agent keeps an orphaned provider in Placement if another host's compute node is below this provider."""
    nested = dataclasses.replace(child(), name="cmp2.example.org")
    node_below = dataclasses.replace(nested, traits=nested.traits | {"COMPUTE_NODE"})
    found = after(world_of(below(tree(OLD), node_below)))
    assert found.removals == ()
    assert "another compute node is in the provider's tree: cmp2.example.org" in {h.why for h in found.held_back}


def test_s158_an_orphaned_provider_with_allocations_is_kept():
    """While consumers have allocations from an orphaned provider, the agent reports the provider and keeps it."""
    whole = dataclasses.replace(below(tree(OLD), child()), allocations=(held("i1"), held("i2")))
    world = world_of(whole)
    plan = after(world)
    assert plan.records == (DeleteComputeNode(record=OLD),)
    assert plan.removals == ()
    assert plan.allocations == ()
    assert ("delete orphaned provider", "2 consumers have allocations in this provider's tree: VCPU") in [
        (h.what, h.why) for h in plan.held_back
    ]
    (found,) = findings(world, "provider-orphaned")
    assert (found.provider_uuid, found.subject) == (OLD.uuid, "old-name")
    assert found.actual == (
        f"provider {OLD.uuid} and 1 below it are still in Placement; "
        "2 consumers have allocations in this provider's tree: VCPU"
    )
    assert uuid("i1") in str(dict(found.facts)["allocations"])


STAYS = {
    "somebody else's child": below(tree(OLD), child(traits=frozenset())),
    "no owner at all": tree(OLD, traits=frozenset({"COMPUTE_NODE"})),
    "another name": tree(OLD, name="something-else"),
    "part of another tree": tree(OLD, parent_uuid=ROOT_UUID),
    "not our node's": DetachedTree(uuid=OLD.uuid, providers=(child(parent_uuid=None),)),
}


@pytest.mark.parametrize("whole", STAYS.values(), ids=STAYS)
def test_an_orphaned_provider_of_doubtful_owner_is_kept(whole):
    """If an orphaned provider may belong to somebody else, the agent reports the provider and does not delete it."""
    world = world_of(whole)
    plan = after(world)
    assert plan.removals == ()
    assert len(findings(world, "provider-orphaned")) == 1


def test_an_orphaned_provider_is_kept_if_its_tree_is_unread():
    """The agent does not delete an orphaned provider if Placement's tree of that provider was not read."""
    plan = after(world_of())
    assert plan.removals == ()
    assert ("delete orphaned provider", "the provider's tree was not read") in [(h.what, h.why) for h in plan.held_back]


def test_an_orphaned_node_row_without_a_provider_is_deleted():
    """The agent deletes an orphaned row of compute_nodes if Placement no longer has a provider for that node."""
    plan = after(world_of(DetachedTree(uuid=OLD.uuid)))
    assert (plan.records, plan.removals) == ((DeleteComputeNode(record=OLD),), ())
    assert not [h for h in plan.held_back if h.provider_uuid == OLD.uuid]


def test_an_orphaned_node_with_an_instance_is_kept():
    """While an instance is on an orphaned compute node, the agent deletes neither the node's row nor its provider."""
    world = world_of(tree(OLD), instances=(instance(node="old-name"),))
    plan = after(world)
    assert (plan.records, plan.removals) == ((), ())
    (why,) = [h.why for h in plan.held_back if h.provider_uuid == OLD.uuid]
    assert why == f"instance {uuid('i1')} is on node old-name"


def test_an_orphaned_node_with_a_deleted_instance_is_deleted():
    """The agent deletes an orphaned compute node record even if a deleted instance still refers to that node."""
    world = world_of(tree(OLD), instances=(instance(node="old-name", deleted=True),))
    assert after(world).records == (DeleteComputeNode(record=OLD),)


NOT_TOUCHED = {
    "sql only reads": (world_of(tree(OLD), kind=StateKind.SQL), None),
    "companion": (world_of(tree(OLD)), settings(role=Role.COMPANION)),
    "placement unread": (without(world_of(tree(OLD)), PLACEMENT), None),
    "the record was not read in full": (world_of(tree(OLD), records=(stored(),)), None),
    "identity in doubt": (
        world_of(tree(OLD), nodes=(node(1, hypervisor_hostname="renamed"), ROW)),
        None,
    ),
}


@pytest.mark.parametrize(("world", "chosen"), NOT_TOUCHED.values(), ids=NOT_TOUCHED)
def test_an_orphaned_node_is_kept_if_deletion_is_unsafe(world, chosen):
    """If Placement is unreadable, for example, the agent does not delete an orphaned compute node."""
    plan = after(world, 3, chosen)
    assert not [w for w in plan.records if isinstance(w, DeleteComputeNode)]
    assert plan.removals == ()


def test_a_row_of_this_node_or_another_host_is_not_orphaned():
    """The agent does not treat the compute_nodes row of its own node or of another host as orphaned."""
    rows = (
        node(),
        node(3, uuid=uuid("b"), host="cmp2", hypervisor_hostname="x"),
        node(4, uuid=uuid("c"), hypervisor_hostname="x", deleted=True),
        node(5, uuid=ROOT_UUID, hypervisor_hostname="x"),
        node(6, uuid=uuid("d")),
    )
    assert orphan_rows(conductor(nodes=rows), NODE, ROOT_UUID) == ()
    assert orphan_rows(conductor(nodes=(ROW,)), None, ROOT_UUID) == ()
    assert orphan_rows(conductor(nodes=(ROW,)), NODE, None) == ()


# Providers left behind without a record -------------------------------------------------------------------------------

LEFT = LeftProvider(OLD.uuid, OLD.hypervisor_hostname)


def world_without_row(*trees):
    return world_of(*trees, nodes=(node(1),), records=(stored(),))


def test_a_later_audit_deletes_the_provider_of_a_deleted_node():
    """Once the provider of a deleted node is unused, one audit reports the provider and the next one deletes it."""
    whole = tree(OLD, held("i1"))
    (told,) = [
        f for f in decision(world_without_row(whole), None, History(left=(LEFT,))).findings if "orphan" in f.code
    ]
    assert told.code == "provider-orphaned"
    empty = world_without_row(tree(OLD))
    seen = decision(empty, None, History(left=(LEFT,)))
    assert seen.plan.removals == ()
    assert [f.actual for f in seen.findings if f.code == "provider-orphaned"] == [
        f"provider {OLD.uuid} is still in Placement; "
        "nothing is allocated from the provider; the agent deletes it once enough audits have seen this finding"
    ]
    remembered = History(left=(LEFT,), sightings=_sightings(empty), read_until=0)
    assert decision(empty, None, remembered).plan.removals == (DeleteProvider(provider_uuid=OLD.uuid),)


def _sightings(world):
    from agent.books.confirm import AuditReads, confirm

    look = AuditReads(now="2026-11-21T12:00:00.000Z", confirm_audits=2)
    return confirm(History(), decision(world, None, History(left=(LEFT,))).findings, look).history.sightings


def test_a_deleted_node_is_remembered_while_its_provider_exists():
    """The agent remembers a deleted compute node until Placement no longer has the provider of that node."""
    full = world_of(tree(OLD, held("i1"))).placement.value
    done = [DeleteComputeNode(record=OLD)]
    assert left_after((), full, deleted=done, removed=frozenset(), root_uuid=ROOT_UUID) == (LEFT,)
    assert left_after((), full, deleted=done, removed=frozenset({OLD.uuid}), root_uuid=ROOT_UUID) == ()
    assert left_after((LEFT,), full, deleted=[], removed=frozenset(), root_uuid=ROOT_UUID) == (LEFT,)
    gone = world_of(DetachedTree(uuid=OLD.uuid)).placement.value
    assert left_after((LEFT,), gone, deleted=[], removed=frozenset(), root_uuid=ROOT_UUID) == ()
    assert left_after((LEFT,), None, deleted=[], removed=frozenset(), root_uuid=ROOT_UUID) == (LEFT,)
    assert left_after((LEFT,), None, deleted=[], removed=frozenset(), root_uuid=OLD.uuid) == ()
    assert left_after((), full, deleted=[], removed=frozenset(), root_uuid=ROOT_UUID, rows=[ROW]) == (LEFT,)
    taken = frozenset({OLD.uuid})
    assert left_after((LEFT,), full, deleted=[], removed=frozenset(), root_uuid=ROOT_UUID, taken=taken) == ()


def test_an_unused_or_missing_provider_allows_deletion():
    """The agent may delete an orphaned compute node if its provider has no allocations or is no longer there."""
    assert obstacle(DetachedTree(uuid=OLD.uuid), "old-name") is None
    assert obstacle(tree(OLD), "old-name") is None
