"""hostname-duplicated: another host has a compute node with the same name as the compute node of this host.

Compute node names are unique only within a host, but provider names are unique in the whole cloud. So only one of the
two hosts can have a provider with this name. If a compute node row of another host has this host's own uuid, the agent
reports identity-changed instead. This happens if a host was cloned or moved.
"""

from __future__ import annotations

from agent.findings.base import AuditFacts, Findings, Rule
from agent.findings.base_remedies import by_hand, inspect, openstack, show_provider
from agent.model.finding import Remedy, Severity
from agent.model.nova import ComputeNode
from agent.model.snapshot import LIBVIRT, STATE
from agent.text.headline import short_name


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
            headline=f"{short_name(audit.node)}: hosts {audit.host} and {row.host} both have a compute node with "
            "this name",
            provider_uuid=row.uuid,
            subject=row.host,
            expected=f"only host {audit.state.host} has a compute node named {audit.node}",
            actual=f"host {row.host} also has a compute node named {audit.node} (uuid {row.uuid}, id {row.id})",
            facts=(("compute_node_id", row.id), ("host", row.host), ("provider_name", audit.node)),
            remedies=_remedies(row),
        )


def _remedies(row: ComputeNode) -> tuple[Remedy, ...]:
    return (
        inspect(f"see whether host {row.host} is alive", openstack("compute", "service", "list", "--host", row.host)),
        inspect("see which allocations the other host's provider has", show_provider(row.uuid)),
        by_hand(
            "if both hosts exist, give one of them another name (hostnamectl), and restart libvirt and the agent there"
        ),
        by_hand(
            f"if host {row.host} no longer exists, delete its compute service (openstack compute service delete), and "
            "its provider",
            openstack("resource", "provider", "delete", row.uuid),
        ),
    )


RULE = Rule(code="hostname-duplicated", severity=Severity.ERROR, find=_find, rests_on=frozenset({STATE, LIBVIRT}))
