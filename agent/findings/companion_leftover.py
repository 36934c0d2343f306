"""companion-leftover: a consumer that the agent created (type STOCKTAKE_UNMANAGED) has an unneeded allocation.

What the agent does depends on ``[agent] role``. A companion maintains these consumers in every audit. An owner removes
them in its next audit; until then Placement counts the same usage twice, as allocation and in ``reserved``. An observer
removes nothing. If this host's provider had another uuid earlier, the agent never removes the consumers for the earlier
uuid: an operator must remove these consumers.
"""

from __future__ import annotations

from agent.findings.base import AuditFacts, Findings, Rule, claims_of, recorded_text
from agent.findings.base_headlines import recorded
from agent.findings.base_remedies import by_hand, delete_allocations, wait
from agent.model.claim import Cause
from agent.model.finding import Finding, Remedy, Severity
from agent.model.own_consumers import OWN_TYPE, own_consumers
from agent.model.settings import Role
from agent.model.snapshot import LIBVIRT, PLACEMENT, STATE


def _find(audit: AuditFacts) -> Findings:
    view = audit.view
    if view is None:
        return
    own = own_consumers(audit.root_uuid)
    for consumer in sorted(view.consumer_uuids & own.keys()):
        if why := _why(audit, own[consumer]):
            yield _finding(audit, consumer, why, _remedies(audit, consumer))
    for record in view.consumers:
        if record.consumer_type == OWN_TYPE and record.consumer_uuid not in own:
            why = (
                f"the agent created the consumer for an earlier provider of this host, not for provider "
                f"{audit.root_uuid}"
            )
            yield _finding(audit, record.consumer_uuid, why, _of_an_old_identity(record.consumer_uuid))


def _why(audit: AuditFacts, cause: Cause) -> str | None:
    """Return why the agent's own consumer should not exist; None if the consumer may be needed.

    - In role owner, the consumer is never needed.
    - In role companion, the consumer may always be needed.
    - In role observer, the consumer may be needed if this host has usage of the kind ``cause``, or if a source could
      not be read.
    """
    if audit.settings.role is Role.OWNER:
        return (
            f"with [agent] role = owner, {cause.value} usage is counted in the inventory's reserved amount, not as an "
            "allocation"
        )
    if audit.settings.role is Role.COMPANION or not _all_read(audit):
        return None
    is_used = any(claim.cause is cause for claim in audit.books.unmanaged.claims)
    return None if is_used else f"this host has no usage of the kind {cause.value}"


def _all_read(audit: AuditFacts) -> bool:
    host, state = audit.snapshot.host.value, audit.state
    if host is None or host.odd_domains or state is None or state.unreadable:
        return False
    return all(reading.ok for reading in audit.snapshot.readings)


def _finding(audit: AuditFacts, consumer: str, why: str, remedies: tuple[Remedy, ...]) -> Finding:
    rows = tuple(row for row in audit.rows if row.key == consumer)
    return RULE.finding(
        audit,
        headline=f"{consumer}: this consumer of Stocktake is obsolete, but Placement still counts {recorded(rows)} on "
        f"{audit.host}",
        consumer_uuid=consumer,
        expected=f"{OWN_TYPE} {consumer} has no allocations, because {why}",
        actual=f"Placement records {recorded_text(rows)}",
        evidence=claims_of(rows),
        rests_on_recorded=True,
        remedies=remedies,
    )


def _remedies(audit: AuditFacts, consumer: str) -> tuple[Remedy, ...]:
    if audit.settings.role is Role.OBSERVER:
        words = "in role observer the agent removes no consumer: remove this consumer's allocations by hand"
        return (by_hand(words, delete_allocations(consumer)),)
    words = (
        "the agent removes the consumer as soon as an audit can compute the reserved amounts of its resource classes"
    )
    return (wait(words),)


def _of_an_old_identity(consumer: str) -> tuple[Remedy, ...]:
    words = (
        "the agent created this consumer for an earlier uuid of this host's provider. The agent will never remove the "
        "consumer. Remove the consumer's allocations if no host's provider has the earlier uuid now"
    )
    return (by_hand(words, delete_allocations(consumer)),)


RULE = Rule(
    code="companion-leftover",
    severity=Severity.WARNING,
    find=_find,
    rests_on=frozenset({PLACEMENT, STATE, LIBVIRT}),
)
