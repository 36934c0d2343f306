"""guest-missing: the cloud counts an instance on this host, but libvirt has no guest of this instance."""

from __future__ import annotations

from agent.findings.base import AuditFacts, Findings, Rule, claims_of, named, promised_text, rows_by_consumer
from agent.model.finding import Severity
from agent.model.report import Verdict


def _find(audit: AuditFacts) -> Findings:
    for consumer, rows in rows_by_consumer(audit, Verdict.GUEST_MISSING).items():
        instance = rows[0].instance
        yield RULE.finding(
            audit,
            consumer_uuid=consumer,
            expected=f"a guest for {named(rows)}, which is promised {promised_text(rows)}",
            actual="libvirt has no domain with the instance's uuid",
            evidence=claims_of(rows),
            facts=(("vm_state", instance.vm_state if instance else None),),
        )


RULE = Rule(
    code="guest-missing",
    severity=Severity.ERROR,
    remedy="find the reason in the logs of nova-compute and libvirt; "
    "openstack server reboot --hard CONSUMER defines the guest again",
    find=_find,
)
