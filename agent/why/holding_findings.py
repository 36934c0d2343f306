"""Which findings of this run's audit hold what the first obstacle lacks: the cause that no smaller request mends.

A finding holds what nobody promised here and Placement counts all the same: what is recorded above the promise, and use
that the cloud does not know where it is kept from the scheduler (``reserved``, or a consumer of ours). A row
counts for the finding of its own verdict where there is one, so that no amount is told twice. Findings that
sum others up (over-capacity) are about no consumer, and so hold nothing. Pure.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from agent.model.finding import SeenFinding
from agent.model.heal import HEALABLE
from agent.model.own_consumers import OWN_KIND
from agent.model.report import AuditReport, InventoryRow, LedgerRow
from agent.why.model import Constraint, Obstacle, TreeAnswer
from agent.why.report import HoldingFinding


def holding(report: AuditReport, own: TreeAnswer | None) -> tuple[HoldingFinding, ...]:
    """By code, sorted; nothing where this host's first obstacle is not about the capacity of a class."""
    first = own.obstacles[0] if own and own.obstacles else None
    if first is None or first.constraint is not Constraint.CAPACITY:
        return ()
    there = [row for row in report.ledger if _is_there(row, first)]
    kept = _kept_back(there, report.inventory)
    found: dict[str, list[tuple[LedgerRow, SeenFinding]]] = defaultdict(list)
    for row in (row for row in there if _unpromised(row, kept) > 0):
        for seen in _about(row, report.findings):
            found[seen.finding.code].append((row, seen))
    return tuple(_of_code(code, found[code], kept) for code in sorted(found))


def _of_code(code: str, held: list[tuple[LedgerRow, SeenFinding]], kept: frozenset[tuple[str, str]]) -> HoldingFinding:
    rows = {(row.provider_uuid, row.consumer_key): row for row, _ in held}
    findings = {seen.finding.id: seen for _, seen in held}
    return HoldingFinding(
        code=code,
        resource_class=held[0][0].resource_class,
        amount=sum(_unpromised(row, kept) for row in rows.values()),
        findings=len(findings),
        confirmed=all(seen.confirmed for seen in findings.values()),
        # heal takes nothing from a provider that shares with this host.
        healable=code in HEALABLE and not all(row.outside_tree for row in rows.values()),
    )


def _is_there(row: LedgerRow, obstacle: Obstacle) -> bool:
    """Of the class on the obstacle's provider; where that is one of several, anywhere in the tree."""
    if row.resource_class != obstacle.resource_class:
        return False
    return not row.outside_tree if obstacle.provider_uuid is None else row.provider_uuid == obstacle.provider_uuid


def _kept_back(rows: Iterable[LedgerRow], inventory: Iterable[InventoryRow]) -> frozenset[tuple[str, str]]:
    """(class, cause) of what the cloud does not know and the agent keeps from the scheduler."""
    terms = {(one.wanted.resource_class, name) for one in inventory if one.wanted is not None for name, _ in one.terms}
    ours = {(row.resource_class, row.cause) for row in rows if row.consumer_kind == OWN_KIND}
    return frozenset(terms | ours)


def _unpromised(row: LedgerRow, kept: frozenset[tuple[str, str]]) -> int:
    """What of the row Placement counts and nobody promised, in units of its class; of a consumer of ours nothing.

    That one stands for use that has rows of its own.
    """
    if row.consumer_kind == OWN_KIND:
        return 0
    if row.recorded is not None:
        return row.recorded - (row.promised or 0)
    return (row.held or 0) if (row.resource_class, row.cause) in kept else 0


def _about(row: LedgerRow, findings: Iterable[SeenFinding]) -> list[SeenFinding]:
    """Findings on the row's consumer in its class: those of its verdict's name, where there are none all."""
    about = [
        seen
        for seen in findings
        if row.consumer_key in (seen.finding.consumer_uuid, seen.finding.subject)
        and seen.finding.resource_class in (None, row.resource_class)
    ]
    return [seen for seen in about if seen.finding.code == row.verdict.value] or about
