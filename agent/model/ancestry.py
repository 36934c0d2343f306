"""List the ancestors of a provider; callers derive depth, membership of a subtree and loops from the list.

The tree is built from Placement's responses, so a parent may be unknown and parents may form a loop. This module
accepts both. A caller that cannot accept an unknown parent or a loop must check for both. Pure: no I/O.
"""

from __future__ import annotations

from collections.abc import Mapping


def ancestors(uuid: str, parent_of: Mapping[str, str | None]) -> tuple[str, ...]:
    """Return the provider's ancestors, nearest first. The list ends before an ancestor that is not in ``parent_of``.

    A provider in a loop is its own ancestor.
    """
    above: dict[str, None] = {}
    at = parent_of.get(uuid)
    while at is not None and at in parent_of and at not in above:
        above[at] = None
        at = parent_of[at]
    return tuple(above)
