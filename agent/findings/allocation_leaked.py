"""allocation-leaked: Placement still counts an instance that the cloud has deleted."""

from __future__ import annotations

from agent.findings.base import AuditFacts, Findings, Rule, claims_of, named, rows_by_consumer
from agent.findings.base_places import HEAL, heal_first, place_of, recorded_where
from agent.model.finding import Severity
from agent.model.report import Verdict


def _find(audit: AuditFacts) -> Findings:
    for consumer, rows in rows_by_consumer(audit, Verdict.ALLOCATION_LEAKED).items():
        instance = rows[0].instance
        deleted_at = instance.deleted_at.isoformat() if instance and instance.deleted_at else None
        yield RULE.finding(
            audit,
            provider_uuid=place_of(audit, rows),
            consumer_uuid=consumer,
            expected="no allocation, because "
            f"{'the instance of ' if rows[0].migration else ''}{named(rows)} is deleted",
            actual=f"Placement records {recorded_where(audit, rows)}",
            evidence=claims_of(rows),
            facts=(("instance_deleted_at", deleted_at),),
            rests_on_recorded=True,
            remedy=heal_first(audit, rows, _BY_HAND),
        )


_BY_HAND = (
    "check that the instance is gone everywhere, then remove this consumer's allocation: "
    "openstack resource provider allocation delete CONSUMER"
)

RULE = Rule(code="allocation-leaked", severity=Severity.ERROR, remedy=f"{HEAL}; by hand: {_BY_HAND}", find=_find)
