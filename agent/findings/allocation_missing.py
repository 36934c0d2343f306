"""allocation-missing: nova's database has an instance on this host, but Placement has no allocation for it here."""

from __future__ import annotations

from agent.findings.base import HEALERS, AuditFacts, Findings, Rule, claims_of, named, promised_text, rows_by_consumer
from agent.findings.base_headlines import promised, who
from agent.findings.base_remedies import by_hand, heal, inspect, line, openstack, show_allocations
from agent.model.compared import Row
from agent.model.finding import Remedy, Severity
from agent.model.report import Verdict
from agent.model.snapshot import LIBVIRT, PLACEMENT, STATE


def _find(audit: AuditFacts) -> Findings:
    for consumer, rows in rows_by_consumer(audit, Verdict.ALLOCATION_MISSING).items():
        yield RULE.finding(
            audit,
            headline=f"{who(rows)}: runs on {audit.host}, but Placement counts nothing for this instance, "
            f"so another instance can get the same {promised(rows)}",
            consumer_uuid=consumer,
            expected=f"an allocation of {promised_text(rows)} for {named(rows)}",
            actual="Placement records nothing for this consumer on this host",
            evidence=claims_of(rows),
            rests_on_recorded=True,
            remedies=_remedies(audit, consumer, rows),
        )


def _remedies(audit: AuditFacts, consumer: str, rows: tuple[Row, ...]) -> tuple[Remedy, ...]:
    if audit.state and not audit.state.kind.has_cloud:
        return (
            inspect("see whether the guest has allocations on another host", show_allocations(consumer)),
            by_hand(_WITHOUT_NOVA, _allocation_set(audit, consumer, rows)),
        )
    nova_manage = ("nova-manage", "placement", "heal_allocations", "--instance", consumer)
    return (
        heal("add the allocation that the flavor asks for"),
        inspect(
            "if heal refuses, see which allocation nova-manage would add (run this command on a controller)",
            line(*nova_manage, "--dry-run", "--verbose"),
        ),
        by_hand("let nova-manage add the allocation, on a controller", line(*nova_manage)),
    )


def _allocation_set(audit: AuditFacts, consumer: str, rows: tuple[Row, ...]) -> str | None:
    """Return the command that allocates the promised amounts on the root provider.

    Return None if no amount is promised or the root provider is unknown.

    The command names no project, because the agent knows no project if it does not read the cloud's state ([state]
    source = none). From microversion 1.8 on, Placement requires a project. So the command uses microversion 1.7, with
    which Placement itself writes a placeholder project.
    """
    root = audit.root_uuid
    amounts = [f"rp={root},{row.resource_class}={row.promised}" for row in rows if row.promised] if root else []
    options = [word for amount in amounts for word in ("--allocation", amount)]
    set_ = ("--os-placement-api-version", "1.7", "resource", "provider", "allocation", "set")
    return openstack(*set_, *options, consumer) if options else None


_WITHOUT_NOVA = (
    "if the guest has no allocation, allocate what the guest uses, with the guest's uuid as the consumer; the "
    "command replaces all allocations of this consumer"
)

RULE = Rule(
    code="allocation-missing",
    severity=Severity.ERROR,
    find=_find,
    rests_on=frozenset({PLACEMENT, STATE, LIBVIRT}),
    healed_in=HEALERS,
)
