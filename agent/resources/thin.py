"""Divide the room of a thin pool among the thin volumes in the pool.

Thin volumes may promise more than the pool has, and snapshots share blocks. So neither sizes nor written bytes add up
to the pool's room; the parts of a split always do. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise


def owed(room_bytes: int, sizes: Sequence[int]) -> tuple[int, ...]:
    """Return the bytes that the pool owes each volume: its virtual size, or its share if the sizes exceed the room.

    Writes of guests do not change the result, so they change nothing that depends on the result.
    """
    return tuple(sizes) if sum(sizes) <= room_bytes else in_proportion(room_bytes, sizes)


def in_proportion(total: int, weights: Sequence[int]) -> tuple[int, ...]:
    """Return whole numbers in proportion to the weights that add up to ``total``; only zeros if no weight is above 0.

    Each differs by less than 1 from its exact share, because it is the difference of two rounded running sums.
    """
    whole = sum(weights)
    if not whole:
        return tuple(0 for _ in weights)
    reached = (total * running // whole for running in accumulate(weights, initial=0))
    return tuple(after - before for before, after in pairwise(reached))
