"""migration-stuck: a migration is unfinished, but the migration_context of its instance does not name the migration.

The agent counts no resources for this migration. nova-compute's periodic audit sets the migration's status to error.
The agent does not change the status.
"""

from __future__ import annotations

from agent.findings.base import AuditFacts, Findings, Rule
from agent.findings.base_remedies import by_hand, by_nova_compute, inspect, openstack
from agent.model.finding import Remedy, Severity
from agent.model.occupancy import StuckMigration
from agent.model.snapshot import STATE
from agent.text.headline import short_name


def _find(audit: AuditFacts) -> Findings:
    for stuck in audit.books.occupied.stuck:
        yield RULE.finding(
            audit,
            headline=f"{_name(audit, stuck)}: on {audit.host}, migration {stuck.migration_uuid} is unfinished, but the "
            "instance's migration_context does not name this migration",
            consumer_uuid=stuck.instance_uuid,
            subject=stuck.migration_uuid,
            expected=f"instance {stuck.instance_uuid}'s migration_context names migration {stuck.migration_uuid}",
            actual=f"{stuck.why}; the agent counts no resources for this migration",
            facts=(("migration_uuid", stuck.migration_uuid),),
            remedies=_remedies(audit, stuck),
        )


def _name(audit: AuditFacts, stuck: StuckMigration) -> str:
    instances = audit.state.instances if audit.state else ()
    return short_name(next((i.name for i in instances if i.uuid == stuck.instance_uuid), stuck.instance_uuid))


def _remedies(audit: AuditFacts, stuck: StuckMigration) -> tuple[Remedy, ...]:
    row = f"UPDATE migrations SET status = 'error' WHERE uuid = '{stuck.migration_uuid}'"
    return (
        *by_nova_compute(audit, "nova-compute of this host sets the migration's status to error in its next audit"),
        inspect(
            "see the migrations of the instance",
            openstack("server", "migration", "list", "--server", stuck.instance_uuid),
        ),
        by_hand(f"no command of nova ends such a migration: set its status in the cell database ({row})"),
    )


RULE = Rule(code="migration-stuck", severity=Severity.WARNING, find=_find, rests_on=frozenset({STATE}))
