"""reshape-needed: allocations on the root provider use a class that belongs on child providers (scenarios 106, 107).

An older nova-compute published the class on the root. While the root has allocations of this class, the agent does not
publish the child providers, because Placement would offer the same devices twice. The agent publishes the root's other
classes. No audit moves an allocation; ``stocktake heal`` moves these allocations (agent/repairs/reshape_needed.py).
"""

from __future__ import annotations

from collections.abc import Mapping

from agent.findings.base import AuditFacts, Findings, Rule, amount_text, claims_of
from agent.findings.base_remedies import by_hand, heal, inspect, restart_nova_compute, virsh
from agent.model.finding import Finding, Remedy, Severity
from agent.model.placement import ROOT, Inventory
from agent.model.settings import Role
from agent.model.snapshot import PLACEMENT
from agent.nested import BUILTIN as FAMILIES
from agent.nested.base import NestedFamily, still_on_root
from agent.provider_tree.desired import can_decide
from agent.text.amounts import with_unit


def _find(audit: AuditFacts) -> Findings:
    for name, family in sorted(to_move(audit).items()):
        yield _finding(audit, family, name)


def to_move(audit: AuditFacts) -> Mapping[str, NestedFamily]:
    """Return {class: its family of child providers} for each class whose allocations must move to child providers.

    A class is included only if a consumer still has an allocation of this class on the root provider.
    """
    configured = (family for family in FAMILIES if family.is_configured(audit.settings))
    return {name: family for family in configured for name in still_on_root(family, audit.snapshot)}


def _finding(audit: AuditFacts, family: NestedFamily, name: str) -> Finding:
    rows = [r for r in audit.rows if r.provider_key == ROOT and r.resource_class == name and r.recorded]
    used = sum(row.recorded or 0 for row in rows)
    children = _children(audit, family, name)
    who = ", ".join(f"{row.key} ({row.recorded})" for row in rows)
    return RULE.finding(
        audit,
        headline=f"{audit.host}: the root provider still has allocations of {with_unit(name, used)}, so the "
        f"{family.name} providers are not published",
        resource_class=name,
        expected=f"only child providers offer {name}: {_offers(audit, children)}",
        actual=f"{amount_text(name, used)} used on the root provider by {len(rows)} consumers: {who}; "
        "the child providers are not published before these allocations leave the root provider",
        evidence=claims_of(rows),
        facts=(("used", used), ("consumers", len(rows)), ("children", ", ".join(key for key, _ in children))),
        rests_on_recorded=True,
        remedies=_remedies(audit, family, name, [row.key for row in rows]),
    )


def _children(audit: AuditFacts, family: NestedFamily, name: str) -> tuple[tuple[str, Inventory], ...]:
    """Return (name without ``<node>_``, inventory) of each child that should offer the class.

    Return an empty tuple if the agent cannot decide now which children offer the class.
    """
    if not can_decide(family, audit.snapshot, audit.settings):
        return ()
    nested = family.providers(audit.snapshot, audit.settings)
    return tuple((one.key.name, i) for one in nested for i in one.inventories if i.resource_class == name)


def _offers(audit: AuditFacts, children: tuple[tuple[str, Inventory], ...]) -> str:
    offers = ", ".join(f"{audit.node}_{key} ({inventory.total})" for key, inventory in children)
    return offers or "the child providers are unknown, because this host does not offer the class now"


def _remedies(audit: AuditFacts, family: NestedFamily, name: str, consumers: list[str]) -> tuple[Remedy, ...]:
    later = f"move the guests back to this host once Placement has the {family.name} providers"
    if audit.settings.role is not Role.OWNER:
        # The remedy is a restart, because nova-compute moves the allocations only if it gets the error ReshapeNeeded
        # while it starts (nova/compute/resource_tracker.py:_update_to_placement). The error comes from
        # nova/virt/libvirt/driver.py:_update_provider_tree_for_vgpu.
        restart = f"restart nova-compute, which then moves the {name} allocations to the {family.name} providers"
        failed = f"if nova-compute then logs ReshapeFailed, migrate or shelve the guests that use {name}; then {later}"
        return (restart_nova_compute(restart), by_hand(failed))
    return (
        heal(f"move {name} to the {family.name} providers, all allocations at once"),
        *(inspect(_device(family, name, each), virsh(audit, "dumpxml", each)) for each in consumers[:_NAMED]),
        by_hand(f"migrate or shelve each guest whose provider `stocktake heal` does not know; then {later}"),
    )


def _device(family: NestedFamily, name: str, consumer: str) -> str:
    return (
        f"find the device of guest {consumer}: the guest's {name} allocation must move to this device's "
        f"{family.name} provider"
    )


# The remedies have commands for at most this many guests. The finding's text ``actual`` lists all guests.
_NAMED = 3

RULE = Rule(
    code="reshape-needed",
    severity=Severity.ERROR,
    find=_find,
    rests_on=frozenset({PLACEMENT}),
    healed_in=frozenset({Role.OWNER}),
)
