"""compute-node-orphaned: the database has a compute node row of this host that no hypervisor reports.

libvirt reports one node per host, so every other row of the host that is not deleted is an orphan.
"""

from __future__ import annotations

from agent.findings.base import AuditFacts, Findings, Rule
from agent.findings.base_remedies import by_hand, inspect, openstack, show_provider, wait
from agent.model.finding import Remedy, Severity
from agent.model.nova import ComputeNode, StateKind
from agent.model.settings import Role
from agent.model.snapshot import LIBVIRT, STATE
from agent.node_record.orphans import orphan_rows
from agent.text.headline import short_name


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
            facts=(("compute_node_id", node.id), ("hypervisor_hostname", node.hypervisor_hostname)),
            remedies=_remedies(audit, node),
        )


def _remedies(audit: AuditFacts, node: ComputeNode) -> tuple[Remedy, ...]:
    look = (
        inspect(
            "check that no instance names the old node (a renamed host leaves the row of its old name)",
            openstack("server", "list", "--all-projects", "--long", "--host", audit.host),
        ),
        inspect(
            "see which allocations the row's provider has, if Placement has this provider", show_provider(node.uuid)
        ),
    )
    if audit.settings.role is Role.OWNER and audit.state is not None and audit.state.kind is StateKind.CONDUCTOR:
        words = (
            "the agent deletes the row once this finding is confirmed, and its provider if nothing is allocated there"
        )
        return (*look, wait(words))
    row = f"UPDATE compute_nodes SET deleted = id, deleted_at = UTC_TIMESTAMP() WHERE id = {node.id} AND deleted = 0"
    return (
        *look,
        by_hand(f"delete the row in the cell database, as nova does ({row})"),
        by_hand(
            "if Placement has the row's provider and nothing is allocated there, delete the provider",
            _delete(node.uuid),
        ),
    )


def _delete(provider: str) -> str | None:
    return openstack("resource", "provider", "delete", provider)


RULE = Rule(code="compute-node-orphaned", severity=Severity.WARNING, find=_find, rests_on=frozenset({STATE, LIBVIRT}))
