"""sources-fresh: a verdict is valid only in an audit that read every source that the verdict depends on."""

from __future__ import annotations

from agent.guards.base import Guard, GuardedFinding


def _refuses(case: GuardedFinding) -> str | None:
    needed = case.repair.needs if case.repair else frozenset()
    unread = sorted(source for source in needed if not case.scene.snapshot.fresh(source))
    return f"{', '.join(unread)} could not be read" if unread else None


GUARD = Guard(name="sources-fresh", refuses=_refuses)
