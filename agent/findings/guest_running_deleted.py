"""guest-running-deleted: a guest is still defined on this host, but the cloud has deleted its instance.

Usually the instance's allocation is gone already, so the scheduler sees resources as free that the guest still takes.
By default nova-compute destroys such guests. Where nova-compute does not destroy the guest, only this finding reports
the guest.
"""

from __future__ import annotations

from agent.findings.base import AuditFacts, Findings, Rule, claims_of, held_text, rows_by_consumer
from agent.findings.base_began import by_deletion
from agent.findings.base_headlines import held, who
from agent.findings.base_remedies import by_hand, by_nova_compute, inspect, virsh
from agent.model.compared import Row
from agent.model.finding import Severity
from agent.model.report import Verdict
from agent.model.snapshot import LIBVIRT, STATE


def is_deleted(rows: tuple[Row, ...]) -> bool:
    """Return whether these ledger rows are about an instance that the cloud has deleted."""
    return any(row.instance is not None and row.instance.deleted for row in rows)


def _find(audit: AuditFacts) -> Findings:
    host = audit.snapshot.host.value
    states = {domain.uuid: domain.state.value for domain in (host.domains if host else ())}
    for consumer, rows in rows_by_consumer(audit, Verdict.GUEST_UNKNOWN).items():
        if not is_deleted(rows):
            continue
        instance, power = rows[0].instance, states.get(consumer, "in an unknown state")
        deleted_at = instance.deleted_at.isoformat() if instance and instance.deleted_at else None
        yield RULE.finding(
            audit,
            headline=f"{who(rows)}: the cloud deleted the instance, but its guest on {audit.host} is {power} and "
            f"holds {held(rows)}",
            consumer_uuid=consumer,
            expected=f"no guest, because instance {consumer} ({rows[0].consumer_name or 'no name'}) is deleted",
            actual=f"the instance's domain is still defined and {power}; the domain holds {held_text(rows)}; "
            f"[agent] unknown_guests = {audit.settings.unknown_guests.value} applies to the guest",
            evidence=claims_of(rows),
            began=by_deletion(instance),
            facts=(("instance_deleted_at", deleted_at), ("domain_state", power)),
            remedies=(
                *by_nova_compute(audit, _REAPED),
                inspect("make sure that the guest is not needed", virsh(audit, "dominfo", consumer)),
                by_hand("stop the guest", virsh(audit, "destroy", consumer)),
                by_hand("remove the guest", virsh(audit, "undefine", "--managed-save", "--nvram", consumer)),
            ),
        )


_REAPED = (
    "nova-compute removes such a guest by itself after some minutes, if running_deleted_instance_action in its "
    "nova.conf is reap (the default)"
)

RULE = Rule(code="guest-running-deleted", severity=Severity.ERROR, find=_find, rests_on=frozenset({STATE, LIBVIRT}))
