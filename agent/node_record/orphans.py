"""Decide which of this host's compute nodes are orphaned, and which of their records and providers may be deleted.

libvirt reports one node per host. An undeleted compute node record of the host that names another node is an orphan.
nova-compute deletes an orphan's provider and the allocations from this provider. The agent deletes a provider only if
nothing is allocated from the provider's tree, and if every provider in the tree belongs to nova or the agent (scenarios
68 and 158 in docs/differences.md).

The agent deletes the record before the provider. If another host has taken over the record and the provider, nova
refuses to delete the record, and the agent keeps the provider.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import os_traits

from agent.model.compared import Subject
from agent.model.nova import ComputeNode, NovaState
from agent.model.owners import AGENT_OWNER, RIVAL
from agent.model.placement import DetachedTree, LeftProvider, PlacementView
from agent.model.plan import EMPTY_PLAN, DeleteComputeNode, DeleteProvider, Plan
from agent.model.settings import Settings
from agent.model.snapshot import Snapshot
from agent.node_record.record import writes_records

RECORD = "delete compute node record"
PROVIDERS = "delete orphaned provider"

_Codes = frozenset[tuple[str, str | None]]


def orphan_rows(state: NovaState | None, node: str | None, root_uuid: str | None) -> tuple[ComputeNode, ...]:
    """Return this host's undeleted compute node rows that name another node than ``node``.

    Returns () if an argument is None (unknown).

    A row with ``root_uuid`` and another node name is no orphan: the host was renamed (finding identity-changed).
    """
    if state is None or node is None or root_uuid is None:
        return ()
    return tuple(
        row
        for row in state.nodes
        if not row.deleted and row.host == state.host and row.hypervisor_hostname != node and row.uuid != root_uuid
    )


def taken_by_others(state: NovaState | None) -> frozenset[str]:
    """Return the uuids of other hosts' undeleted compute node rows, among the rows that the state source returned."""
    nodes = state.nodes if state else ()
    return frozenset(row.uuid for row in nodes if state and not row.deleted and row.host != state.host)


def trees_to_read(
    state: NovaState | None, node: str | None, root_uuid: str | None, left: Iterable[LeftProvider]
) -> frozenset[str]:
    """Return the uuids of the provider trees that an audit must read besides the host's own tree (``root_uuid``).

    These are the trees of orphaned compute nodes, and the trees in ``left``: their compute node records are already
    deleted.
    """
    rows = {row.uuid for row in orphan_rows(state, node, root_uuid)}
    return frozenset(rows | {provider.uuid for provider in left}) - {root_uuid or ""}


def obstacle(tree: DetachedTree, name: str) -> str | None:
    """Return why the providers of an orphan named ``name`` must stay; None if they may be deleted or none exist."""
    if not tree.providers:
        return None
    root = tree.root
    if root is None or root.parent_uuid is not None:
        return f"provider {tree.uuid} is part of another provider's tree"
    if root.name != name:
        return f"the provider is named {root.name} now, not {name} like the orphaned node"
    if tree.allocations:
        return _allocated(tree)
    return _foreign(tree)


def _foreign(tree: DetachedTree) -> str | None:
    """Return a text about the providers in the tree that do not belong to this node; None if there are none."""
    if nodes := sorted(p.name for p in tree.providers if p.uuid != tree.uuid and os_traits.COMPUTE_NODE in p.traits):
        return f"another compute node is in the provider's tree: {', '.join(nodes)}"
    if foreign := sorted(p.name for p in tree.providers if not p.traits & {AGENT_OWNER, RIVAL}):
        return f"another service may own {', '.join(foreign)}: neither trait {RIVAL} nor trait {AGENT_OWNER} is set"
    return None


def _allocated(tree: DetachedTree) -> str:
    consumers = {allocation.consumer_uuid for allocation in tree.allocations}
    classes = sorted({allocation.resource_class for allocation in tree.allocations})
    who = "1 consumer has" if len(consumers) == 1 else f"{len(consumers)} consumers have"
    return f"{who} allocations in this provider's tree: {', '.join(classes)}"


