"""one-change: change each consumer at most once in a run, because a second change would be based on outdated facts.

A run also contains at most one reshape: a reshape raises the generations on which a second reshape would be based.
"""

from __future__ import annotations

from agent.guards.base import Guard, GuardedFinding, always
from agent.model.heal import ReshapeAction
from agent.repairs.base import TreeRepair


def _refuses(guarded: GuardedFinding) -> str | None:
    mine = set(guarded.consumer_uuids)
    for other in guarded.chosen:
        if mine & {change.before.consumer_uuid for change in other.changes}:
            return f"this run already changes the consumer, for finding {other.code}"
        if isinstance(other, ReshapeAction) and isinstance(guarded.repair, TreeRepair):
            return (
                f"this run already moves {other.reshaping.resource_class} to other providers; a later run repairs this "
                "finding"
            )
    return None


GUARD = Guard(name="one-change", refuses=_refuses, waits=always)
