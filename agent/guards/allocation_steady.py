"""allocation-steady: in role companion, refuse unless three audits in a row found the same allocations of the consumer.

nova-compute and the scheduler change allocations all the time. An allocation that changed within the last two audits
belongs to an operation of nova that may still be running.
"""

from __future__ import annotations

from agent.guards.base import Guard, GuardedFinding, always, beside_nova
from agent.model.finding import STEADY_AUDITS


@beside_nova
def _refuses(guarded: GuardedFinding) -> str | None:
    times = guarded.seen.times
    if times >= STEADY_AUDITS:
        return None
    return (
        f"heal waits: in role companion, {STEADY_AUDITS} audits in a row must find the same allocations of the "
        f"consumer; audits so far: {times}"
    )


GUARD = Guard(name="allocation-steady", refuses=_refuses, waits=always)
