"""allocation-missing: the cloud counts an instance on this host, but this host's provider has no allocation for it."""

from __future__ import annotations

from agent.findings.base import AuditFacts, Findings, Rule, claims_of, named, promised_text, rows_by_consumer
from agent.findings.base_places import HEAL
from agent.model.compared import Row
from agent.model.finding import Severity
from agent.model.report import Verdict
from agent.model.settings import Role


def _find(audit: AuditFacts) -> Findings:
    for consumer, rows in rows_by_consumer(audit, Verdict.ALLOCATION_MISSING).items():
        yield RULE.finding(
            audit,
            consumer_uuid=consumer,
            expected=f"an allocation of {promised_text(rows)} for {named(rows)}",
            actual="Placement records nothing for this consumer on this host",
            evidence=claims_of(rows),
            rests_on_recorded=True,
            remedy=_remedy(audit, rows),
        )


def _remedy(audit: AuditFacts, rows: tuple[Row, ...]) -> str:
    if audit.state and not audit.state.kind.has_cloud:
        promised = (f"--allocation rp=PROVIDER,{row.resource_class}={row.promised}" for row in rows if row.promised)
        return f"{_WITHOUT_NOVA} {' '.join(promised)}"
    return f"{_PROBLEM}; {_NOVA_MANAGE}" if audit.settings.role is Role.OBSERVER else RULE.remedy


_WITHOUT_NOVA = (
    "schedulers that use this Placement believe that these resources are free; allocate them, with the guest's uuid as "
    "the consumer: openstack resource provider allocation set CONSUMER"
)

_PROBLEM = "the scheduler believes that these resources are free"
_NOVA_MANAGE = "nova-manage placement heal_allocations --instance CONSUMER"

RULE = Rule(
    code="allocation-missing",
    severity=Severity.ERROR,
    remedy=f"{_PROBLEM}; to add the allocation: {HEAL}; if heal declines: {_NOVA_MANAGE}",
    find=_find,
)
