"""consumer-unknown: a consumer in Placement has no instance row and no migration row in the cloud's database."""

from __future__ import annotations

from agent.findings.base import AuditFacts, Findings, Rule, claims_of, recorded_text, rows_by_consumer
from agent.model.finding import Severity
from agent.model.report import Verdict


def _find(audit: AuditFacts) -> Findings:
    for consumer, rows in rows_by_consumer(audit, Verdict.CONSUMER_UNKNOWN).items():
        yield RULE.finding(
            audit,
            consumer_uuid=consumer,
            expected="every consumer is an instance or a migration of this cell",
            actual=f"Placement records {recorded_text(rows)} for {consumer}, which has no row in this cell",
            evidence=claims_of(rows),
            rests_on_recorded=True,
        )


RULE = Rule(
    code="consumer-unknown",
    severity=Severity.WARNING,
    remedy="the consumer may be an instance in a build, an archived instance or a consumer of another service: find "
    "its creator before you remove anything",
    find=_find,
)
