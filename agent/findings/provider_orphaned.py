"""provider-orphaned: Placement still has a provider of a former compute node of this host.

The agent does not delete the provider while its tree contains allocations or a provider of another service. No audit
removes these allocations. While the compute node's record exists, the agent also reports compute-node-orphaned.
"""

from __future__ import annotations

from agent.findings.base import AuditFacts, Findings, Rule, amount_text
from agent.findings.base_remedies import by_hand, inspect, show_allocations, show_provider, wait
from agent.model.finding import Finding, Remedy, Severity
from agent.model.placement import Allocation, DetachedTree
from agent.model.snapshot import PLACEMENT, STATE
from agent.node_record.orphans import obstacle, orphan_rows, taken_by_others
from agent.text.headline import short_name

_DELETED_SOON = "nothing is allocated from the provider; the agent deletes it once enough audits have seen this finding"


def _find(audit: AuditFacts) -> Findings:
    if audit.state is None:
        # Nova's database was not read, so the agent does not know whether the compute node record was deleted or
        # belongs to another host. Then the provider may be orphaned or not, and there is no finding.
        return
    names = {one.uuid: one.name for one in audit.left}
    rows = {row.uuid: row.hypervisor_hostname for row in orphan_rows(audit.state, audit.node, audit.root_uuid)}
    others = taken_by_others(audit.state)
    for tree in audit.view.orphans if audit.view else ():
        name = rows.get(tree.uuid) or names.get(tree.uuid)
        if name is None or not tree.providers or tree.uuid in others:
            continue
        why = obstacle(tree, name)
        if why is None and tree.uuid in rows:
            continue
        yield _finding(audit, tree, name, why)


def _finding(audit: AuditFacts, tree: DetachedTree, name: str, why: str | None) -> Finding:
    children = len(tree.providers) - 1
    # An example of the text: "provider UUID and 2 below it are still in Placement".
    are_still = f"and {children} below it are still" if children else "is still"
    return RULE.finding(
        audit,
        headline=f"{short_name(name)}: this is no compute node of {audit.host} any more, but Placement still has its "
        "provider",
        provider_uuid=tree.uuid,
        subject=name,
        expected=f"{name} has no provider in Placement, because it is not a compute node of host {audit.host} any more",
        actual=f"provider {tree.uuid} {are_still} in Placement; {why or _DELETED_SOON}",
        facts=(
            ("providers", len(tree.providers)),
            ("inventory", _inventory(tree)),
            ("allocations", "; ".join(sorted(map(_held, tree.allocations)))),
        ),
        remedies=_remedies(tree, why),
    )


def _inventory(tree: DetachedTree) -> str:
    """Return the totals that Placement still offers on this provider, as text: ``48 VCPU, 262144 MiB of MEMORY_MB``."""
    root = tree.root
    rows = sorted(root.inventories, key=lambda each: each.resource_class) if root else ()
    return ", ".join(amount_text(each.resource_class, each.total) for each in rows)


def _held(allocation: Allocation) -> str:
    return f"{allocation.consumer_uuid}: {amount_text(allocation.resource_class, allocation.amount)}"


def _remedies(tree: DetachedTree, why: str | None) -> tuple[Remedy, ...]:
    if why is None:
        return (wait("no action: the agent deletes the provider once enough audits have seen this finding"),)
    consumers = sorted({allocation.consumer_uuid for allocation in tree.allocations})[:_NAMED]
    return (
        inspect("see which allocations the provider has", show_provider(tree.uuid)),
        *(inspect(f"see what consumer {each} is", show_allocations(each)) for each in consumers),
        by_hand("move or remove these allocations; then the next audits delete the provider"),
        by_hand("a provider that neither nova nor Stocktake created must be deleted by its owner"),
    )


# The remedies have commands for at most this many consumers. No consumer is lost, because the remedies also have the
# command that shows the provider with all its consumers.
_NAMED = 3

RULE = Rule(code="provider-orphaned", severity=Severity.WARNING, find=_find, rests_on=frozenset({PLACEMENT, STATE}))
