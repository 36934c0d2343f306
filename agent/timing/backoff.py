"""Compute the wait of every back-off, the wait after a conflict, and the delay of a periodic audit's first write.

A round is one attempt of an audit to write its changes to Placement. The wait after a conflict is a random time below a
cap (full jitter), and the cap grows with each conflict: two writers that collide draw different waits. The first cap is
a multiple of the round's duration, because a fixed cap is too short for a slow server. A PUT with an old generation
costs a full request and delays valid PUTs: with 64 writers and short waits, a slow Placement acknowledged one PUT in
three.

Agents with equal audit intervals collide in each interval. So an audit that had a conflict measures the time from its
planned first write to the start of its last attempt. Later periodic audits delay their first write by this time,
because no other agent wrote at that moment. After some audits the agents take turns, although they do not communicate.
Pure: random numbers are arguments.
"""

from __future__ import annotations

FIRST_CAP_S = 0.05
LAST_CAP_S = 5.0
GROWTH = 4.0
# The maximum wait after an audit's first conflict is this number times the duration of the audit's attempt to write. In
# a simulation, 64 writers made one change per 20 s each, and a PUT took 90 ms. With a smaller number, PUTs queued up at
# Placement.
CAP_ROUNDS = 16.0
# A periodic audit delays its first write by at most this time. In the simulation, 5 s was too short for 64 writers.
LAST_HOLD_S = 10.0


def grown_s(first_s: float, cap_s: float, times: int, growth: float = 2.0) -> float:
    """Return ``first_s`` × ``growth`` to the power of ``times``, at most ``cap_s``."""
    # Every caller reaches its cap in fewer than 30 steps. Without the limit of 30, the power would overflow a float.
    return min(cap_s, first_s * growth ** min(max(times, 0), 30))


def wait_s(conflict: int, random01: float, round_s: float = 0.0) -> float:
    """Return the seconds to wait after the ``conflict``-th conflict in a row (1 is the first).

    This is exponential back-off with full jitter: the wait is uniform over [0, cap) with ``random01`` in [0, 1).
    ``round_s`` is the duration of the attempt to write that had the conflict. The first cap is sixteen times
    ``round_s``, but at least 0.05 s. Each next cap is four times the cap before, but at most 5 s.
    """
    return grown_s(max(FIRST_CAP_S, CAP_ROUNDS * round_s), LAST_CAP_S, conflict - 1, GROWTH) * random01


def hold_s(before_s: float, conflicts: int, well_after_s: float, random01: float) -> float:
    """Return the seconds by which the next periodic audit delays its first write.

    ``before_s`` is the delay of this audit. ``well_after_s`` is the time from the moment when this audit was ready to
    write until its last attempt to write began.

    If this audit had no conflict, the next delay is ``before_s``. Otherwise the next delay is ``well_after_s``. If
    ``well_after_s`` exceeds 10 s, the next delay is a random time below 10 s.
    """
    if not conflicts:
        return before_s
    return well_after_s if well_after_s <= LAST_HOLD_S else LAST_HOLD_S * random01
