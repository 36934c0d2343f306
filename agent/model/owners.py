"""The traits by which an agent and nova-compute say whose a provider is.

CUSTOM_OWNER_STOCKTAKE stands in the place of nova-compute's OWNER_NOVA, so that two owners can be told apart.
"""

from __future__ import annotations

import os_traits

OURS = "CUSTOM_OWNER_STOCKTAKE"
RIVAL: str = os_traits.OWNER_NOVA
