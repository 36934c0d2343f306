"""allocation-leaked: Placement still counts an instance that the cloud has deleted."""

from __future__ import annotations

from agent.findings.base import HEALERS, AuditFacts, Findings, Rule, claims_of, named, rows_by_consumer
from agent.findings.base_began import by_deletion
from agent.findings.base_headlines import recorded, who
from agent.findings.base_places import counted_where, heal_here, place_of, unset_here
from agent.findings.base_remedies import by_hand, by_nova_compute, inspect, show_allocations
from agent.model.compared import Row
from agent.model.finding import Remedy, Severity
from agent.model.report import Verdict
from agent.model.snapshot import PLACEMENT, STATE


def _find(audit: AuditFacts) -> Findings:
    for consumer, rows in rows_by_consumer(audit, Verdict.ALLOCATION_LEAKED).items():
        instance = rows[0].instance
        deleted_at = instance.deleted_at.isoformat() if instance and instance.deleted_at else None
        yield RULE.finding(
            audit,
            headline=f"{who(rows)}: the instance is deleted; Placement still counts {recorded(rows)} on {audit.host}",
            provider_uuid=place_of(audit, rows),
            consumer_uuid=consumer,
            expected="no allocation, because "
            f"{'the instance of ' if rows[0].migration else ''}{named(rows)} is deleted",
            actual=f"Placement counts {counted_where(audit, rows)}; the instance is deleted",
            evidence=claims_of(rows),
            facts=(("instance_deleted_at", deleted_at),),
            rests_on_recorded=True,
            began=by_deletion(instance),
            remedies=_remedies(audit, rows),
        )


def _remedies(audit: AuditFacts, rows: tuple[Row, ...]) -> tuple[Remedy, ...]:
    return (
        *heal_here(audit, rows, "remove the allocation on this host"),
        *by_nova_compute(audit, _NOVA),
        inspect("see on which hosts Placement still counts the instance", show_allocations(rows[0].key)),
        by_hand("if no host has a guest of the instance, remove the allocation on this host", unset_here(audit, rows)),
    )


_NOVA = (
    "nova-compute removes this allocation in its next audit, unless the instance's row is archived or in another cell; "
    "`stocktake heal` waits for three audits of nova-compute"
)

RULE = Rule(
    code="allocation-leaked",
    severity=Severity.ERROR,
    find=_find,
    rests_on=frozenset({PLACEMENT, STATE}),
    healed_in=HEALERS,
)
