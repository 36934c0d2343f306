"""recorded-fresh: refuse unless this audit itself read the allocations from Placement.

An allocation that an earlier audit read may be gone, although Placement did not raise its provider's generation.
"""

from __future__ import annotations

from agent.guards.base import Guard, GuardedFinding, always


def _refuses(guarded: GuardedFinding) -> str | None:
    view = guarded.scene.view
    if view is not None and view.allocations_fresh:
        return None
    return "Placement's allocations were not read in this audit; the next audit reads them"


GUARD = Guard(name="recorded-fresh", refuses=_refuses, waits=always)
