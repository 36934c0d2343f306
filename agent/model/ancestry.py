"""Walk up a tree of providers, for all who ask what stands above one: its depth, what it is below of, a loop.

What a newcomer would get wrong: the tree is what others answered, so a parent may be unknown and parents may
form a loop. Neither is an error here; who cannot live with one looks for it. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping


def ancestors(uuid: str, parent_of: Mapping[str, str | None]) -> tuple[str, ...]:
    """Those above it, nearest first, as far as ``parent_of`` knows them; who stands in a loop is above itself."""
    above: dict[str, None] = {}
    at = parent_of.get(uuid)
    while at is not None and at in parent_of and at not in above:
        above[at] = None
        at = parent_of[at]
    return tuple(above)
