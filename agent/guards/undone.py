"""undone: the daemon does not repeat a repair that an operator undid with ``stocktake undo``.

A finding and the finding that causes it have the same repair. So the guard refuses if the operator undid the repair for
either of the two.

Both findings may have ended since the undo, and a new finding about the same consumer may have another id. So the guard
also checks the consumer: while the journal has an operator's undo of the consumer's allocations, the daemon does not
change these allocations.

The guard applies to the daemon only. An operator may repeat the repair with ``stocktake heal``.
"""

from __future__ import annotations

from agent.guards.base import Guard, GuardedFinding
from agent.repairs.base import Repair


def _refuses(guarded: GuardedFinding) -> str | None:
    undone, seen = guarded.scene.undone, guarded.seen
    if undone.unread_because:
        return f"the journal is unread, so an operator may have undone this repair: {undone.unread_because}"
    if not undone.findings.isdisjoint({seen.finding.id, *seen.caused_by, *seen.symptoms}):
        why = "an operator undid this repair, so the daemon does not repeat it"
        return f"{why}; to repeat the repair by hand, run stocktake heal"
    # A reshape has many consumers and keeps their amounts. If an operator undid a repair that changed the amounts of
    # one consumer, the operator did not object to a reshape. So only a Repair is refused here.
    if isinstance(guarded.repair, Repair) and not undone.consumers.isdisjoint(guarded.consumer_uuids):
        why = "an operator undid a repair of this consumer's allocations, so the daemon does not change them"
        return f"{why}; to repair the allocations by hand, run stocktake heal"
    return None


GUARD = Guard(name="undone", refuses=_refuses)
