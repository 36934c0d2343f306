"""undone: the daemon does not repeat a repair that an operator undid with ``stocktake undo``.

An operator may repeat the repair with ``stocktake heal``: this guard applies to the daemon only.
"""

from __future__ import annotations

from agent.guards.base import Guard, GuardedFinding


def _refuses(guarded: GuardedFinding) -> str | None:
    if guarded.seen.finding.id not in guarded.scene.undone:
        return None
    return "an operator undid this repair; stocktake heal by hand may repeat it, the daemon does not"


GUARD = Guard(name="undone", refuses=_refuses)
