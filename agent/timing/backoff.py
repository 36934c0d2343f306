"""Compute the wait of every back-off, the wait after a conflict, and the delay of a periodic audit's first write.

A round is one attempt of an audit to write its plan. The wait after a conflict is a random time below a cap (full
jitter), and the cap grows with each conflict: two writers that collide draw different waits. The first cap is a
multiple of the round's duration, because a fixed cap is too short for a slow server. A PUT with an old generation costs
a full request and delays valid PUTs: with 64 writers and short waits, a slow Placement acknowledged one PUT in three.

Writers that write at fixed times collide with the same writers each time. So a periodic audit that had a conflict
measures how late its last round began, compared with a first round without any delay. Later periodic audits delay their
first write by this time, and so they meet the moment at which the provider was free. After some audits the writers of
one provider take turns, although they do not communicate. Pure: random numbers are arguments.
"""

from __future__ import annotations

FIRST_CAP_S = 0.05
LAST_CAP_S = 5.0
GROWTH = 4.0
# The first cap of the wait after a conflict is the round's duration times this number. With a smaller number, PUTs with
# old generations queue up at the server (simulated: 64 writers, each with one change per 20 s, a PUT takes 90 ms).
CAP_ROUNDS = 16.0
# The longest delay of a periodic audit's first write. With 5 s, 64 writers find too few free moments (same simulation).
LAST_HOLD_S = 10.0


def grown_s(first_s: float, cap_s: float, times: int, growth: float = 2.0) -> float:
    """Return ``first_s`` × ``growth`` to the power of ``times``, at most ``cap_s``."""
    # Every caller reaches its cap in fewer than 30 steps. Without the limit of 30, the power would overflow a float.
    return min(cap_s, first_s * growth ** min(max(times, 0), 30))


def wait_s(conflict: int, random01: float, round_s: float = 0.0) -> float:
    """Return the seconds to wait after the ``conflict``-th conflict in a row (1 is the first).

    ``round_s`` is the duration of the round that had the conflict. The wait is uniform over [0, cap) with ``random01``
    in [0, 1). The first cap is the time of sixteen rounds but at least 0.05 s; each next cap is four times the cap
    before, at most 5 s. This is exponential back-off with full jitter.
    """
    return grown_s(max(FIRST_CAP_S, CAP_ROUNDS * round_s), LAST_CAP_S, conflict - 1, GROWTH) * random01


def hold_s(before_s: float, conflicts: int, well_after_s: float, random01: float) -> float:
    """Return the seconds by which the next periodic audit delays its first write.

    ``before_s`` is the delay of this audit. If this audit had no conflict (``conflicts`` is 0), the delay stays the
    same. Otherwise it is ``well_after_s``: the time from the moment when this audit could have begun its first round
    (without any delay) to the start of its last round. If ``well_after_s`` exceeds 10 s, the delay is a new random
    value below 10 s.
    """
    if not conflicts:
        return before_s
    return well_after_s if well_after_s <= LAST_HOLD_S else LAST_HOLD_S * random01
