"""COMPUTE_NODE, and the trait that names the root provider's owner.

The agent clears OWNER_NOVA only in a takeover that the operator requested. In any other case the check for another
writer (provider_tree/rival.py) stops all writes to a provider that has OWNER_NOVA.
"""

from __future__ import annotations

import os_traits

from agent.model.owners import AGENT_OWNER, RIVAL
from agent.model.settings import Settings
from agent.model.snapshot import Snapshot
from agent.traits.base import Wish


def wish(snapshot: Snapshot, settings: Settings) -> Wish:  # noqa: ARG001
    """Set COMPUTE_NODE and the agent's own owner trait, and clear OWNER_NOVA, in every audit."""
    return Wish(wanted=frozenset({os_traits.COMPUTE_NODE, AGENT_OWNER}), unwanted=frozenset({RIVAL}))
