"""consumer-unknown: a consumer in Placement has no instance row and no migration row in the cloud's database."""

from __future__ import annotations

from agent.findings.base import AuditFacts, Findings, Rule, claims_of, recorded_text, rows_by_consumer
from agent.findings.base_headlines import recorded
from agent.findings.base_places import unset_here
from agent.findings.base_remedies import by_hand, inspect, show_allocations, show_server
from agent.model.finding import Severity
from agent.model.report import Verdict
from agent.model.snapshot import PLACEMENT, STATE


def _find(audit: AuditFacts) -> Findings:
    for consumer, rows in rows_by_consumer(audit, Verdict.CONSUMER_UNKNOWN).items():
        yield RULE.finding(
            audit,
            headline=f"{consumer}: Placement counts {recorded(rows)} on {audit.host} for a consumer "
            "that the cloud's database does not know",
            consumer_uuid=consumer,
            expected="every consumer is an instance or a migration of this cell",
            actual=f"Placement records {recorded_text(rows)} for {consumer}, which has no row in this cell",
            evidence=claims_of(rows),
            rests_on_recorded=True,
            remedies=(
                inspect(_WHAT, show_server(consumer)),
                inspect("see what is allocated to the consumer, and for which project", show_allocations(consumer)),
                by_hand(
                    "only if the program that created the consumer is gone: remove the allocations",
                    unset_here(audit, rows),
                ),
            ),
        )


_WHAT = (
    "find who created the consumer before you remove anything: it may be an instance that is being built, an archived "
    "instance, an instance of another cell, or a consumer of another service"
)

RULE = Rule(code="consumer-unknown", severity=Severity.WARNING, find=_find, rests_on=frozenset({PLACEMENT, STATE}))
