"""COMPUTE_STATUS_DISABLED follows the ``disabled`` flag of this host's service row (scenario 73).

If nova has no such row, or the agent could not read nova's state, the agent does not change the trait.
"""

from __future__ import annotations

import os_traits

from agent.model.settings import Settings
from agent.model.snapshot import Snapshot
from agent.traits.base import Wish

DISABLED: frozenset[str] = frozenset({os_traits.COMPUTE_STATUS_DISABLED})


def wish(snapshot: Snapshot, settings: Settings) -> Wish:  # noqa: ARG001
    """Set the trait while the service is disabled; clear it while the service is enabled."""
    state = snapshot.nova.value
    if state is None or state.service is None:
        return Wish()
    return Wish(wanted=DISABLED) if state.service.disabled else Wish(unwanted=DISABLED)
