"""sources-fresh: refuse unless this audit read every source that the finding depends on."""

from __future__ import annotations

from agent.guards.base import Guard, GuardedFinding, always


def _refuses(guarded: GuardedFinding) -> str | None:
    needed = guarded.repair.needs if guarded.repair else frozenset()
    unread = sorted(source for source in needed if not guarded.scene.snapshot.fresh(source))
    return f"the repair needs {', '.join(unread)}, which this audit could not read" if unread else None


GUARD = Guard(name="sources-fresh", refuses=_refuses, waits=always)
