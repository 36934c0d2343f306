"""Check which custom names of resource classes and traits Placement accepts.

Placement answers 400 to any other name, and would do so at every audit.
"""

from __future__ import annotations

import re

NAME_LIMIT = 255
# Placement's pattern ends in $, which in Python also matches before a final newline. fullmatch does not.
_CUSTOM = re.compile(r"CUSTOM_[A-Z0-9_]+")


def is_custom_name(name: str) -> bool:
    """Whether the name has the pattern and at most 255 characters (placement/schemas, resource_class and trait)."""
    return len(name) <= NAME_LIMIT and _CUSTOM.fullmatch(name) is not None
