"""Find the trees that fit, but that Placement may leave out because of a defect of Placement or its database.

There are two such defects. First, MySQL and MariaDB store an allocation ratio in single precision, so the stored ratio
may be a little too small. For example, 5 × 1.4 is then less than 7, and Placement refuses the seventh unit (measured
with Placement 16.0.0 and MariaDB 10.11). The API does not show which database Placement uses. The second defect is
described at ``is_kept_for_one_tree``. Pure: no I/O.
"""

from __future__ import annotations

import math
from dataclasses import replace

from agent.model.resource_request import OfferedProvider
from agent.why.candidates import Slot
from agent.why.forest import OfferedTree


def single(ratio: float) -> float:
    """Return the ratio as a single-precision column stores it: with 24 bits, rounded half to even."""
    mantissa, exponent = math.frexp(ratio)
    return math.ldexp(round(mantissa * 2**24), exponent - 24)


def in_single_precision(tree: OfferedTree) -> OfferedTree | None:
    """Return the tree with the allocation ratios as MySQL stores them.

    Return None if these ratios change no capacity (in whole units). Then the caller need not check the tree again.
    """
    if not any(_loses(offered) for offered in tree.reach):
        return None
    own, shared = (tuple(map(_with_single_ratios, some)) for some in (tree.own, tree.shared))
    return replace(tree, root=_with_single_ratios(tree.root), own=own, shared=shared)


def _loses(offered: OfferedProvider) -> bool:
    return any(
        int((i.total - i.reserved) * single(i.allocation_ratio)) < int(i.capacity) for i in offered.provider.inventories
    )


def _with_single_ratios(offered: OfferedProvider) -> OfferedProvider:
    inventories = tuple(replace(i, allocation_ratio=single(i.allocation_ratio)) for i in offered.provider.inventories)
    return replace(offered, provider=replace(offered.provider, inventories=inventories))


def is_kept_for_one_tree(slots: tuple[Slot, ...], tree: OfferedTree) -> bool:
    """Whether only sharing providers satisfy the unnumbered group, and the request has other groups too.

    If so, Placement may offer only one of the trees that fit. Placement first looks at the unnumbered group alone. This
    group gets the same sharing providers in all these trees. So Placement regards the trees as equal and keeps only
    one. Placement looks at the other groups only later.
    """
    unnumbered = [slot for slot in slots if not slot.is_granular]
    return 0 < len(unnumbered) < len(slots) and not any(tree.owns(o) for slot in unnumbered for o in slot.domain)
