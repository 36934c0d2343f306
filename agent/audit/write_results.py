"""Count the results of an audit's writes, by kind of write, for the metrics."""

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
    """Return (kind of write, result, number of writes) tuples; a result is ``done``, ``refused`` or ``failed``.

    An error of Placement ends a plan. The plan's first write that was not done then counts as ``failed``.
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
