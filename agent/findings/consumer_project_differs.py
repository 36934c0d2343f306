"""consumer-project-differs: an instance's allocation belongs to another project or user than the instance.

Placement counts the allocation for the wrong project, so Placement's usages by project are wrong, and so are quotas
that use them (unified limits). The free capacity of this host is right.

Only the consumer's record shows the project, and a record takes one request. To save requests, an audit does not read
every record, so it may miss a wrong project. Allocations that were made before Placement stored projects have a
placeholder project.
"""

from __future__ import annotations

from agent.findings.base import HEALERS, AuditFacts, Findings, Rule
from agent.findings.base_remedies import by_hand, heal, line
from agent.model.finding import Finding, Severity
from agent.model.nova import Instance
from agent.model.placement import ConsumerRecord
from agent.model.snapshot import PLACEMENT, STATE
from agent.text.headline import short_name


def _find(audit: AuditFacts) -> Findings:
    if audit.view is None:
        return
    here = {taken.consumer_uuid: taken.instance for taken in audit.books.occupied.occupancies}
    for record in audit.view.consumers:
        instance = here.get(record.consumer_uuid)
        if instance is not None and _differs(record, instance):
            yield _finding(audit, record, instance)


def _differs(record: ConsumerRecord, instance: Instance) -> bool:
    """Return whether Placement's record and the instance differ in project or user.

    A value that the record or the instance lacks is ignored.
    """
    pairs = ((record.project_id, instance.project_id), (record.user_id, instance.user_id))
    return any(booked is not None and own is not None and booked != own for booked, own in pairs)


def _finding(audit: AuditFacts, record: ConsumerRecord, instance: Instance) -> Finding:
    return RULE.finding(
        audit,
        headline=f"{short_name(instance.name)}: Placement records a wrong project or user for this instance's "
        f"allocation on {audit.host}",
        consumer_uuid=record.consumer_uuid,
        expected=f"instance {instance.uuid} ({instance.name}) belongs to project {instance.project_id}, "
        f"user {instance.user_id}",
        actual=f"Placement records the instance's allocation for project {record.project_id}, user {record.user_id}",
        facts=(
            ("instance_project_id", instance.project_id),
            ("instance_user_id", instance.user_id),
            ("recorded_project_id", record.project_id),
            ("recorded_user_id", record.user_id),
        ),
        rests_on_recorded=True,
        remedies=(
            heal("correct the project and user in Placement, and keep the amounts"),
            by_hand(
                "on a controller, let nova-manage correct the project and user in Placement",
                line("nova-manage", "placement", "heal_allocations", "--instance", instance.uuid),
            ),
        ),
    )


RULE = Rule(
    code="consumer-project-differs",
    severity=Severity.WARNING,
    find=_find,
    rests_on=frozenset({PLACEMENT, STATE}),
    healed_in=HEALERS,
)
