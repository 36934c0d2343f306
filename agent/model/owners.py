"""The traits with which the agent and nova-compute mark the providers that they own.

The agent sets CUSTOM_OWNER_STOCKTAKE instead of nova-compute's OWNER_NOVA, so that the two owners can be
distinguished.
"""

from __future__ import annotations

import os_traits

AGENT_OWNER = "CUSTOM_OWNER_STOCKTAKE"
RIVAL: str = os_traits.OWNER_NOVA
