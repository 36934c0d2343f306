"""Divide the data space of a thin pool among the thin volumes in the pool.

The sum of the volumes' sizes may exceed the data space. Because snapshots share blocks, the sum of the volumes' written
bytes may exceed it too. But the sum of the shares that this module computes never exceeds the data space.

Pure: no I/O.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise


def owed(room_bytes: int, sizes: Sequence[int]) -> tuple[int, ...]:
    """Return how many bytes of the pool each volume gets: its size, or a share if all sizes together exceed the pool.

    The result depends on virtual sizes only, so a guest's writes do not change what is reserved in Placement.
    """
    return tuple(sizes) if sum(sizes) <= room_bytes else in_proportion(room_bytes, sizes)


def in_proportion(total: int, weights: Sequence[int]) -> tuple[int, ...]:
    """Divide ``total`` into whole numbers in proportion to ``weights``. If all weights are 0, return only zeros.

    Each number differs from its exact share by less than 1, because it is the difference of two rounded running sums.
    """
    whole = sum(weights)
    if not whole:
        return tuple(0 for _ in weights)
    reached = (total * running // whole for running in accumulate(weights, initial=0))
    return tuple(after - before for before, after in pairwise(reached))
