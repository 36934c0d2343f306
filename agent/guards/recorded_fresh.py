"""recorded-fresh: refuse unless this audit itself read the allocations from Placement.

Some audits reuse the allocations that an earlier audit read. Such an allocation may be gone by now: Placement can
delete an allocation without a new generation of the provider, and the agent does not notice.
"""

from __future__ import annotations

from agent.guards.base import Guard, GuardedFinding, always


def _refuses(guarded: GuardedFinding) -> str | None:
    view = guarded.scene.view
    if view is not None and view.allocations_fresh:
        return None
    return "Placement's allocations were not read in this audit; the next audit reads them"


GUARD = Guard(name="recorded-fresh", refuses=_refuses, waits=always)
