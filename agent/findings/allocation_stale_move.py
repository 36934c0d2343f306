"""allocation-stale-move: Placement still records an allocation on this host for an instance that has moved away."""

from __future__ import annotations

from agent.findings.base import HEALERS, AuditFacts, Findings, Rule, claims_of, named, rows_by_consumer
from agent.findings.base_began import by_end, by_move
from agent.findings.base_headlines import recorded, who
from agent.findings.base_places import counted_where, heal_here, place_of, unset_here
from agent.findings.base_remedies import by_hand, inspect, show_server
from agent.model.compared import Row
from agent.model.finding import Remedy, Severity
from agent.model.report import Verdict
from agent.model.snapshot import PLACEMENT, STATE


def _find(audit: AuditFacts) -> Findings:
    for consumer, rows in rows_by_consumer(audit, Verdict.ALLOCATION_STALE_MOVE).items():
        yield RULE.finding(
            audit,
            headline=f"{who(rows)}: Placement counts {recorded(rows)} on {audit.host}; {_lives(rows)}",
            provider_uuid=place_of(audit, rows),
            consumer_uuid=consumer,
            expected=f"no allocation on this host, because {_where_it_is(rows)}",
            actual=f"Placement counts {counted_where(audit, rows)}; {_lives(rows)}",
            evidence=claims_of(rows),
            facts=(("instance_host", rows[0].instance.host if rows[0].instance else None),),
            rests_on_recorded=True,
            began=by_end(rows[0].migration) or by_move(audit.state, rows[0].instance),
            remedies=_remedies(audit, rows),
        )


def _lives(rows: tuple[Row, ...]) -> str:
    """Return a short text for the headline: the host on which the instance is, or the status of the migration."""
    row, instance = rows[0], rows[0].instance
    if row.migration is not None:
        return f"the migration is {row.migration.status}"
    return f"the instance lives on {instance.host if instance and instance.host else 'no host'}"


def _where_it_is(rows: tuple[Row, ...]) -> str:
    row, consumer = rows[0], named(rows)
    if row.migration is not None:
        return f"{consumer} has status {row.migration.status}"
    instance = row.instance
    if instance is None or instance.host is None:
        return f"{consumer} is on no host (vm_state {instance.vm_state if instance else 'unknown'})"
    return f"{consumer} lives on {instance.host} with no migration in progress"


def _remedies(audit: AuditFacts, rows: tuple[Row, ...]) -> tuple[Remedy, ...]:
    instance = rows[0].instance
    return (
        *heal_here(audit, rows, "remove the allocation on this host and keep the allocation on the other host"),
        inspect("see where the instance lives", show_server(instance.uuid if instance else None)),
        by_hand(
            "remove only the allocation on this host, never the allocation on the instance's own host",
            unset_here(audit, rows),
        ),
    )


RULE = Rule(
    code="allocation-stale-move",
    severity=Severity.ERROR,
    find=_find,
    rests_on=frozenset({PLACEMENT, STATE}),
    healed_in=HEALERS,
)
