"""reshape-needed: allocations on the root provider use a class that belongs on child providers (scenarios 106, 107).

An older nova-compute published the class on the root. While allocations use the class there, the agent does not publish
the child providers, because Placement would offer the same devices twice. The agent publishes the root's other classes.
No audit moves an allocation; heal does (agent/repairs/reshape_needed.py).
"""

from __future__ import annotations

from collections.abc import Mapping

from agent.findings.base import AuditFacts, Findings, Rule, amount_text, claims_of
from agent.model.finding import Finding, Severity
from agent.model.placement import ROOT, Inventory
from agent.model.settings import Role
from agent.nested import BUILTIN as FAMILIES
from agent.nested.base import NestedFamily, still_on_root
from agent.provider_tree.desired import can_decide


def _find(audit: AuditFacts) -> Findings:
    for name, family in sorted(to_move(audit).items()):
        yield _finding(audit, family, name)


def to_move(audit: AuditFacts) -> Mapping[str, NestedFamily]:
    """Return {class: its family of child providers} for each class that is used on the root but belongs on children."""
    configured = (family for family in FAMILIES if family.is_configured(audit.settings))
    return {name: family for family in configured for name in still_on_root(family, audit.snapshot)}


def _finding(audit: AuditFacts, family: NestedFamily, name: str) -> Finding:
    rows = [r for r in audit.rows if r.provider_key == ROOT and r.resource_class == name and r.recorded]
    used = sum(row.recorded or 0 for row in rows)
    children = _children(audit, family, name)
    who = ", ".join(f"{row.key} ({row.recorded})" for row in rows)
    return RULE.finding(
        audit,
        resource_class=name,
        expected=f"only child providers offer {name}: {_offers(audit, children)}",
        actual=f"{amount_text(name, used)} used on the root provider by {len(rows)} consumers: {who}; "
        "the child providers are not published until heal or a migration has moved these allocations",
        evidence=claims_of(rows),
        facts=(("used", used), ("consumers", len(rows)), ("children", ", ".join(key for key, _ in children))),
        rests_on_recorded=True,
        remedy=(RULE.remedy if audit.settings.role is Role.OWNER else _BESIDE_NOVA)
        .replace("CLASS", name)
        .replace("FAMILY", family.name),
    )


def _children(audit: AuditFacts, family: NestedFamily, name: str) -> tuple[tuple[str, Inventory], ...]:
    """Return (name of the provider's key, inventory) of each child that should offer the class; () if none is known."""
    if not can_decide(family, audit.snapshot, audit.settings):
        return ()
    nested = family.providers(audit.snapshot, audit.settings)
    return tuple((one.key.name, i) for one in nested for i in one.inventories if i.resource_class == name)


def _offers(audit: AuditFacts, children: tuple[tuple[str, Inventory], ...]) -> str:
    offers = ", ".join(f"{audit.node}_{key} ({inventory.total})" for key, inventory in children)
    return offers or "the child providers are unknown, because this host does not offer the class now"


# nova/virt/libvirt/driver.py:_update_provider_tree_for_vgpu raises ReshapeNeeded, which nova-compute handles only when
# it starts (nova/compute/resource_tracker.py:_update_to_placement).
_BESIDE_NOVA = (
    "nova-compute of this host moves CLASS to its FAMILY providers itself when it starts: systemctl restart "
    "nova-compute (your distribution may name the unit differently); if its log then says ReshapeFailed, migrate or "
    "shelve these guests first"
)

RULE = Rule(
    code="reshape-needed",
    severity=Severity.ERROR,
    remedy="stocktake heal --finding FINDING prints the plan: which amount moves to which FAMILY provider. The same "
    "command with --plan DIGEST --yes moves all amounts at once; the next audit writes the traits. CLASS belongs to "
    "the FAMILY provider that the guest's XML shows (virsh dumpxml CONSUMER); where that is not clear, heal moves "
    "nothing: migrate or shelve these guests, and bring them back once the FAMILY providers are published",
    find=_find,
)
