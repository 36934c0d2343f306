"""unmanaged-use-unplaced: guests and volumes that the cloud does not know use more than is allocated for them.

Only role companion, which creates such allocations, has this finding. Placement rejects an allocation above max_unit
or above the free capacity, so the scheduler still sees the rejected amount as free. In role owner the agent adds the
amounts to ``reserved``, and reports an amount that does not fit into ``reserved`` as over-capacity.
"""

from __future__ import annotations

from agent.findings.base import AuditFacts, Findings, Rule, amount_text
from agent.findings.base_remedies import by_hand, explain
from agent.model.finding import Severity
from agent.model.settings import Role
from agent.model.snapshot import LIBVIRT, LVM, PLACEMENT, STATE
from agent.provider_tree.companion import companion
from agent.text.amounts import with_unit


def _find(audit: AuditFacts) -> Findings:
    if audit.settings.role is not Role.COMPANION:
        return
    for rest in companion(audit.snapshot, audit.settings, audit.books).unplaced:
        name = rest.resource_class
        wanted, missing = amount_text(name, rest.wanted), amount_text(name, rest.wanted - rest.placed)
        yield RULE.finding(
            audit,
            headline=f"{audit.host}: guests or volumes unknown to nova use "
            f"{with_unit(name, rest.wanted - rest.placed)} without an allocation in Placement, so the scheduler may "
            "give this amount to another guest",
            resource_class=name,
            expected=f"Stocktake has allocated all {wanted} in use by guests and volumes that nova does not know",
            actual=f"{missing} could not be allocated ({rest.why}), so the scheduler may give this amount to a guest",
            evidence=rest.claims,
            facts=(
                ("wanted", rest.wanted),
                ("placed", rest.placed),
                ("missing", rest.wanted - rest.placed),
                ("allocation_ratio", _ratio(audit, name)),
            ),
            rests_on_recorded=True,
            rests_on=RULE.rests_on | ({LVM} if any(claim.size_bytes is not None for claim in rest.claims) else set()),
            remedies=(
                explain(name),
                by_hand("make room: remove the guests or volumes that the evidence names, or move instances away"),
            ),
        )


def _ratio(audit: AuditFacts, resource_class: str) -> float | None:
    inventory = audit.root.inventory(resource_class) if audit.root else None
    return inventory.allocation_ratio if inventory else None


# ``rests_on`` names the sources that every finding with this code needs. A finding about disk space also needs the
# source LVM, which ``_find`` adds.
RULE = Rule(
    code="unmanaged-use-unplaced",
    severity=Severity.ERROR,
    find=_find,
    rests_on=frozenset({PLACEMENT, STATE, LIBVIRT}),
)
