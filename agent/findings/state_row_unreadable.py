"""state-row-unreadable: a row of the cloud's database cannot be parsed, so the row's consumer cannot be judged.

The agent draws no conclusion about that consumer and frees none of its resources. All other consumers count as usual.
The finding is separate from source-unavailable because the source did answer.
"""

from __future__ import annotations

from agent.findings.base import AuditFacts, Findings, Rule
from agent.model.finding import Severity


def _find(audit: AuditFacts) -> Findings:
    state = audit.state
    if state is None:
        return
    owners = {instance.problem: instance.uuid for instance in state.instances if instance.problem}
    for row in state.unreadable:
        yield RULE.finding(
            audit,
            consumer_uuid=owners.get(row),
            subject=row,
            expected="a row that can be read",
            actual=f"{row}; the agent draws no conclusion about the row's consumer",
        )


RULE = Rule(
    code="state-row-unreadable",
    severity=Severity.WARNING,
    remedy="inspect the named row in the cell database, and nova's logs: nova may also fail to read this row",
    find=_find,
)
