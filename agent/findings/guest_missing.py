"""guest-missing: the cloud counts an instance on this host, but libvirt has no guest of this instance."""

from __future__ import annotations

from agent.findings.base import AuditFacts, Findings, Rule, claims_of, named, promised_text, rows_by_consumer
from agent.findings.base_headlines import who
from agent.findings.base_remedies import by_hand, inspect, openstack, virsh
from agent.model.finding import Severity
from agent.model.report import Verdict
from agent.model.snapshot import LIBVIRT, STATE


def _find(audit: AuditFacts) -> Findings:
    for consumer, rows in rows_by_consumer(audit, Verdict.GUEST_MISSING).items():
        instance = rows[0].instance
        yield RULE.finding(
            audit,
            headline=f"{who(rows)}: the cloud has the instance on {audit.host}, but libvirt has no such guest",
            consumer_uuid=consumer,
            expected=f"a guest for {named(rows)}; by nova's database, the instance uses {promised_text(rows)}",
            actual="libvirt has no domain with the instance's uuid",
            evidence=claims_of(rows),
            facts=(("vm_state", instance.vm_state if instance else None),),
            remedies=(
                inspect("see which guests libvirt has", virsh(audit, "list", "--all")),
                inspect("see what nova did to the instance", openstack("server", "event", "list", consumer)),
                by_hand("let nova define the guest again", openstack("server", "reboot", "--hard", consumer)),
            ),
        )


RULE = Rule(code="guest-missing", severity=Severity.ERROR, find=_find, rests_on=frozenset({STATE, LIBVIRT}))
