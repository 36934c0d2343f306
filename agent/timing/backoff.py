"""How long to wait before deciding again after a generation conflict, and before the first try of a periodic audit.

Full jitter over a growing cap: two writers that collided once draw different waits,
and the longer they keep colliding the wider they spread. What a newcomer would get
wrong: a fixed cap is too short just when it matters. A PUT that rests on an old generation still
costs the server the whole of its work, and stands in the way of the good ones, so with
64 writers on a server that is slow today short waits end in a state where hardly
anything is acknowledged (seen: one in three). So the cap is a multiple of what the round took.

And who writes at fixed times meets the same neighbours each time. So a periodic audit
that lost a round begins from then on at the time, after its own, at which it went well:
nobody else was there. Without a word between them the writers of one provider come to take turns.
Pure: random numbers are arguments.
"""

from __future__ import annotations

FIRST_CAP_S = 0.05
LAST_CAP_S = 5.0
GROWTH = 4.0
# In rounds. Simulated with 64 writers of one change each 20 s, a PUT of 90 ms: with less stale rounds queue up.
CAP_ROUNDS = 16.0
# How far a turn may be from one's own time. Half of that leaves too few free ones for 64 (same simulation).
LAST_HOLD_S = 10.0


def wait_s(conflict: int, random01: float, round_s: float = 0.0) -> float:
    """Seconds to wait after the ``conflict``-th conflict in a row (1 is the first); ``round_s`` is what it took.

    Uniform over [0, cap) with ``random01`` in [0, 1); the first cap is sixteen rounds and 0.05 s at least, each next
    one four times that, 5 s at most. Source: exponential back-off with full jitter.
    """
    first = max(FIRST_CAP_S, CAP_ROUNDS * round_s)
    # The last cap is reached long before the tenth, and a float power of a large count would overflow.
    cap = min(LAST_CAP_S, first * GROWTH ** min(max(conflict, 1) - 1, 10))
    return cap * random01


def hold_s(before_s: float, conflicts: int, well_after_s: float, random01: float) -> float:
    """Seconds to hold the first try of the next periodic audit back: as before, where this one lost no round.

    Else as long after its time as the round began that went well, ``well_after_s``; where that is more than 10 s, a
    new draw below that.
    """
    if not conflicts:
        return before_s
    return well_after_s if well_after_s <= LAST_HOLD_S else LAST_HOLD_S * random01
