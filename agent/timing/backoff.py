"""Compute the exponential wait of every back-off, the wait after a conflict, and the delay of a first write.

The wait after a conflict has full jitter: two writers that collide draw different waits, and the waits spread further
with each collision. The cap is a multiple of the round's duration, because a fixed cap is too short on a slow server. A
PUT with an old generation costs the server a full request and delays the valid PUTs: with 64 writers and short waits on
a slow server, Placement acknowledged only one PUT in three (measured).

Writers that write at fixed times collide with the same writers each time. So a periodic audit that had a conflict
notes how long after the due time of its first write the successful round began. Later periodic audits delay their
first write by that time. The writers of one provider thereby come to take turns without any communication.
Pure: random numbers are arguments.
"""

from __future__ import annotations

FIRST_CAP_S = 0.05
LAST_CAP_S = 5.0
GROWTH = 4.0
# In rounds. With fewer, stale rounds queue up (simulated: 64 writers, each with one change per 20 s, a PUT of 90 ms).
CAP_ROUNDS = 16.0
# The longest delay of a first write. Half of it leaves too few free moments for 64 writers (same simulation).
LAST_HOLD_S = 10.0


def grown_s(first_s: float, cap_s: float, times: int, growth: float = 2.0) -> float:
    """Return ``first_s`` multiplied ``times`` times by ``growth``, at most ``cap_s``."""
    # Every cap in use is reached earlier than at 30, and a float power of a large count would overflow.
    return min(cap_s, first_s * growth ** min(max(times, 0), 30))


def wait_s(conflict: int, random01: float, round_s: float = 0.0) -> float:
    """Return the seconds to wait after the ``conflict``-th conflict in a row (1 is the first).

    ``round_s`` is the duration of the round that had the conflict. The wait is uniform over [0, cap) with ``random01``
    in [0, 1). The first cap is sixteen rounds but at least 0.05 s; each next cap is four times the one before, at most
    5 s. Source: exponential back-off with full jitter.
    """
    return grown_s(max(FIRST_CAP_S, CAP_ROUNDS * round_s), LAST_CAP_S, conflict - 1, GROWTH) * random01


def hold_s(before_s: float, conflicts: int, well_after_s: float, random01: float) -> float:
    """Return the seconds by which the next periodic audit delays its first write.

    If this audit had no conflict (``conflicts`` is 0), the delay stays ``before_s``. Else the delay is
    ``well_after_s``: how long after the due time of this audit's first write the successful round began. If that
    exceeds 10 s, the delay is a new random value below 10 s.
    """
    if not conflicts:
        return before_s
    return well_after_s if well_after_s <= LAST_HOLD_S else LAST_HOLD_S * random01
