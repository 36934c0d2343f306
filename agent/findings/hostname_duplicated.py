"""hostname-duplicated: another host has a compute node with this node's name; only one of the two can have a provider.

Provider names are unique in a cloud, compute node names only within a host. A compute node row of another host with
this host's own uuid (a cloned or moved host) is reported as identity-changed instead.
"""

from __future__ import annotations

from agent.findings.base import AuditFacts, Findings, Rule
from agent.model.finding import Severity


def _find(audit: AuditFacts) -> Findings:
    if audit.state is None or audit.node is None:
        return
    for row in audit.state.nodes:
        if row.deleted or row.host == audit.state.host or row.hypervisor_hostname != audit.node:
            continue
        if row.uuid == audit.root_uuid:
            continue
        yield RULE.finding(
            audit,
            provider_uuid=row.uuid,
            subject=row.host,
            expected=f"only host {audit.state.host} has a compute node named {audit.node}",
            actual=f"host {row.host} also has a compute node named {audit.node} (uuid {row.uuid}, id {row.id})",
            facts=(("compute_node_id", row.id), ("host", row.host), ("provider_name", audit.node)),
        )


RULE = Rule(
    code="hostname-duplicated",
    severity=Severity.ERROR,
    remedy="give one of the two hosts another name (hostnamectl), and restart libvirt and the agent there; "
    "if the other host no longer exists, delete its compute node row and its provider PROVIDER",
    find=_find,
)
