"""A fleet and a server in simulated time: thousands of agents with the product's own ``Pace`` in front of one queue.

The server has W workers, each of which serves one request at a time from a bounded queue. A request that finds the
queue full is refused at once. A client that times out leaves, but the server still works on its request, as real
servers do. An overloaded server therefore ends up serving only requests whose clients have left.

The agent is the worker's loop as Placement sees it. A start is a number of reads and then a number of writes, one at a
time. A failed read is repeated twice; then the audit ends and starts again after the worker's own retry delay. Answers
of earlier reads are not kept, because a failed view leaves no cache.
"""

import heapq
import itertools
import random
from collections import Counter, deque
from dataclasses import dataclass, field

from agent.daemon.worker import retry_delay
from agent.placement.http import rate_control
from agent.placement.http.rate_control import Answer, Manners, Pace

READ_TRIES = 3


@dataclass(frozen=True, kw_only=True)
class Server:
    """The server. ``queue`` limits waiting requests; ``probe_s`` is the cost of the root document, without a database.

    ``rate_limit``: requests per second above which a proxy in front of the server answers 503 at once.
    """

    workers: int = 8
    service_s: float = 0.02
    probe_s: float = 0.002
    queue: int = 1_000_000
    refuses_with: int | None = 503
    rate_limit: float | None = None

    @property
    def capacity(self) -> float:
        """Requests per second."""
        return self.workers / self.service_s


@dataclass(frozen=True, kw_only=True)
class Fleet:
    """The fleet. ``within_s``: all agents start within this time. ``manners`` None: agents without rate control."""

    agents: int = 10_000
    reads: int = 9
    writes: int = 6
    within_s: float = 1.0
    timeout_s: float = 10.0
    manners: Manners | None = field(default_factory=Manners)


@dataclass(kw_only=True)
class Seen:
    """Counts of what happened in each second."""

    offered: Counter = field(default_factory=Counter)
    answered: Counter = field(default_factory=Counter)
    refused: Counter = field(default_factory=Counter)
    timed_out: Counter = field(default_factory=Counter)
    latency: dict[int, float] = field(default_factory=dict)
    done_at: list[float] = field(default_factory=list)

    @property
    def error_share(self) -> float:
        """The share of all requests that were refused or timed out."""
        return (self.refused.total() + self.timed_out.total()) / max(1, self.offered.total())

    def offered_rate(self, begin_s: int, end_s: int) -> float:
        """Return the average requests per second, begin inclusive, end exclusive."""
        return sum(self.offered[second] for second in range(begin_s, end_s)) / (end_s - begin_s)


@dataclass(kw_only=True)
class _Agent:
    number: int
    pace: Pace = field(default_factory=Pace)
    step: int = 0
    tries: int = 0
    failures: int = 0
    asked: int = 0
    sent_at: float = 0.0
    probed: bool = False


class Simulation:
    """One run. ``seed`` determines everything random."""

    def __init__(self, server: Server, fleet: Fleet, seed: int = 1) -> None:
        self._server = server
        self._fleet = fleet
        self._random = random.Random(seed)
        self._events: list[tuple[float, int, str, _Agent, int]] = []
        self._order = itertools.count()
        self._waiting: deque[tuple[_Agent, int]] = deque()
        self._busy = 0
        self._now = 0.0
        self._allowance = server.rate_limit or 0.0
        self._allowed_at = 0.0
        self.seen = Seen()

    def run(self, until_s: float = 3600.0) -> Seen:
        """Run until all agents have started, or until ``until_s``."""
        for number in range(self._fleet.agents):
            self._at(self._random.uniform(0, self._fleet.within_s), "send", _Agent(number=number))
        while self._events and len(self.seen.done_at) < self._fleet.agents:
            self._now, _, kind, agent, ticket = heapq.heappop(self._events)
            if self._now > until_s:
                break
            {"send": self._send, "served": self._served, "late": self._late}[kind](agent, ticket)
        return self.seen

    def _at(self, when: float, kind: str, agent: _Agent, ticket: int = 0) -> None:
        heapq.heappush(self._events, (when, next(self._order), kind, agent, ticket))

    def _send(self, agent: _Agent, _ticket: int) -> None:
        agent.asked += 1
        agent.sent_at = self._now
        self.seen.offered[int(self._now)] += 1
        if not self._admitted() or (self._busy == self._server.workers and len(self._waiting) >= self._server.queue):
            self.seen.refused[int(self._now)] += 1
            self._answer(agent, self._server.refuses_with)
            return
        self._at(self._now + self._fleet.timeout_s, "late", agent, agent.asked)
        if self._busy < self._server.workers:
            self._serve(agent, agent.asked)
        else:
            self._waiting.append((agent, agent.asked))

    def _admitted(self) -> bool:
        rate = self._server.rate_limit
        if rate is None:
            return True
        self._allowance = min(rate, self._allowance + (self._now - self._allowed_at) * rate)
        self._allowed_at = self._now
        if self._allowance < 1:
            return False
        self._allowance -= 1
        return True

    def _serve(self, agent: _Agent, ticket: int) -> None:
        self._busy += 1
        mean_s = self._server.service_s if agent.probed else self._server.probe_s
        self._at(self._now + self._random.expovariate(1 / mean_s), "served", agent, ticket)

    def _served(self, agent: _Agent, ticket: int) -> None:
        self._busy -= 1
        if self._waiting:
            self._serve(*self._waiting.popleft())
        if ticket == agent.asked:
            self.seen.answered[int(self._now)] += 1
            second = int(self._now)
            self.seen.latency[second] = max(self.seen.latency.get(second, 0.0), self._now - agent.sent_at)
            self._answer(agent, 200)

    def _late(self, agent: _Agent, ticket: int) -> None:
        if ticket == agent.asked:
            self.seen.timed_out[int(self._now)] += 1
            self._answer(agent, None)

    def _answer(self, agent: _Agent, status: int | None) -> None:
        # The agent ignores any later answer to this request.
        agent.asked += 1
        manners = self._fleet.manners
        if manners is not None:
            answer = Answer(at=self._now, latency_s=self._now - agent.sent_at, status=status)
            agent.pace = rate_control.after_answer(agent.pace, answer, manners, self._random.random())
        wait_s = self._progress(agent) if status == 200 else self._setback(agent)
        if wait_s is None:
            self.seen.done_at.append(self._now)
        else:
            self._at(self._now + wait_s, "send", agent)

    def _progress(self, agent: _Agent) -> float | None:
        """Return the seconds to the next request; None when the start is complete."""
        agent.tries = 0
        if not agent.probed:
            agent.probed = True
            return self._pause_s(agent)
        agent.step += 1
        if agent.step == self._fleet.reads + self._fleet.writes:
            return None
        return self._pause_s(agent) if agent.step < self._fleet.reads else 0.0

    def _pause_s(self, agent: _Agent) -> float:
        paused_s = rate_control.delay_s(agent.pace, self._now)
        agent.pace = rate_control.after_pause(agent.pace, paused_s)
        return paused_s

    def _setback(self, agent: _Agent) -> float:
        agent.tries += 1
        owed_s = self._pause_s(agent)
        if agent.step < self._fleet.reads and agent.tries < READ_TRIES:
            return max(owed_s, 0.5 * 2.0 ** (agent.tries - 1))
        agent.failures += 1
        agent.step = agent.tries = 0
        agent.pace = rate_control.of_a_new_audit(agent.pace)
        return max(owed_s, retry_delay(agent.failures, self._random.uniform))
