"""Check which custom names of resource classes and traits Placement accepts.

Placement answers 400 to a request with any other name. If the agent used such a name, every audit would fail.
"""

from __future__ import annotations

import re

NAME_LIMIT = 255
# Placement's pattern ends in $. In Python, $ also matches before a final newline, so the agent uses ``fullmatch``,
# which does not accept a newline.
_CUSTOM = re.compile(r"CUSTOM_[A-Z0-9_]+")


def is_custom_name(name: str) -> bool:
    """Whether Placement accepts the name as a custom class or trait: ``CUSTOM_…`` with at most 255 characters."""
    return len(name) <= NAME_LIMIT and _CUSTOM.fullmatch(name) is not None
