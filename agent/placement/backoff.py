"""How long to wait before deciding again after a generation conflict.

Full jitter over a doubling cap: two writers that collided once draw different
waits, and the longer they keep colliding the wider they spread. Pure: the
random number is an argument.
"""

from __future__ import annotations

FIRST_CAP_S = 0.05
LAST_CAP_S = 2.0


def wait_s(conflict: int, random01: float) -> float:
    """Seconds to wait after the ``conflict``-th conflict in a row (1 is the first).

    Uniform over [0, cap) with ``random01`` in [0, 1); the cap doubles from
    0.05 s to 2 s. Source: exponential back-off with full jitter.
    """
    # 2**10 · 0.05 s is past the last cap, and a float power of a large count would overflow.
    cap = min(LAST_CAP_S, FIRST_CAP_S * 2.0 ** min(max(conflict, 1) - 1, 10))
    return cap * random01
