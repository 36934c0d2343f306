"""COMPUTE_NODE, and the trait that names the root provider's owner.

In every audit this family asks to clear OWNER_NOVA. The agent clears the trait only in a takeover that the operator
requested. In any other case the check for another writer (provider_tree/rival.py) stops all writes to a provider with
OWNER_NOVA, so the trait stays.
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
