"""undone: the daemon does not repeat a repair that an operator undid with ``stocktake undo``.

A finding and the finding that causes it have the same repair, so the guard also asks about causes and symptoms. An
operator may repeat the repair with ``stocktake heal``: this guard applies to the daemon only.
"""

from __future__ import annotations

from agent.guards.base import Guard, GuardedFinding


def _refuses(guarded: GuardedFinding) -> str | None:
    seen = guarded.seen
    if guarded.scene.undone.isdisjoint({seen.finding.id, *seen.caused_by, *seen.symptoms}):
        return None
    return "an operator undid this repair, so the daemon does not repeat it; to repeat it by hand, run stocktake heal"


GUARD = Guard(name="undone", refuses=_refuses)
