"""unmanaged-use-unplaced: role companion could not allocate all the use that the cloud does not know of.

Placement rejects an allocation above max_unit or above what is free, and the scheduler goes on offering the rejected
amount. Only role companion has this finding: role owner reserves such use, and what does not fit into ``reserved`` is
reported as over-capacity.
"""

from __future__ import annotations

from collections.abc import Iterable

from agent.findings.base import AuditFacts, Rule, amount_text
from agent.model.finding import Finding, Severity
from agent.model.settings import Role
from agent.provider_tree.companion import Unplaced, companion


def _find(audit: AuditFacts) -> Iterable[Finding]:
    if audit.settings.role is not Role.COMPANION:
        return
    placing = companion(audit.snapshot, audit.settings, audit.books)
    yield from (_finding(audit, rest) for rest in placing.unplaced)


def _finding(audit: AuditFacts, rest: Unplaced) -> Finding:
    name = rest.resource_class
    return RULE.finding(
        audit,
        resource_class=name,
        expected=f"Stocktake's own consumers have all {amount_text(name, rest.wanted)} that the cloud does not know of",
        actual=f"{amount_text(name, rest.wanted - rest.placed)} could not be allocated, "
        f"so the scheduler may give it to a guest: {rest.why}",
        evidence=rest.claims,
        facts=(("wanted", rest.wanted), ("placed", rest.placed)),
        rests_on_recorded=True,
    )


RULE = Rule(
    code="unmanaged-use-unplaced",
    severity=Severity.ERROR,
    remedy="make room: end the guests or volumes that the evidence names, or move instances away",
    find=_find,
)
