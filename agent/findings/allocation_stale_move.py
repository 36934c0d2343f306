"""allocation-stale-move: Placement still records an allocation on this host for an instance that has moved away."""

from __future__ import annotations

from agent.findings.base import AuditFacts, Findings, Rule, claims_of, named, rows_by_consumer
from agent.findings.base_places import HEAL, heal_first, place_of, recorded_where, unset_everywhere
from agent.model.compared import Row
from agent.model.finding import Severity
from agent.model.report import Verdict


def _find(audit: AuditFacts) -> Findings:
    for consumer, rows in rows_by_consumer(audit, Verdict.ALLOCATION_STALE_MOVE).items():
        yield RULE.finding(
            audit,
            provider_uuid=place_of(audit, rows),
            consumer_uuid=consumer,
            expected=f"no allocation on this host, because {_where_it_is(rows)}",
            actual=f"Placement records {recorded_where(audit, rows)} on this host",
            evidence=claims_of(rows),
            facts=(("instance_host", rows[0].instance.host if rows[0].instance else None),),
            rests_on_recorded=True,
            remedy=heal_first(audit, rows, f"{_BY_HAND}: {unset_everywhere(audit, rows)}"),
        )


def heals(audit: AuditFacts, consumer: str, rows: tuple[Row, ...]) -> str:
    """Return the heal command for this rule's finding about the consumer."""
    found = RULE.finding(audit, provider_uuid=place_of(audit, rows), consumer_uuid=consumer, expected="", actual="")
    return HEAL.replace("FINDING", found.id)


def _where_it_is(rows: tuple[Row, ...]) -> str:
    row, consumer = rows[0], named(rows)
    if row.migration is not None:
        return f"{consumer} has status {row.migration.status}"
    instance = row.instance
    if instance is None or instance.host is None:
        return f"{consumer} is on no host (vm_state {instance.vm_state if instance else 'unknown'})"
    return f"{consumer} lives on {instance.host} with no migration in progress"


_BY_HAND = "remove only this host's part of the consumer's allocation, never the part of another host"

RULE = Rule(code="allocation-stale-move", severity=Severity.ERROR, remedy=f"{HEAL}; by hand: {_BY_HAND}", find=_find)
