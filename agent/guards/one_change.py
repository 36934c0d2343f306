"""one-change: a consumer is changed once a run, since the first change makes the second rest on what is no more.

So is the tree: one reshape moves the generations that another one would rest on.
"""

from __future__ import annotations

from agent.guards.base import Case, Guard
from agent.model.heal import ReshapeAction
from agent.repairs.base import TreeRepair


def _refuses(case: Case) -> str | None:
    mine = set(case.consumer_uuids)
    for other in case.chosen:
        if mine & {change.before.consumer_uuid for change in other.changes}:
            return f"this run changes the consumer already, for {other.code}"
        if isinstance(other, ReshapeAction) and isinstance(case.repair, TreeRepair):
            return f"this run moves {other.reshaping.resource_class} already; this one in a later run"
    return None


GUARD = Guard(name="one-change", refuses=_refuses)
