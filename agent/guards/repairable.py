"""repairable: refuse a finding whose code has no repair, or that names no consumer."""

from __future__ import annotations

from agent.guards.base import Guard, GuardedFinding


def _refuses(case: GuardedFinding) -> str | None:
    if case.repair is None:
        return f"no repair is known for {case.seen.finding.code}"
    return None if case.consumer_uuids else "it names no consumer"


GUARD = Guard(name="repairable", refuses=_refuses)
