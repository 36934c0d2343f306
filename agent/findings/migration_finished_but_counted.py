"""migration-finished-but-counted: an evacuation is over, but Placement still counts its instance on the old host.

The usage that nova-compute reports is too high by exactly the amounts of these instances, until nova-compute is
restarted (story 1 of the README).
"""

from __future__ import annotations

from agent.findings import allocation_stale_move
from agent.findings.base import AuditFacts, Findings, Rule, claims_of
from agent.findings.base_places import place_of, recorded_where, unset_everywhere
from agent.model.compared import Row
from agent.model.finding import Finding, Severity
from agent.model.nova import Migration
from agent.model.report import Verdict
from agent.model.settings import Role


def _find(audit: AuditFacts) -> Findings:
    if audit.state is None:
        return
    newest = {m.instance_uuid: m for m in sorted(audit.state.finished_evacuations, key=lambda m: m.id)}
    for _, migration in sorted(newest.items()):
        rows = tuple(
            row
            for row in audit.rows
            if row.key == migration.instance_uuid and row.verdict is Verdict.ALLOCATION_STALE_MOVE and row.recorded
        )
        if rows:
            yield _finding(audit, migration, rows)


def _finding(audit: AuditFacts, migration: Migration, rows: tuple[Row, ...]) -> Finding:
    return RULE.finding(
        audit,
        provider_uuid=place_of(audit, rows),
        consumer_uuid=migration.instance_uuid,
        expected=f"evacuation {migration.uuid or migration.id} to {migration.dest_host} is {migration.status}, "
        "so the instance uses nothing here",
        actual=f"Placement still records {recorded_where(audit, rows)} for instance {migration.instance_uuid} "
        "on this host",
        evidence=claims_of(rows),
        facts=(("migration_uuid", migration.uuid), ("migration_status", migration.status)),
        rests_on_recorded=True,
        remedy=_remedy(audit, migration.instance_uuid, rows),
    )


def _remedy(audit: AuditFacts, consumer: str, rows: tuple[Row, ...]) -> str:
    by_hand = unset_everywhere(audit, rows)
    if audit.settings.role is Role.OBSERVER:
        return by_hand
    return f"{allocation_stale_move.heals(audit, consumer, rows)}; by hand: {by_hand}"


RULE = Rule(
    code="migration-finished-but-counted",
    severity=Severity.ERROR,
    remedy="heal the finding allocation-stale-move of the same consumer (stocktake heal), or remove this host's part "
    "of the instance's allocation",
    find=_find,
)
