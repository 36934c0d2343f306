"""nova-started: in role companion, refuse for a minute after nova-compute of this host has started.

In its first seconds nova-compute finishes what it left unfinished: it destroys guests that were evacuated from this
host, completes deletes and writes allocations (nova/compute/manager.py:init_host). The services row has no time of the
start, so the agent counts from the first audit that found nova-compute's heartbeat alive again.
"""

from __future__ import annotations

from agent.guards.base import Guard, GuardedFinding, beside_nova

START_S = 60


@beside_nova
def _refuses(guarded: GuardedFinding) -> str | None:
    state, alive_s = guarded.scene.snapshot.nova.value, guarded.scene.nova_alive_s
    if state is None or state.service is None:
        return "nova's database shows no nova-compute service of this host, so it is unknown when nova-compute started"
    if alive_s is None or alive_s >= START_S:
        return None
    return f"the agent has seen nova-compute alive for {alive_s} s; it waits {START_S} s after a start of nova-compute"


GUARD = Guard(name="nova-started", refuses=_refuses)
