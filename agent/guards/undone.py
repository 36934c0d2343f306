"""undone: what an operator put back with ``stocktake undo`` the daemon does not take away again.

By hand it may be repeated: whoever asks for it by name knows better than the rule.
"""

from __future__ import annotations

from agent.guards.base import Case, Guard


def _refuses(case: Case) -> str | None:
    if case.seen.finding.id not in case.scene.undone:
        return None
    return "an operator undid this repair; stocktake heal by hand may repeat it, the daemon does not"


GUARD = Guard(name="undone", refuses=_refuses)
