"""compute-node-orphaned: the database has a compute node row of this host that no hypervisor reports.

libvirt reports one node per host, so every other row of the host that is not deleted is an orphan. The finding also
says what the row's deletion would touch: the instances on the node, and what Placement records for the node's provider.
"""

from __future__ import annotations

from collections.abc import Iterator

from agent.findings.base import AuditFacts, Findings, Rule
from agent.findings.base_cell import deletion
from agent.findings.base_headlines import short_amounts
from agent.findings.base_remedies import by_hand, by_nova_compute, inspect, openstack, show_provider, unset, wait
from agent.model.finding import Remedy, Severity
from agent.model.nova import ComputeNode, Instance, StateKind
from agent.model.placement import DetachedTree
from agent.model.settings import Role
from agent.model.snapshot import LIBVIRT, STATE
from agent.node_record.orphans import orphan_rows
from agent.text.headline import short_name
from agent.text.wording import some_of

# The finding describes at most this many consumers of the node's provider, and has a command for each.
_NAMED = 3


def _find(audit: AuditFacts) -> Findings:
    for node in orphan_rows(audit.state, audit.node, audit.root_uuid):
        yield RULE.finding(
            audit,
            headline=f"{short_name(node.hypervisor_hostname)}: compute node row {node.id} of {audit.host} belongs to "
            "no hypervisor that libvirt reports",
            provider_uuid=node.uuid,
            subject=node.hypervisor_hostname,
            expected=f"host {audit.host} has only one compute node: {audit.node}",
            actual=f"compute node {node.hypervisor_hostname} (uuid {node.uuid}, id {node.id}) has a row with "
            f"{node.vcpus} vCPUs, {node.memory_mib} MiB, {node.local_gib} GiB, but libvirt reports no such hypervisor",
            facts=(
                ("compute_node_id", node.id),
                ("hypervisor_hostname", node.hypervisor_hostname),
                ("vcpus", node.vcpus),
                ("memory_mib", node.memory_mib),
                ("local_gib", node.local_gib),
            ),
            known=_known(audit, node),
            remedies=_remedies(audit, node),
        )


def _known(audit: AuditFacts, node: ComputeNode) -> Iterator[str]:
    """Yield texts about the node's instances in the database, and about the node's provider in Placement."""
    instances = _instances(audit, node)
    here = f"of host {audit.host} on node {node.hypervisor_hostname}"
    if instances:
        listed = some_of([f"{each.uuid} ({short_name(each.name)})" for each in instances])
        yield f"the database has {_counted(len(instances), 'instance')} {here}: {listed}"
    else:
        yield f"the database has no instance {here}"
    tree = _tree(audit, node)
    if tree is None:
        yield f"provider {node.uuid} of the node was not read from Placement"
    elif not tree.providers:
        yield f"Placement has no provider {node.uuid}, so nothing is allocated from the node"
    else:
        yield from _provider(audit, tree)


def _provider(audit: AuditFacts, tree: DetachedTree) -> Iterator[str]:
    offered = [(each.resource_class, each.total) for provider in tree.providers for each in provider.inventories]
    yield f"in Placement, the node's provider {tree.uuid} still offers {short_amounts(offered)}"
    if not tree.allocations:
        yield "nothing is allocated from that provider"
    consumers = _consumers(tree)
    for consumer in consumers[:_NAMED]:
        held = ((each.resource_class, each.amount) for each in tree.allocations if each.consumer_uuid == consumer)
        yield f"consumer {consumer}{_of_instance(audit, consumer)} has {short_amounts(held)} there"
    if len(consumers) > _NAMED:
        yield f"{len(consumers) - _NAMED} more consumers have allocations there"


def _of_instance(audit: AuditFacts, consumer: str) -> str:
    found = next((i for i in audit.state.instances if i.uuid == consumer), None) if audit.state else None
    if found is None:
        return ""
    where = "which is deleted" if found.deleted else f"which lives on {found.host or 'no host'}"
    return f" (instance {short_name(found.name)}, {where})"


def _consumers(tree: DetachedTree) -> list[str]:
    return sorted({each.consumer_uuid for each in tree.allocations})


def _instances(audit: AuditFacts, node: ComputeNode) -> list[Instance]:
    here = (node.host, node.hypervisor_hostname)
    every = audit.state.instances if audit.state else ()
    return [each for each in every if not each.deleted and (each.host, each.node) == here]


def _tree(audit: AuditFacts, node: ComputeNode) -> DetachedTree | None:
    return next((each for each in audit.view.orphans if each.uuid == node.uuid), None) if audit.view else None


def _counted(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def _remedies(audit: AuditFacts, node: ComputeNode) -> Iterator[Remedy]:
    tree = _tree(audit, node)
    if tree is None or tree.providers:
        yield inspect("see the node's provider in Placement", show_provider(node.uuid))
    if _instances(audit, node):
        yield by_hand(
            "do not delete the row while an instance is on the node. If the host was renamed: give the host its old "
            "name back, move these instances to another host, and only then rename the host"
        )
        return
    if audit.settings.role is Role.OWNER and audit.state is not None and audit.state.kind is StateKind.CONDUCTOR:
        words = (
            "once enough audits have seen this finding, the agent deletes the row; if the node's provider has no "
            "allocations, the agent deletes the provider too"
        )
        yield wait(words)
        return
    yield from by_nova_compute(audit, _NOVA)
    words, command = deletion(audit.settings.access.database, "compute_nodes", node.id)
    yield by_hand(f"mark this compute node row as deleted in the cell database{words}", command)
    yield from _of_provider(node, tree)


def _of_provider(node: ComputeNode, tree: DetachedTree | None) -> Iterator[Remedy]:
    """Yield what to do with the node's provider after the row is deleted; nothing if Placement has no such provider."""
    if tree is not None and not tree.providers:
        return
    for consumer in _consumers(tree)[:_NAMED] if tree else ():
        yield by_hand(
            f"if consumer {consumer} has no guest on this host, remove its allocation from the node's provider",
            unset(consumer, sorted({a.provider_uuid for a in tree.allocations if a.consumer_uuid == consumer}))
            if tree
            else None,
        )
    words = "if nothing is allocated from the node's provider, delete the provider"
    yield by_hand(words, openstack("resource", "provider", "delete", node.uuid))


_NOVA = (
    "nova-compute of this host deletes the compute node row and the row's provider in its next audit; if the row "
    "stays, search nova-compute's log for 'orphan compute node'"
)

RULE = Rule(code="compute-node-orphaned", severity=Severity.WARNING, find=_find, rests_on=frozenset({STATE, LIBVIRT}))
