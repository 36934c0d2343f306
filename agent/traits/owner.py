"""COMPUTE_NODE and whose provider it is.

OWNER_NOVA is cleared only where the rival guard let this plan pass
(provider_tree/rival.py): a takeover that the operator asked for.
"""

from __future__ import annotations

import os_traits

from agent.model.owners import OURS, RIVAL
from agent.model.settings import Settings
from agent.model.snapshot import Snapshot
from agent.traits.base import Wish


class OwnerTraits:
    """The two traits that every root of ours carries."""

    name = "owner"

    def wish(self, snapshot: Snapshot, settings: Settings) -> Wish:  # noqa: ARG002
        """Always the same."""
        return Wish(wanted=frozenset({os_traits.COMPUTE_NODE, OURS}), unwanted=frozenset({RIVAL}))
