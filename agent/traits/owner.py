"""COMPUTE_NODE, and the trait that names the root provider's owner.

This module asks in every audit for OWNER_NOVA to be cleared. But while a provider has OWNER_NOVA, the check for another
writer (provider_tree/rival.py) stops all writes to the provider, except in a takeover that the operator requested. So
only such a takeover clears OWNER_NOVA.
"""

from __future__ import annotations

import os_traits

from agent.model.owners import AGENT_OWNER, RIVAL
from agent.model.settings import Settings
from agent.model.snapshot import Snapshot
from agent.traits.base import Wish


def wish(snapshot: Snapshot, settings: Settings) -> Wish:  # noqa: ARG001
    """In every audit, ask to set COMPUTE_NODE and the agent's own owner trait, and to clear OWNER_NOVA."""
    return Wish(wanted=frozenset({os_traits.COMPUTE_NODE, AGENT_OWNER}), unwanted=frozenset({RIVAL}))
