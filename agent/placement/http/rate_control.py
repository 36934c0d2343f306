"""Decide how long Placement is left alone after each answer, so that a fleet takes what the server has and no more.

Nobody tells an agent how many others there are. What tells is how late an answer
comes: with N agents that ask one thing at a time, a server that takes C requests a
second answers after N/C seconds. An agent that then stays silent for PATIENCE times
as long as the answer was late lets the answers come after about N/(C·(1+PATIENCE)),
and the server has always enough to do. That is a fixed point, found without a search:
adding and halving until something breaks would break something.

Only reads wait. A write rests on what was read a moment ago, so a chain of writes is
carried out, and its pauses are added up for the next read to wait. What a server asks
for by Retry-After is not decided here: the client sends nothing at all until then.
Pure: time and chance are arguments. agent/placement/http/throttled_session.py does the waiting.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

#: Seconds of silence, on average, for each second that an answer was late.
PATIENCE = 10.0
#: What an answer that pushes back (429, 503, …) makes of no pause at all, in seconds.
FIRST_SPREAD_S = 4.0
#: So many refusals in a row, all tries of one read, are a server that is away and not one that is crowded: an audit has
#: other sources to read, and asks less often by the worker's retries (agent/daemon/worker.py).
AWAY = 3
AWAY_SPREAD_S = 10.0
#: Where nobody listens: that costs no server anything.
NOBODY_SPREAD_S = 1.0
GROWTH = 2.0
#: What an answer that has room leaves of it. Twelve good answers to a refusal are where growth and this balance.
SHRINK = 0.9
#: Pauses of one audit together, in seconds. A server that needs seconds for each answer may be crowded or just
#: slow, and a first look at a host with many providers is near a hundred requests: its inventory must go out all
#: the same. Half of it is too little for a fleet whose start takes the server six minutes (tests/rigs/fleet_model.py).
PAUSES_OF_AN_AUDIT_S = 600.0
# Below this a pause is not worth a thread's sleep.
_NO_SPREAD_S = 0.01
# A proxy in front, or Placement itself, that has no room for the request. 500 is a failure, not a want of room.
_PUSHED_BACK = frozenset({429, 502, 503, 504})


@dataclass(frozen=True, slots=True, kw_only=True)
class Manners:
    """``slow_s``: an answer later than this, and than the server ever needs, is late. ``longest_s``: one pause at most.

    With ``longest_s`` 0 nobody ever waits.
    """

    slow_s: float = 0.5
    longest_s: float = 120.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What came of one request: at ``at``, monotonic seconds, ``latency_s`` after it was sent.

    ``status`` None: no answer came.
    """

    at: float
    latency_s: float
    status: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """What one client remembers of the server.

    ``best_s``: the quickest answer ever. ``pushed_s``: what is left of the spread that refusals made; ``refusals`` are
    those in a row. ``quiet_until``, monotonic seconds: no read before. ``paused_s``: how long this audit was quiet.
    """

    best_s: float = math.inf
    pushed_s: float = 0.0
    refusals: int = 0
    quiet_until: float = 0.0
    paused_s: float = 0.0


def after_answer(pace: Pace, answer: Answer, manners: Manners, random01: float) -> Pace:
    """The pace after ``answer``; ``random01`` in [0, 1) is the jitter: a pause is uniform over [0, spread).

    No pause is longer than ``manners.longest_s``: a thread that sleeps is not to be taken for one that hangs.
    """
    best_s = pace.best_s if answer.status is None else min(pace.best_s, answer.latency_s)
    refused = answer.status is None or answer.status in _PUSHED_BACK
    refusals = pace.refusals + 1 if refused else 0
    pushed_s = min(manners.longest_s, _pushed_s(pace, answer.status))
    spread_s = max(pushed_s, _late_s(best_s, answer, manners))
    longest_s = min(manners.longest_s, AWAY_SPREAD_S if answer.status is None or refusals >= AWAY else math.inf)
    # Where writes were sent meanwhile the pause before them is still owed.
    owed_until = max(pace.quiet_until, answer.at) + min(spread_s, longest_s) * random01
    return Pace(
        best_s=best_s,
        pushed_s=pushed_s,
        refusals=refusals,
        quiet_until=min(owed_until, answer.at + longest_s),
        paused_s=pace.paused_s,
    )


def delay_s(pace: Pace, now: float) -> float:
    """Seconds before a read may be sent; 0 while the server keeps up, and once this audit has paused long enough."""
    return max(0.0, min(pace.quiet_until - now, PAUSES_OF_AN_AUDIT_S - pace.paused_s))


def after_pause(pace: Pace, paused_s: float) -> Pace:
    """The pace after so many seconds of silence."""
    return replace(pace, paused_s=pace.paused_s + paused_s)


def of_a_new_audit(pace: Pace) -> Pace:
    """The pace at the start of an audit or a command."""
    return replace(pace, paused_s=0.0)


def _late_s(best_s: float, answer: Answer, manners: Manners) -> float:
    """The spread that an answer's lateness asks for: twice the mean pause. It needs no memory.

    A server that is always slow is not crowded for that, up to a point: who starts
    in the middle of a crowd has never seen a quick answer.
    """
    usual_s = min(best_s, manners.slow_s)
    return 2 * PATIENCE * max(0.0, answer.latency_s - usual_s - manners.slow_s)


def _pushed_s(pace: Pace, status: int | None) -> float:
    """The spread that refusals made, after one more answer."""
    if status is None:
        return max(NOBODY_SPREAD_S, pace.pushed_s)
    if status in _PUSHED_BACK:
        return pace.pushed_s if pace.refusals >= AWAY else max(FIRST_SPREAD_S, pace.pushed_s * GROWTH)
    return pace.pushed_s * SHRINK if pace.pushed_s * SHRINK >= _NO_SPREAD_S else 0.0
