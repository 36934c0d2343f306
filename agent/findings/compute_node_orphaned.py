"""compute-node-orphaned: the database has a compute node row of this host that no hypervisor reports.

libvirt reports one node per host, so every other row of the host that is not deleted is an orphan.
"""

from __future__ import annotations

from agent.findings.base import AuditFacts, Findings, Rule
from agent.model.finding import Severity
from agent.node_record.orphans import orphan_rows


def _find(audit: AuditFacts) -> Findings:
    for node in orphan_rows(audit.state, audit.node, audit.root_uuid):
        yield RULE.finding(
            audit,
            provider_uuid=node.uuid,
            subject=node.hypervisor_hostname,
            expected=f"host {audit.settings.host} has only one compute node: {audit.node}",
            actual=f"compute node {node.hypervisor_hostname} (uuid {node.uuid}, id {node.id}) has a row with "
            f"{node.vcpus} vCPUs, {node.memory_mib} MiB, {node.local_gib} GiB",
            facts=(("compute_node_id", node.id), ("hypervisor_hostname", node.hypervisor_hostname)),
        )


RULE = Rule(
    code="compute-node-orphaned",
    severity=Severity.WARNING,
    remedy="check that no instance names this node (a renamed host leaves the row of its old name); in role owner with "
    "[state] source = conductor, the agent deletes the row once this finding is confirmed, and the row's provider if "
    "the provider has no allocations; in other roles or with another source, delete the row and its provider by hand",
    find=_find,
)
