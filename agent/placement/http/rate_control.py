"""Decide how long an agent pauses after each answer, so that a whole fleet does not exceed Placement's capacity.

An agent does not know how many other agents there are, but it can measure how late an answer is. With N agents that
send one request at a time, a server with a capacity of C requests per second answers after N/C seconds. If each agent
then pauses PATIENCE times as long as the answer was late, answers take about N/(C·(1+PATIENCE)) seconds, and the
server never runs idle. This state is stable, so an agent need not search for the right rate. A search that raises the
rate until a request fails, and then halves the rate, would cause failures.

Only reads wait. A write depends on a read made just before, so a chain of writes is sent without pauses. The
pauses for these writes add up, and the next read waits for their sum. This module does not handle Retry-After: after
that header the client sends nothing until the requested time (retry_after.py). Pure: time and randomness are arguments.
agent/placement/http/throttled_session.py does the waiting.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

#: The average pause in seconds for each second that an answer was late.
PATIENCE = 10.0
#: The spread (upper limit of the random pause) after the first refusal (429, 503, …), in seconds.
FIRST_SPREAD_S = 4.0
#: After this number of refusals in a row (all tries of one read), the server counts as down, not as overloaded. Then
#: the pauses stay short, because the audit has other sources to read, and because the worker retries failed audits less
#: often (agent/daemon/worker.py).
AWAY = 3
AWAY_SPREAD_S = 10.0
#: The smallest spread in seconds if no answer came. This spread is small, because a request to a server that is down
#: costs the server nothing.
NO_ANSWER_SPREAD_S = 1.0
#: Factor by which a refusal enlarges the spread.
GROWTH = 2.0
#: Factor by which a good answer reduces the spread. Growth and reduction balance at six to seven good answers per
#: refusal (0.9 ** 6.6 = 1 / 2).
SHRINK = 0.9
#: The maximum sum of one audit's pauses, in seconds. The limit is for a host with many providers, whose first read
#: takes nearly a hundred requests: if the server is slow but not overloaded, the host would otherwise publish its
#: inventory far too late. Half of this value is too little for a fleet whose start takes the server six minutes
#: (tests/rigs/fleet_model.py).
PAUSES_OF_AN_AUDIT_S = 600.0
# A spread below this number of seconds counts as 0, because the pauses would be too short to matter.
_NO_SPREAD_S = 0.01
# The statuses by which a proxy or Placement says that it has no capacity. A 500 is a failure, not a lack of capacity.
_PUSHED_BACK = frozenset({429, 502, 503, 504})


@dataclass(frozen=True, slots=True, kw_only=True)
class Manners:
    """The configured limits of pauses. ``slow_s``: an answer is late if it takes this many seconds longer than usual.

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
    """What one client remembers of Placement's answers, from which the next pause is computed.

    ``best_s``: the latency of the quickest answer so far. ``pushed_s``: the present spread (upper limit of the random
    pause) caused by refusals, in seconds. ``refusals``: the number of refusals in a row. ``quiet_until``: no read is
    sent before this time, in monotonic seconds. ``paused_s``: the sum of this audit's pauses.
    """

    best_s: float = math.inf
    pushed_s: float = 0.0
    refusals: int = 0
    quiet_until: float = 0.0
    paused_s: float = 0.0


def after_answer(pace: Pace, answer: Answer, manners: Manners, random01: float) -> Pace:
    """Return the new Pace after ``answer``.

    The next pause is ``random01``, a random number in [0, 1), times the spread.

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
    """Return the new Pace after a pause of ``paused_s`` seconds."""
    return replace(pace, paused_s=pace.paused_s + paused_s)


def of_a_new_audit(pace: Pace) -> Pace:
    """Return the new Pace at the start of an audit or a command, with no pauses counted yet."""
    return replace(pace, paused_s=0.0)


def _late_s(best_s: float, answer: Answer, manners: Manners) -> float:
    """Return the spread (upper limit of the random pause) for a late answer; 0 if the answer is not late.

    The mean pause is half the spread. An answer is late if it takes ``slow_s`` longer than usual. Usual is the time of
    the quickest answer so far, so that a server that is always slow does not count as overloaded. But usual is at most
    ``slow_s``, because an agent that started while the server was overloaded saw no quick answer.
    """
    usual_s = min(best_s, manners.slow_s)
    return 2 * PATIENCE * max(0.0, answer.latency_s - usual_s - manners.slow_s)


def _pushed_s(pace: Pace, status: int | None) -> float:
    """Return the new ``pushed_s``, the spread caused by refusals, after one more answer."""
    if status is None:
        return max(NO_ANSWER_SPREAD_S, pace.pushed_s)
    if status in _PUSHED_BACK:
        return pace.pushed_s if pace.refusals >= AWAY else max(FIRST_SPREAD_S, pace.pushed_s * GROWTH)
    return pace.pushed_s * SHRINK if pace.pushed_s * SHRINK >= _NO_SPREAD_S else 0.0
