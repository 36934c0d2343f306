"""one-change: change each consumer once a run, because the first change invalidates the basis of a second one.

The same is true of the tree: one reshape raises the generations that another reshape would be based on.
"""

from __future__ import annotations

from agent.guards.base import Guard, GuardedFinding
from agent.model.heal import ReshapeAction
from agent.repairs.base import TreeRepair


def _refuses(guarded: GuardedFinding) -> str | None:
    mine = set(guarded.consumer_uuids)
    for other in guarded.chosen:
        if mine & {change.before.consumer_uuid for change in other.changes}:
            return f"this run changes the consumer already, for {other.code}"
        if isinstance(other, ReshapeAction) and isinstance(guarded.repair, TreeRepair):
            return f"this run moves {other.reshaping.resource_class} already; a later run moves this class"
    return None


GUARD = Guard(name="one-change", refuses=_refuses)
