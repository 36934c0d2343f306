"""Split the room of a thin pool over the thin volumes in it.

Thin volumes may promise more than the pool has, and snapshots share blocks. So neither sizes nor written bytes add up
to the pool's room; the parts of a split always do. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise


def owed(room_bytes: int, sizes: Sequence[int]) -> tuple[int, ...]:
    """Return what a pool with that room owes volumes of these virtual sizes: all of it or, if too little, shares of it.

    The result does not change as guests write, so nothing that depends on it does either.
    """
    return tuple(sizes) if sum(sizes) <= room_bytes else in_proportion(room_bytes, sizes)


def in_proportion(total: int, weights: Sequence[int]) -> tuple[int, ...]:
    """Return ``total`` in whole parts by weight that add up to it; only zeros if no weight is above 0.

    A part differs by less than 1 from its exact share, since each is the difference of two rounded running sums.
    """
    whole = sum(weights)
    if not whole:
        return tuple(0 for _ in weights)
    reached = (total * running // whole for running in accumulate(weights, initial=0))
    return tuple(after - before for before, after in pairwise(reached))
