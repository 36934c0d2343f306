"""allocation-differs: an instance's flavor asks for another amount of a resource class than Placement records."""

from __future__ import annotations

from collections.abc import Sequence

from agent.findings.base import HEALERS, AuditFacts, Findings, Rule, amount_text, by_consumer
from agent.findings.base_headlines import who
from agent.findings.base_remedies import heal, inspect, show_allocations, show_server
from agent.model.compared import Row
from agent.model.finding import Remedy, Severity
from agent.model.placement import ROOT
from agent.model.report import Verdict
from agent.model.snapshot import LIBVIRT, PLACEMENT, STATE
from agent.text.amounts import with_unit


def _find(audit: AuditFacts) -> Findings:
    differing = [row for row in audit.rows if row.verdict is Verdict.ALLOCATION_DIFFERS]
    consumers = {row.key for row in differing}
    others = by_consumer(row for row in audit.rows if row.key in consumers)
    for row in differing:
        promised = f"no {row.resource_class}" if row.promised is None else amount_text(row.resource_class, row.promised)
        yield RULE.finding(
            audit,
            headline=_headline(audit, row),
            consumer_uuid=row.key,
            resource_class=row.resource_class,
            expected=f"{promised} for {row.consumer_kind} {row.key}{_in_place_of(row, others[row.key])}",
            actual=f"Placement records {amount_text(row.resource_class, row.recorded)}{_instead(row, others[row.key])}",
            subject="" if row.provider_key == ROOT else row.provider_key.name,
            evidence=row.claims,
            rests_on_recorded=True,
            remedies=_remedies(audit, row.key),
        )


def _headline(audit: AuditFacts, row: Row) -> str:
    name = row.resource_class
    counted = f"no {name}" if row.recorded is None else with_unit(name, row.recorded)
    asked = f"no {name}" if row.promised is None else with_unit(name, row.promised)
    return f"{who((row,))}: Placement counts {counted} on {audit.host}; the instance's flavor asks for {asked}"


# No remedy proposes nova-manage: ``placement heal_allocations --force`` replaces all allocations of the consumer,
# including those from device providers and sharing providers (nova/cmd/manage.py), and ignores the image's CPU policy.
def _remedies(audit: AuditFacts, consumer: str) -> tuple[Remedy, ...]:
    has_cloud = audit.state is not None and audit.state.kind.has_cloud
    return (
        inspect("see what Placement counts for the instance", show_allocations(consumer)),
        *((inspect("see the instance's flavor and image properties", show_server(consumer)),) * has_cloud),
        *((heal("if the flavor is right, write the flavor's amounts to Placement"),) * has_cloud),
    )


def _instead(row: Row, others: Sequence[Row]) -> str:
    """Return the consumer's other classes: "; Placement records other classes instead: 2 PCPU".

    The text is appended to "Placement records nothing". It is "" if Placement records an amount of the row's class.
    """
    if row.recorded is not None:
        return ""
    surplus = [_recorded(other) for other in others if other.promised is None and other.recorded is not None]
    return f"; Placement records other classes instead: {', '.join(surplus)}" if surplus else ""


def _in_place_of(row: Row, others: Sequence[Row]) -> str:
    """Return which other classes the instance uses: "; by nova's database, this instance uses 2 PCPU instead".

    The text is appended to "no VCPU for ID". It is "" if the instance uses an amount of the row's class.
    """
    if row.promised is not None:
        return ""
    lacking = [amount_text(o.resource_class, o.promised) for o in others if o.promised and o.recorded is None]
    if not lacking:
        return ""
    return f"; by nova's database, this {row.consumer_kind} uses {', '.join(lacking)} instead"


def _recorded(row: Row) -> str:
    where = "" if row.provider_key == ROOT else f" on provider {row.provider_key.name}"
    return f"{amount_text(row.resource_class, row.recorded)}{where}"


RULE = Rule(
    code="allocation-differs",
    severity=Severity.WARNING,
    find=_find,
    rests_on=frozenset({PLACEMENT, STATE, LIBVIRT}),
    healed_in=HEALERS,
)
