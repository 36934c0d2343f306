"""Why a tree that fits may still not be offered: two faults of the server that its own answer depends on.

MySQL and MariaDB keep an allocation ratio in single precision and multiply with that: 5 × 1.4 is
less than 7 there, and the last unit is refused (Placement 16.0.0 with MariaDB 10.11, measured).
Nothing that the API prints tells which database it is. Pure.
"""

from __future__ import annotations

import math
from dataclasses import replace

from agent.model.resource_request import OfferedProvider
from agent.why.candidates import Slot
from agent.why.forest import Tree


def single(ratio: float) -> float:
    """The ratio as a column of single precision keeps it: 24 bits of it, rounded to even."""
    mantissa, exponent = math.frexp(ratio)
    return math.ldexp(round(mantissa * 2**24), exponent - 24)


def in_single_precision(tree: Tree) -> Tree | None:
    """The tree with the ratios that MySQL calculates with, None where no capacity loses a unit by that."""
    if not any(_loses(offered) for offered in tree.reach):
        return None
    return replace(
        tree,
        root=_with_single_ratios(tree.root),
        own=tuple(map(_with_single_ratios, tree.own)),
        shared=tuple(map(_with_single_ratios, tree.shared)),
    )


def _loses(offered: OfferedProvider) -> bool:
    return any(
        int((i.total - i.reserved) * single(i.allocation_ratio)) < int(i.capacity) for i in offered.provider.inventories
    )


def _with_single_ratios(offered: OfferedProvider) -> OfferedProvider:
    inventories = tuple(
        replace(inventory, allocation_ratio=single(inventory.allocation_ratio))
        for inventory in offered.provider.inventories
    )
    return replace(offered, provider=replace(offered.provider, inventories=inventories))


def is_kept_for_one_tree(slots: tuple[Slot, ...], tree: Tree) -> bool:
    """Whether the unnumbered group is served by sharing providers alone, and other groups are not.

    Its candidates of all trees are equal then, and the server drops all but one before it looks at the other groups.
    """
    unnumbered = [slot for slot in slots if not slot.is_granular]
    return 0 < len(unnumbered) < len(slots) and not any(tree.owns(o) for slot in unnumbered for o in slot.domain)
