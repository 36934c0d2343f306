"""repairable: refuse a finding whose code has no repair, or that names no consumer."""

from __future__ import annotations

from agent.guards.base import Guard, GuardedFinding


def _refuses(guarded: GuardedFinding) -> str | None:
    if guarded.repair is None:
        return f"no repair is known for {guarded.seen.finding.code}"
    return None if guarded.consumer_uuids else "the finding names no consumer"


GUARD = Guard(name="repairable", refuses=_refuses)
