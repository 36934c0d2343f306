"""allocation-differs: promised and recorded amounts of one class are not the same."""

from __future__ import annotations

from collections.abc import Iterable

from agent.findings.base import Rule, World, amount_text
from agent.model.finding import Finding, Severity
from agent.model.report import Verdict


def _find(world: World) -> Iterable[Finding]:
    for row in world.rows:
        if row.verdict is not Verdict.ALLOCATION_DIFFERS:
            continue
        yield RULE.finding(
            world,
            consumer_uuid=row.key,
            resource_class=row.resource_class,
            expected=f"{amount_text(row.resource_class, row.promised)} for {row.consumer_kind} {row.key}",
            actual=f"Placement records {amount_text(row.resource_class, row.recorded)}",
            evidence=row.claims,
            rests_on_recorded=True,
        )


RULE = Rule(
    code="allocation-differs",
    severity=Severity.WARNING,
    remedy="compare the instance's flavor with its allocation; then "
    "nova-manage placement heal_allocations --instance CONSUMER --force",
    find=_find,
)
