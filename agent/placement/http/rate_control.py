"""Decide how long an agent pauses after each answer, so that a whole fleet does not exceed Placement's capacity.

An agent does not know how many other agents there are, but it can measure by how much an answer takes longer than
usual: its delay. With N agents that send one request at a time, a server with a capacity of C requests per second
answers after N/C seconds. If each agent then pauses PATIENCE times the delay, answers take about N/(C·(1+PATIENCE))
seconds, and the server never runs idle. This state is stable, so an agent need not search for the right rate. A search
that raises the rate until a request fails, and then halves the rate, would cause failures.

Only reads wait. Writes are sent without pauses, because each depends on a read made just before. The next read then
waits for the pauses of these writes too. This module does not handle Retry-After: after that header the client sends
nothing until the requested time (retry_after.py). Pure: time and randomness are arguments.
agent/placement/http/throttled_session.py does the waiting.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

#: The average pause in seconds for each second that an answer was late.
PATIENCE = 10.0
#: The spread (upper limit of the random pause) after the first refusal (429, 503, …), in seconds.
FIRST_SPREAD_S = 4.0
#: After this number of refusals in a row, the server counts as down, not as overloaded. The agent also tries each read
#: this many times. While the server is down, the pauses stay short, so that the audit can read its other sources. The
#: server gets few requests anyway: the worker retries failed audits less and less often (agent/daemon/worker.py).
AWAY = 3
AWAY_SPREAD_S = 10.0
#: After a request without an answer, the upper limit of the random pause is at least this many seconds. This is short,
#: because a request to a server that is down costs the server nothing.
NO_ANSWER_SPREAD_S = 1.0
#: Factor by which a refusal raises the upper limit of the random pause.
GROWTH = 2.0
#: Factor by which any other answer reduces the upper limit of the random pause. One refusal doubles the limit, and six
#: to seven other answers halve it again (0.9 ** 6.6 = 1 / 2).
SHRINK = 0.9
#: The maximum sum of one audit's pauses, in seconds. The first read of a host with many providers takes nearly a
#: hundred requests. If the server is slow but not overloaded, a larger sum would delay the host's inventory too long.
#: Half of this value is too little if all agents of a large fleet start at once and the server needs six minutes for
#: their first reads (tests/rigs/fleet_model.py).
PAUSES_OF_AN_AUDIT_S = 600.0
# If a random pause could last at most this number of seconds, there is no pause: it would be too short to matter.
_NO_SPREAD_S = 0.01
# The statuses by which a proxy or Placement says that it has no capacity. A 500 is a failure, not a lack of capacity.
_PUSHED_BACK = frozenset({429, 502, 503, 504})


@dataclass(frozen=True, slots=True, kw_only=True)
class Manners:
    """When and how long the client pauses.

    ``slow_s``: an answer is late, and causes a pause, if it takes this many seconds longer than usual.
    ``longest_s``: the longest single pause, in seconds. With 0 the client never pauses.
    """

    slow_s: float = 0.5
    longest_s: float = 120.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The outcome of one request, which ended at ``at`` (monotonic seconds). ``status`` is None if no answer came."""

    at: float
    latency_s: float
    status: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """What one client remembers of Placement's answers, in order to compute the next pause.

    ``best_s``: the latency of the quickest answer so far.
    ``pushed_s``: the upper limit, in seconds, of the random pause after a refusal.
    ``refusals``: the number of refusals in a row.
    ``quiet_until``: no read is sent before this time, in monotonic seconds.
    ``paused_s``: the sum of this audit's pauses.
    """

    best_s: float = math.inf
    pushed_s: float = 0.0
    refusals: int = 0
    quiet_until: float = 0.0
    paused_s: float = 0.0


def after_answer(pace: Pace, answer: Answer, manners: Manners, random01: float) -> Pace:
    """Return what to remember after ``answer``, including how long to pause.

    The pause is ``random01`` (from 0 to below 1) times an upper limit. A late answer, a refusal or
    no answer raises the limit.

    No pause is longer than ``manners.longest_s``, so that the watchdog does not take a sleeping thread for a hung
    thread.
    """
    best_s = pace.best_s if answer.status is None else min(pace.best_s, answer.latency_s)
    refused = answer.status is None or answer.status in _PUSHED_BACK
    refusals = pace.refusals + 1 if refused else 0
    pushed_s = min(manners.longest_s, _pushed_s(pace, answer.status))
    spread_s = max(pushed_s, _late_s(best_s, answer, manners))
    longest_s = min(manners.longest_s, AWAY_SPREAD_S if answer.status is None or refusals >= AWAY else math.inf)
    # A write does not wait for the end of a pause. The rest of that pause is added to the pause after the write.
    owed_until = max(pace.quiet_until, answer.at) + min(spread_s, longest_s) * random01
    return Pace(
        best_s=best_s,
        pushed_s=pushed_s,
        refusals=refusals,
        quiet_until=min(owed_until, answer.at + longest_s),
        paused_s=pace.paused_s,
    )


def delay_s(pace: Pace, now: float) -> float:
    """Return how many seconds a read must wait; 0 while the server keeps up.

    The result is also 0 if this audit has already paused for PAUSES_OF_AN_AUDIT_S seconds.
    """
    return max(0.0, min(pace.quiet_until - now, PAUSES_OF_AN_AUDIT_S - pace.paused_s))


def after_pause(pace: Pace, paused_s: float) -> Pace:
    """Return the Pace after one more pause of ``paused_s`` seconds."""
    return replace(pace, paused_s=pace.paused_s + paused_s)


def of_a_new_audit(pace: Pace) -> Pace:
    """Return the new Pace at the start of an audit or a command, with no pauses counted yet."""
    return replace(pace, paused_s=0.0)


def _late_s(best_s: float, answer: Answer, manners: Manners) -> float:
    """Return the upper limit of the random pause after a late answer; 0 if the answer is not late.

    The mean pause is half this limit. An answer is late if it takes ``slow_s`` longer than the usual time. The usual
    time is the latency of the quickest answer so far, so a server that is always slow does not count as overloaded. But
    an agent that started while the server was overloaded has seen no quick answer. So the usual time is at most
    ``slow_s``.
    """
    usual_s = min(best_s, manners.slow_s)
    return 2 * PATIENCE * max(0.0, answer.latency_s - usual_s - manners.slow_s)


def _pushed_s(pace: Pace, status: int | None) -> float:
    """Return the upper limit of the random pause after a refusal (429, 502, 503, 504) or a missing answer.

    ``status`` is the newest answer's status, None without an answer.
    """
    if status is None:
        return max(NO_ANSWER_SPREAD_S, pace.pushed_s)
    if status in _PUSHED_BACK:
        return pace.pushed_s if pace.refusals >= AWAY else max(FIRST_SPREAD_S, pace.pushed_s * GROWTH)
    return pace.pushed_s * SHRINK if pace.pushed_s * SHRINK >= _NO_SPREAD_S else 0.0
