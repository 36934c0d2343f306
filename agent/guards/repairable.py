"""repairable: refuse a finding whose code has no repair, or that names no consumer."""

from __future__ import annotations

from agent.guards.base import Guard, GuardedFinding


def _refuses(guarded: GuardedFinding) -> str | None:
    if guarded.repair is None:
        return f"heal has no repair for {guarded.seen.finding.code}; an operator repairs it by hand"
    return None if guarded.consumer_uuids else "the finding names no consumer, so heal has no allocations to change"


GUARD = Guard(name="repairable", refuses=_refuses)