def orphan_plan(
    snapshot: Snapshot, settings: Settings, subject: Subject, left: Iterable[LeftProvider], confirmed: _Codes
) -> Plan:
    """Return the plan that deletes this host's orphaned compute node records and their providers in Placement.

    The plan also deletes the providers in ``left``: their compute node records are deleted already. Children are
    removed before parents. ``confirmed``: (code, provider uuid) of each confirmed finding of this audit.
    """
    state, view = snapshot.nova.value, snapshot.placement.value
    if state is None or view is None or not writes_records(settings, state):
        return EMPTY_PLAN
    rows = orphan_rows(state, subject.node, subject.root_uuid)
    parts = [_of_row(row, state, view, confirmed) for row in rows]
    live = {row.uuid for row in state.nodes if not row.deleted}
    parts.extend(
        _providers(one, view) for one in left if one.uuid not in live and ("provider-orphaned", one.uuid) in confirmed
    )
    return Plan(
        records=tuple(record for part in parts for record in part.records),
        removals=tuple(removal for part in parts for removal in part.removals),
        held_back=tuple(held for part in parts for held in part.held_back),
    )


def _of_row(row: ComputeNode, state: NovaState, view: PlacementView, confirmed: _Codes) -> Plan:
    why = _record_stays(row, state, confirmed)
    if why is not None:
        return Plan.nothing(row.uuid, RECORD, why)
    record = next(record for record in state.records if record.uuid == row.uuid)
    providers = _providers(LeftProvider(row.uuid, row.hypervisor_hostname), view)
    return replace(providers, records=(DeleteComputeNode(record=record),))


def _record_stays(row: ComputeNode, state: NovaState, confirmed: _Codes) -> str | None:
    if ("compute-node-orphaned", row.uuid) not in confirmed:
        return "the finding compute-node-orphaned is not confirmed yet"
    if not any(record.uuid == row.uuid for record in state.records):
        return f"the compute node record of {row.hypervisor_hostname} was not read"
    here = (row.host, row.hypervisor_hostname)
    if named := [i for i in state.instances if not i.deleted and (i.host, i.node) == here]:
        one_or_more = f"instance {named[0].uuid} is" if len(named) == 1 else f"{len(named)} instances are"
        return f"{one_or_more} on node {row.hypervisor_hostname}"
    return None


def _providers(one: LeftProvider, view: PlacementView) -> Plan:
    """Return the plan that deletes the providers, children first (the view has parents first)."""
    tree = next((tree for tree in view.orphans if tree.uuid == one.uuid), None)
    if tree is None:
        return Plan.nothing(one.uuid, PROVIDERS, "the provider's tree was not read")
    why = obstacle(tree, one.name)
    if why is not None:
        return Plan.nothing(one.uuid, PROVIDERS, why)
    return Plan(removals=tuple(DeleteProvider(provider_uuid=p.uuid) for p in reversed(tree.providers)))


def left_after(
    before: tuple[LeftProvider, ...],
    view: PlacementView | None,
    *,
    deleted: Iterable[DeleteComputeNode],
    removed: frozenset[str],
    root_uuid: str | None,
    taken: frozenset[str] = frozenset(),
    rows: Iterable[ComputeNode] = (),
) -> tuple[LeftProvider, ...]:
    """Return this host's old providers: the agent deleted their compute node records, or will delete these records.

    The agent remembers such a provider until Placement no longer has it, because without its record the provider is
    listed nowhere else.

    ``before``: the result of the previous audit.
    ``rows``: compute nodes whose records the agent will delete.
    ``deleted``, ``removed``: the records and the providers that this audit deleted.
    ``taken``: uuids of other hosts' compute nodes. The providers with these uuids are left out.
    """
    known = {one.uuid: one for one in before}
    known.update({row.uuid: LeftProvider(row.uuid, row.hypervisor_hostname) for row in rows})
    known.update({w.record.uuid: LeftProvider(w.record.uuid, w.record.hypervisor_hostname) for w in deleted})
    gone = {tree.uuid for tree in (view.orphans if view else ()) if not tree.providers}
    return tuple(sorted(one for one in known.values() if one.uuid not in gone | removed | taken | {root_uuid}))
