"""migration-stuck: a migration is unfinished, but its instance's migration_context does not name it.

The agent counts 0 for this migration. nova-compute's audit sets its status to error; this agent does not (scenario 38).
"""

from __future__ import annotations

from agent.findings.base import AuditFacts, Findings, Rule
from agent.model.finding import Severity


def _find(audit: AuditFacts) -> Findings:
    for stuck in audit.books.occupied.stuck:
        yield RULE.finding(
            audit,
            consumer_uuid=stuck.instance_uuid,
            subject=stuck.migration_uuid,
            expected=f"instance {stuck.instance_uuid}'s migration_context names migration {stuck.migration_uuid}",
            actual=f"{stuck.why}; the agent counts no resources for this migration",
            facts=(("migration_uuid", stuck.migration_uuid),),
        )


RULE = Rule(
    code="migration-stuck",
    severity=Severity.WARNING,
    remedy="list the instance's migrations (openstack server migration list --server CONSUMER), then set the status of "
    "the stuck row to error",
    find=_find,
)
