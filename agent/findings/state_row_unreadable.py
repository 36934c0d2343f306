"""state-row-unreadable: a row of the cloud's database does not parse; what is about its consumer is unknown.

Nothing is concluded about that consumer and nothing of it is released; all others go on
as ever. It stands for itself beside source-unavailable: the source did answer.
"""

from __future__ import annotations

from collections.abc import Iterable

from agent.findings.base import Rule, World
from agent.model.finding import Finding, Severity


def _find(world: World) -> Iterable[Finding]:
    state = world.state
    if state is None:
        return
    owners = {instance.problem: instance.uuid for instance in state.instances if instance.problem}
    for row in state.unreadable:
        yield RULE.finding(
            world,
            consumer_uuid=owners.get(row),
            subject=row,
            expected="a row that can be read",
            actual=f"{row}; this consumer is unknown: nothing is concluded about it",
        )


RULE = Rule(
    code="state-row-unreadable",
    severity=Severity.WARNING,
    remedy="look at the named row in the cell database: nova itself may fail on it too (nova-manage, its logs)",
    find=_find,
)
