"""Count what became of an audit's writes, by kind, for the metrics."""

from __future__ import annotations

from collections import Counter

from agent.audit.act import Acted
from agent.errors import LockHeld, PlacementError, WritesRefused
from agent.model.plan import (
    AnyWrite,
    CreateProvider,
    DeleteProvider,
    MoveProvider,
    PutAggregates,
    PutAllocations,
    PutInventories,
    PutTraits,
)

_KINDS: dict[type[AnyWrite], str] = {
    CreateProvider: "provider",
    MoveProvider: "provider",
    DeleteProvider: "provider",
    PutInventories: "inventories",
    PutTraits: "traits",
    PutAggregates: "aggregates",
    PutAllocations: "allocations",
}


def write_results(acted: Acted) -> tuple[tuple[str, str, int], ...]:
    """Return (kind, ``done``, ``refused`` or ``failed``, number) of the audit's writes.

    An error of Placement ends a plan: the first write of the plan that was not done has failed.
    """
    numbers = Counter((_kind(write), "done") for write in acted.done)
    numbers.update((_kind(refused.write), "refused") for refused in acted.refused)
    if isinstance(acted.error, PlacementError) and not isinstance(acted.error, WritesRefused | LockHeld):
        plan = acted.decision.plan
        left = (write for write in (*plan.writes, *plan.allocations, *plan.records) if write not in acted.done)
        failed = next(left, None)
        if failed is not None:
            numbers[_kind(failed), "failed"] += 1
    return tuple((kind, result, number) for (kind, result), number in sorted(numbers.items()))


def _kind(write: AnyWrite) -> str:
    return _KINDS.get(type(write), "compute-node")
