"""one-change: a consumer is changed once a run, since the first change makes the second rest on what is no more."""

from __future__ import annotations

from agent.guards.base import Case, Guard


def _refuses(case: Case) -> str | None:
    other = next((a for a in case.chosen if a.before.consumer_uuid == case.consumer_uuid), None)
    return f"this run changes the consumer already, for {other.code}" if other else None


GUARD = Guard(name="one-change", refuses=_refuses)
