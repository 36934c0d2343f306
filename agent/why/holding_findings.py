"""If this host lacks capacity, say which findings are about capacity that is taken although no instance needs it.

Placement counts such capacity as used or reserved. There are two cases. An allocation in Placement is larger than its
instance's flavor, or has no instance. Or a guest or volume unknown to nova uses the host, and the agent reports this
usage to Placement: in ``reserved``, or as an allocation of a consumer that the agent created.

Each row of the report's ledger says how much of one resource class one consumer takes. If a finding about the consumer
has the row's verdict as its code, the amount counts for this code only. Otherwise the amount counts for the code of
every finding about the consumer. A finding without a consumer, such as over-capacity, gets no amount. Pure: no I/O.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Set

from agent.model.finding import SeenFinding
from agent.model.own_consumers import OWN_KIND
from agent.model.report import AuditReport, InventoryRow, LedgerRow
from agent.why.model import Constraint, Obstacle, TreeAnswer
from agent.why.report import HoldingFinding


def holding(report: AuditReport, own: TreeAnswer | None, repairable: Set[str]) -> tuple[HoldingFinding, ...]:
    """Return for each finding code how much of this host's capacity is taken although no instance needs it.

    The codes are sorted. The result is empty if the first obstacle of this host (``own``) is not a lack of capacity.
    ``repairable`` are the codes of findings that heal can repair.
    """
    first = own.obstacles[0] if own and own.obstacles else None
    if first is None or first.constraint is not Constraint.CAPACITY:
        return ()
    there = [row for row in report.ledger if _is_there(row, first)]
    kept = _kept_back(there, report.inventory)
    found: dict[str, list[tuple[LedgerRow, SeenFinding]]] = defaultdict(list)
    for row in there:
        for seen in _about(row, report.findings) if _unpromised(row, kept) > 0 else ():
            found[seen.finding.code].append((row, seen))
    return tuple(_of_code(code, found[code], kept, repairable) for code in sorted(found))


def _of_code(
    code: str, held: list[tuple[LedgerRow, SeenFinding]], kept: frozenset[tuple[str, str]], repairable: Set[str]
) -> HoldingFinding:
    rows = {(row.provider_uuid, row.consumer_key): row for row, _ in held}
    findings = {seen.finding.id: seen for _, seen in held}
    return HoldingFinding(
        code=code,
        resource_class=held[0][0].resource_class,
        amount=sum(_unpromised(row, kept) for row in rows.values()),
        findings=len(findings),
        confirmed=all(seen.confirmed for seen in findings.values()),
        # A ledger row outside this host's tree is about a sharing provider. heal removes no allocations there.
        healable=code in repairable and not all(row.outside_tree for row in rows.values()),
    )


def _is_there(row: LedgerRow, obstacle: Obstacle) -> bool:
    """Whether the ledger row is about the resource class and the provider that lack capacity (``obstacle``).

    If ``obstacle`` names no provider, the row may be about any provider of this host's tree.
    """
    if row.resource_class != obstacle.resource_class:
        return False
    return not row.outside_tree if obstacle.provider_uuid is None else row.provider_uuid == obstacle.provider_uuid


def _kept_back(rows: Iterable[LedgerRow], inventory: Iterable[InventoryRow]) -> frozenset[tuple[str, str]]:
    """Return the pairs (class, cause) of the usage that nova does not know and that the agent reports to Placement.

    The agent reports such usage in ``reserved``, or as an allocation of a consumer that the agent created.
    """
    terms = {(one.wanted.resource_class, name) for one in inventory if one.wanted is not None for name, _ in one.terms}
    return frozenset(terms | {(row.resource_class, row.cause) for row in rows if row.consumer_kind == OWN_KIND})


def _unpromised(row: LedgerRow, kept: frozenset[tuple[str, str]]) -> int:
    """Return the part of the row's amount that Placement counts as used, but that nova promised to no instance.

    Return 0 for a consumer that the agent created: the consumer's guest or volume has a separate ledger row.
    """
    if row.consumer_kind == OWN_KIND:
        return 0
    if row.recorded is not None:
        return row.recorded - (row.promised or 0)
    return (row.held or 0) if (row.resource_class, row.cause) in kept else 0


def _about(row: LedgerRow, findings: Iterable[SeenFinding]) -> list[SeenFinding]:
    """Return the findings about the row's consumer and class.

    If some of these findings have the row's verdict as their code, return only those findings.
    """
    about = [
        seen
        for seen in findings
        if row.consumer_key in (seen.finding.consumer_uuid, seen.finding.subject)
        and seen.finding.resource_class in (None, row.resource_class)
    ]
    return [seen for seen in about if seen.finding.code == row.verdict.value] or about
