"""COMPUTE_NODE and whose provider it is.

CUSTOM_OWNER_STOCKTAKE stands in the place of nova-compute's OWNER_NOVA, so that
two owners can be told apart. OWNER_NOVA is cleared only where the rival guard
let this plan pass (stages/rival.py): a takeover that the operator asked for.
"""

from __future__ import annotations

import os_traits

from agent.model.settings import Settings
from agent.model.snapshot import Snapshot
from agent.traits.base import Wish

OURS = "CUSTOM_OWNER_STOCKTAKE"
RIVAL: str = os_traits.OWNER_NOVA


class OwnerTraits:
    """The two traits that every root of ours carries."""

    name = "owner"

    def wish(self, snapshot: Snapshot, settings: Settings) -> Wish:  # noqa: ARG002
        """Always the same."""
        return Wish(wanted=frozenset({os_traits.COMPUTE_NODE, OURS}), unwanted=frozenset({RIVAL}))
