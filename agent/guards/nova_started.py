"""nova-started: in role companion, refuse until nova-compute of this host has been alive for a minute.

When nova-compute starts, it completes operations that it left unfinished: it destroys guests that were evacuated from
this host, finishes interrupted deletions, and removes allocations (nova/compute/manager.py:init_host). Only then does
it send its first heartbeat (nova/service.py:start). So a nova-compute without a heartbeat may be starting, and heal
waits. The services row has no start time, so the agent counts the seconds from the first audit that found nova-compute
alive.
"""

from __future__ import annotations

from agent.guards.base import Guard, GuardedFinding, Wait, beside_nova

START_S = 60


@beside_nova
def _refuses(guarded: GuardedFinding) -> str | None:
    state, alive_s = guarded.scene.snapshot.nova.value, guarded.scene.nova_alive_s
    if state is None or state.service is None:
        return "nova's database shows no nova-compute service of this host, so it is unknown when nova-compute started"
    if alive_s is None:
        return (
            "nova-compute of this host is not alive and may be starting; heal waits until nova-compute has been alive "
            f"for {START_S} s"
        )
    if alive_s >= START_S:
        return None
    return (
        f"by the audits, nova-compute has been alive for {alive_s} s; heal waits until nova-compute has been alive for "
        f"{START_S} s"
    )


def _waits(guarded: GuardedFinding) -> Wait | None:
    state, alive_s = guarded.scene.snapshot.nova.value, guarded.scene.nova_alive_s
    # Without a heartbeat, nova-compute may be stopped for good. No wait would help then, so return None.
    if state is None or state.service is None or alive_s is None:
        return None
    return Wait(START_S - alive_s)


GUARD = Guard(name="nova-started", refuses=_refuses, waits=_waits)
