"""undone: the daemon does not repeat a repair that an operator undid with ``stocktake undo``.

If one finding causes another, both have the same repair. So the guard refuses if the operator undid the repair of
either finding.

After the undo, a new finding about the same consumer may have another id. So the guard also checks the consumer: if
the journal says that an operator undid a change of the consumer's allocations, the daemon does not change these
allocations.

The guard applies to the daemon only. An operator may repeat the repair with ``stocktake heal``.
"""

from __future__ import annotations

from agent.guards.base import Guard, GuardedFinding
from agent.repairs.base import Repair


def _refuses(guarded: GuardedFinding) -> str | None:
    undone, seen = guarded.scene.undone, guarded.seen
    if undone.unread_because:
        return f"the journal, which may say that an operator undid this repair, cannot be read: {undone.unread_because}"
    if not undone.findings.isdisjoint({seen.finding.id, *seen.caused_by, *seen.symptoms}):
        why = "an operator undid this repair, so the daemon does not repeat it"
        return f"{why}; to repeat the repair by hand, run stocktake heal"
    # A Repair changes one consumer's amounts, and the operator who undid a repair objected to the new amounts. A
    # reshape is not refused: it keeps all amounts and only moves them to child providers.
    if isinstance(guarded.repair, Repair) and not undone.consumers.isdisjoint(guarded.consumer_uuids):
        why = "an operator undid a repair of this consumer's allocations, so the daemon does not change them"
        return f"{why}; to repair the allocations by hand, run stocktake heal"
    return None


GUARD = Guard(name="undone", refuses=_refuses)
