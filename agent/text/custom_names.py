"""Which custom names of resource classes and traits Placement takes. Anything else it answers 400, at every audit."""

from __future__ import annotations

import re

NAME_LIMIT = 255
# Placement's pattern ends in $, and Python takes a line's end before that: fullmatch does not.
_CUSTOM = re.compile(r"CUSTOM_[A-Z0-9_]+")


def is_custom_name(name: str) -> bool:
    r"""Whether it is ``^CUSTOM_[A-Z0-9_]+\Z``, up to 255 characters (placement/schemas: resource_class, trait)."""
    return len(name) <= NAME_LIMIT and _CUSTOM.fullmatch(name) is not None
