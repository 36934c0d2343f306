"""Split what a thin pool has over the thin volumes in it.

Thin volumes may promise more than the pool has, and snapshots share blocks, so
neither sizes nor written bytes add up to anything; a split always does. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence


def owed(room_bytes: int, sizes: Sequence[int]) -> tuple[int, ...]:
    """What a pool with that room owes volumes of these virtual sizes: all of it, or of too little each its share.

    It does not move as guests write, so what rests on it does not either.
    """
    if sum(sizes) <= room_bytes:
        return tuple(sizes)
    return in_proportion(room_bytes, sizes)


def in_proportion(total: int, weights: Sequence[int]) -> tuple[int, ...]:
    """``total`` in whole parts by weight that add up to it; nothing for anybody where no weight is above 0.

    A part is less than 1 away from its exact share, since each is the difference of two rounded running sums.
    """
    whole = sum(weights)
    if not whole:
        return tuple(0 for _ in weights)
    parts: list[int] = []
    before = running = 0
    for weight in weights:
        running += weight
        reached = total * running // whole
        parts.append(reached - before)
        before = reached
    return tuple(parts)
