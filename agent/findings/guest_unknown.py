"""guest-unknown: a guest is defined on this host, but the cloud has no such instance on the host.

nova-compute does not report such guests.
"""

from __future__ import annotations

from agent.findings.base import AuditFacts, Findings, Rule, claims_of, held_text, rows_by_consumer
from agent.findings.guest_running_deleted import is_deleted
from agent.model.finding import Severity
from agent.model.report import Verdict
from agent.model.settings import UnmanagedPolicy


def _find(audit: AuditFacts) -> Findings:
    if audit.settings.unknown_guests is UnmanagedPolicy.IGNORE:
        return
    for consumer, rows in rows_by_consumer(audit, Verdict.GUEST_UNKNOWN).items():
        if is_deleted(rows):
            continue
        yield RULE.finding(
            audit,
            consumer_uuid=consumer,
            expected="every guest of this host is an instance of the cloud",
            actual=f"domain {consumer} ({rows[0].consumer_name or 'no name'}) holds {held_text(rows)}; "
            f"[agent] unknown_guests = {audit.settings.unknown_guests.value}",
            evidence=claims_of(rows),
        )


RULE = Rule(
    code="guest-unknown",
    severity=Severity.WARNING,
    remedy="inspect the guest with virsh dominfo CONSUMER; if nobody needs the guest, virsh undefine CONSUMER; "
    "with [agent] unknown_guests = reserve, the agent reserves the guest's resources until the guest is gone",
    find=_find,
)
