"""guest-unknown: a guest is defined on this host, but the cloud has no such instance on the host.

nova-compute does not report such guests.
"""

from __future__ import annotations

from agent.findings.base import AuditFacts, Findings, Rule, claims_of, held_text, rows_by_consumer
from agent.findings.base_headlines import held, who
from agent.findings.base_remedies import by_hand, inspect, show_server, virsh, wait
from agent.findings.guest_running_deleted import is_deleted
from agent.model.finding import Remedy, Severity
from agent.model.report import Verdict
from agent.model.settings import UnmanagedPolicy
from agent.model.snapshot import LIBVIRT, STATE


def _find(audit: AuditFacts) -> Findings:
    if audit.settings.unknown_guests is UnmanagedPolicy.IGNORE:
        return
    for consumer, rows in rows_by_consumer(audit, Verdict.GUEST_UNKNOWN).items():
        if is_deleted(rows):
            continue
        yield RULE.finding(
            audit,
            headline=f"{who(rows)}: a guest on {audit.host} holds {held(rows)}, "
            "but nova has no such instance on this host",
            consumer_uuid=consumer,
            expected="every guest of this host is an instance of the cloud",
            actual=f"domain {consumer} ({rows[0].consumer_name or 'no name'}) holds {held_text(rows)}; "
            f"[agent] unknown_guests = {audit.settings.unknown_guests.value} applies to the guest",
            evidence=claims_of(rows),
            remedies=_remedies(audit, consumer),
        )


def _remedies(audit: AuditFacts, consumer: str) -> tuple[Remedy, ...]:
    is_reserved = audit.settings.unknown_guests is UnmanagedPolicy.RESERVE
    reserved = "until the guest is gone, the agent does not offer the guest's resources ([agent] unknown_guests)"
    return (
        inspect("see what the guest is", virsh(audit, "dominfo", consumer)),
        inspect("see whether the guest is an instance of another host", show_server(consumer)),
        by_hand("if the guest is not needed, stop it", virsh(audit, "destroy", consumer)),
        by_hand("then remove it", virsh(audit, "undefine", "--managed-save", "--nvram", consumer)),
        *((wait(reserved),) if is_reserved else ()),
    )


RULE = Rule(code="guest-unknown", severity=Severity.WARNING, find=_find, rests_on=frozenset({STATE, LIBVIRT}))
