"""state-row-unreadable: a row of the cloud's database cannot be parsed, so the row's consumer cannot be judged.

The agent draws no conclusion about that consumer and frees none of its resources. All other consumers count as usual.
The finding is separate from source-unavailable because the source did answer.
"""

from __future__ import annotations

from agent.findings.base import AuditFacts, Findings, Rule
from agent.findings.base_remedies import by_hand, inspect, show_server
from agent.model.finding import Severity
from agent.model.snapshot import STATE


def _find(audit: AuditFacts) -> Findings:
    state = audit.state
    if state is None:
        return
    owners = {instance.problem: instance.uuid for instance in state.instances if instance.problem}
    for row in state.unreadable:
        yield RULE.finding(
            audit,
            headline=f"{audit.host}: a row of the cloud's database cannot be read: {row}",
            consumer_uuid=owners.get(row),
            subject=row,
            expected="a row that can be read",
            actual=f"{row}; the agent draws no conclusion about the instance that this row belongs to",
            remedies=(
                inspect("see whether nova itself can read the instance", show_server(owners.get(row))),
                by_hand("correct the named row in the cell database"),
            ),
        )


RULE = Rule(code="state-row-unreadable", severity=Severity.WARNING, find=_find, rests_on=frozenset({STATE}))
