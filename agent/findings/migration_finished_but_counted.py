"""migration-finished-but-counted: Placement counts an evacuated instance on its old host after the evacuation.

The usage that nova-compute reports is too high by exactly the amounts of the evacuated instances, until nova-compute is
restarted (story 1 of the README). The instance always has the finding allocation-stale-move too. The repair of
allocation-stale-move ends both findings.
"""

from __future__ import annotations

from agent.findings.base import HEALERS, AuditFacts, Findings, Rule, claims_of
from agent.findings.base_began import by_end
from agent.findings.base_headlines import recorded, who
from agent.findings.base_places import counted_where, heal_here, place_of, unset_here
from agent.findings.base_remedies import by_hand
from agent.model.compared import Row
from agent.model.finding import Finding, Severity
from agent.model.nova import Migration
from agent.model.report import Verdict
from agent.model.snapshot import PLACEMENT, STATE


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
        headline=f"{who(rows)}: evacuated to {migration.dest_host}; Placement still counts "
        f"{recorded(rows)} on {audit.host}",
        provider_uuid=place_of(audit, rows),
        consumer_uuid=migration.instance_uuid,
        expected=f"evacuation {migration.uuid or migration.id} to {migration.dest_host} is {migration.status}, "
        "so the instance uses nothing here",
        actual=f"Placement still counts {counted_where(audit, rows)}; "
        f"the instance was evacuated to {migration.dest_host}",
        evidence=claims_of(rows),
        facts=(("migration_uuid", migration.uuid), ("migration_status", migration.status)),
        rests_on_recorded=True,
        began=by_end(migration),
        remedies=(
            *heal_here(audit, rows, "remove the allocation on this host and keep the allocation on the other host"),
            by_hand("remove only the allocation on this host", unset_here(audit, rows)),
        ),
    )


RULE = Rule(
    code="migration-finished-but-counted",
    severity=Severity.ERROR,
    find=_find,
    rests_on=frozenset({PLACEMENT, STATE}),
    healed_in=HEALERS,
)
