"""How long to wait before deciding again after a generation conflict, and before the first try of the next audit.

Full jitter over a growing cap: two writers that collided once draw different waits,
and the longer they keep colliding the wider they spread. What a newcomer would get
wrong: a fixed cap is too short just when it matters. A PUT that rests on an old generation still
costs the server the whole of its work, and stands in the way of the good ones, so with
64 writers on a server that is slow today short waits end in a state where hardly
anything is acknowledged (seen: one in three). So the cap is a multiple of what the round took.

And who writes at fixed times meets the same neighbours each time: a writer that lost
a round holds its first try back from then on, by a time of its own, until it loses again.
Pure: random numbers are arguments.
"""

from __future__ import annotations

FIRST_CAP_S = 0.05
LAST_CAP_S = 5.0
GROWTH = 4.0
# In rounds. Simulated with 64 writers of one change each 20 s: less lets stale rounds queue up, more only makes them
# slower; with holding back one change in 300 needs a fourth PUT, without one in 30 (at 80 ms a round).
CAP_ROUNDS = 8.0
HOLD_ROUNDS = 16.0


def wait_s(conflict: int, random01: float, round_s: float = 0.0) -> float:
    """Seconds to wait after the ``conflict``-th conflict in a row (1 is the first); ``round_s`` is what it took.

    Uniform over [0, cap) with ``random01`` in [0, 1); the first cap is eight rounds and 0.05 s at least, each next
    one four times that, 5 s at most. Source: exponential back-off with full jitter.
    """
    first = max(FIRST_CAP_S, CAP_ROUNDS * round_s)
    # The last cap is reached long before the tenth, and a float power of a large count would overflow.
    cap = min(LAST_CAP_S, first * GROWTH ** min(max(conflict, 1) - 1, 10))
    return cap * random01


def hold_s(before_s: float, conflicts: int, round_s: float, random01: float) -> float:
    """Seconds to hold the next audit's first try back: as before, or a new draw where this one lost rounds.

    Uniform over 16 rounds, 5 s at most.
    """
    return min(LAST_CAP_S, HOLD_ROUNDS * round_s) * random01 if conflicts else before_s
