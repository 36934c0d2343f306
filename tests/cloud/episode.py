"""One short life of the model cloud with the agents on it: a list of events that can be shortened.

An event is a verb and a number from which all its choices are drawn, so a list of events is a whole life. Played again
the list yields the same life; with events left out it is still a valid life.
"""

from __future__ import annotations

import contextlib
import dataclasses
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from agent.errors import SourceStale
from agent.model.audit import AuditResult
from agent.model.nova import Instance
from agent.model.settings import Role
from agent.model.snapshot import LIBVIRT, STATE
from agent.placement.http.client import PlacementClient
from tests.cloud import computes, moves, operations, operators
from tests.cloud.checks import check, check_healed
from tests.cloud.cloud import FLAVORS, HOSTS, Cloud, Interrupted
from tests.cloud.host_agent import NO_SOURCE, HostAgent, settings_of
from tests.cloud.mishaps import MISHAPS, Mishap, deleted_without_allocation, mended, wrong_record
from tests.cloud.operations import Fault, Steps

# Verb and weight: most events are steps of running operations, so that many operations overlap.
VERBS: dict[str, float] = {
    "step": 85,
    "start": 13,
    "audit": 9,
    "fail": 3,
    "crash": 2,
    "mishap": 3,
    "mend": 3,
    "power": 2,
    "retire": 1,
    "restart": 1,
    "quiet": 0.5,
}
# Additional verbs for lives with operators who run the agent's commands, and with cloned disks.
OPERATORS: dict[str, float] = {"hand": 2, "undo": 1, "clone": 0.5, "vigil": 3, "calm": 0.7}
# Additional verbs for lives in which the agents' databases lie.
LIES: dict[str, float] = {"sicken": 3, "recover": 1, "pass": 1, "patrol": 4, "compute": 2}
# Additional verbs for lives with a nova-compute beside each agent.
COMPUTES: dict[str, float] = {"compute": 6, "patrol": 4, "pass": 1} | OPERATORS
# Lengths of an idle time in seconds: after the longest, operations that a lagging database still shows have long ended.
PASSING_S = (30, 120, 600, 4000)
MOST_INSTANCES = 6
AUDITS_TO_HEAL = 3
# A companion waits for three audits of nova-compute, a minute each, before it repairs a leak, and again if the agent of
# another host then removes its own part of the consumer.
AUDITS_BESIDE_NOVA = 10
# The share of steps between two reads of an audit at which an operator writes what an agent reports.
REWRITTEN = 0.05
# With a limit of one change for each run of heal.
AUDITS_WITH_LIMITS = 25
# The share of quiet times that are long enough for a full read of Placement.
THOROUGH = 0.1
# The share of operations abandoned at each step before a quiet time: stuck states are the hard ones.
ABANDONED = 0.05


class Event(NamedTuple):
    """One event, and the number from which its choices are drawn."""

    verb: str
    number: int


@dataclass(slots=True)
class Tally:
    """Counts of what happened."""

    steps: int = 0
    operations: int = 0
    failures: int = 0
    crashes: int = 0
    mishaps: int = 0
    audits: int = 0
    quiet: int = 0
    leaks: int = 0
    heals: int = 0
    computes: int = 0
    lies: int = 0
    stale: int = 0
    heals_on_lies: int = 0
    undone: int = 0
    clones: int = 0
    rewritten: int = 0
    reboots: int = 0
    kinds: dict[str, int] = field(default_factory=dict)


@dataclass(slots=True)
class Running:
    """A running operation on one instance."""

    uuid: str
    steps: Steps


def events_of(seed: int, length: int, chances: Mapping[str, float] = VERBS) -> tuple[Event, ...]:
    """Return a life drawn from a seed; it always ends with a quiet time."""
    dice = random.Random(seed)
    verbs = dice.choices(list(chances), weights=list(chances.values()), k=length)
    return (*(Event(verb, dice.getrandbits(32)) for verb in verbs), Event("quiet", dice.getrandbits(32)))


class Limits(NamedTuple):
    """What the operator configured: [heal] max_consumers and max_percent, and [agent] confirm_audits."""

    consumers: int = 5
    percent: float = 100.0
    confirm_audits: int = 2


NO_LIMITS = Limits()


class Episode:
    """Plays events on a cloud. ``min_age_s`` 0 is the hardest case for heal."""

    def __init__(
        self,
        cloud: Cloud,
        client: PlacementClient,
        tally: Tally,
        *,
        min_age_s: float,
        step_s: int,
        role: Role = Role.OWNER,
        limits: Limits = NO_LIMITS,
        observers: frozenset[str] = frozenset(),
    ) -> None:
        settings = settings_of(
            role,
            min_age_s=min_age_s,
            most=limits.consumers,
            percent=limits.percent,
            confirm_audits=limits.confirm_audits,
        )
        self._is_companion = role is Role.COMPANION
        self._is_limited = limits._replace(confirm_audits=NO_LIMITS.confirm_audits) != NO_LIMITS
        self._confirm_audits = limits.confirm_audits
        self.cloud = cloud
        # Only lives with a nova-compute use this attribute, and those are played on the model alone.
        self._model: Any = cloud.placement
        observing = dataclasses.replace(settings, role=Role.OBSERVER)
        self.agents = {
            host: HostAgent(cloud, host, client, observing if host in observers else settings) for host in HOSTS
        }
        # Hosts with a nova-compute; while it lives, the agent in role owner heals nothing.
        self.shared: frozenset[str] = frozenset()
        if self._is_companion:
            self._live_together()
        self.running: list[Running] = []
        self.trace: list[str] = []
        self._tally = tally
        self._step_s = step_s
        self._verbs: dict[str, Callable[[random.Random], None]] = {
            "step": self._step,
            "start": self._start,
            "audit": self._audit,
            "fail": self._fail,
            "crash": self._crash,
            "mishap": self._mishap,
            "mend": self._mend,
            "power": self._power,
            "retire": self._retire,
            "restart": self._restart,
            "quiet": self._quiet,
            "sicken": self._sicken,
            "recover": self._recover,
            "pass": self._pass,
            "patrol": self._patrol,
            "compute": self._compute,
            "vigil": self._vigil,
            "hand": self._hand,
            "undo": self._undo,
            "clone": self._clone,
            "calm": self._calm,
        }

    def watch_writes(self) -> None:
        """Let each agent's rules know when allocations on its host were written; only the model tells this."""
        self._model.wrote = self._wrote

    def _live_together(self) -> None:
        """Start a nova-compute on each host."""
        self.shared = frozenset(HOSTS)
        for host in HOSTS:
            computes.start(self.cloud, self._model, host)

    def _wrote(self, consumers: Iterable[str]) -> None:
        found = {consumer: self._model.held(consumer) for consumer in consumers}
        states = {consumer: repr(held) for consumer, held in found.items()}
        for agent in self.agents.values():
            root = self.cloud.roots[agent.host]
            agent.saw_written(states, {uuid for uuid, held in found.items() if held and root in held.holdings})

    def play(self, events: Sequence[Event]) -> None:
        """Play all events. Raises WrongRemoval, MissedLeak, FalseAccusation."""
        for event in events:
            self._verbs[event.verb](random.Random(event.number))

    def _tell(self, words: str) -> None:
        self.trace.append(words)

    # Operations.

    def _step(self, dice: random.Random) -> None:
        if self.running:
            self._advance(dice.choice(self.running))

    def _advance(self, one: Running, fault: Fault | None = None) -> None:
        self._tally.steps += 1
        self.cloud.seconds += self._step_s
        try:
            self._tell("  " + (one.steps.throw(fault) if fault else next(one.steps)))
        except StopIteration:
            self.running.remove(one)
        except (Interrupted, Fault):
            self._tell(f"  {one.uuid}: ends here")
            self.running.remove(one)

    def _fail(self, dice: random.Random) -> None:
        if self.running:
            self._tally.failures += 1
            one = dice.choice(self.running)
            self._tell(f"fault in {one.uuid}")
            self._advance(one, Fault())

    def _crash(self, dice: random.Random) -> None:
        if self.running:
            self._abandon(dice.choice(self.running))

    def _abandon(self, one: Running) -> None:
        self._tally.crashes += 1
        self._tell(f"{one.uuid}: nobody goes on with it")
        one.steps.close()
        self.running.remove(one)
        if one.uuid not in self.cloud.instances:
            # A build without a row: no operation will create the row any more.
            self.cloud.free(one.uuid)
            self.cloud.strangers.add(one.uuid)

    def _start(self, dice: random.Random) -> None:
        alive = [i for i in self.cloud.instances.values() if not i.deleted]
        if len(alive) < MOST_INSTANCES and dice.random() < 0.4:
            hosts = self._hosts(dice)
            if hosts:
                uuid = self.cloud.next_uuid("instance")
                self._begin(Running(uuid, operations.build(self.cloud, dice.choice(FLAVORS), tuple(hosts[:2]))))
        elif alive:
            self._begin_on(dice, dice.choice(alive))

    def _hosts(self, dice: random.Random, *but: str | None) -> list[str]:
        usable = [h for h in HOSTS if h not in self.cloud.down | self.cloud.retired and h not in but]
        return dice.sample(usable, len(usable))

    def _begin(self, one: Running) -> None:
        self._tally.operations += 1
        self.running.append(one)
        self._advance(one)

    def _busy(self, uuid: str) -> bool:
        return any(one.uuid == uuid for one in self.running)

    def _begin_on(self, dice: random.Random, row: Instance) -> None:
        self.cloud.settle(row.uuid)
        steps = self._choose(dice, row)
        if steps is not None:
            self._begin(Running(row.uuid, steps))

    def _choose(self, dice: random.Random, row: Instance) -> Steps | None:
        """Return an operation that the API would accept now, None if there is none; it accepts a delete at any time."""
        cloud, uuid = self.cloud, row.uuid
        if dice.random() < 0.12 and row.task_state not in ("deleting", "soft-deleting"):
            return operations.delete(cloud, uuid, gently=dice.random() < 0.3)
        if row.task_state is not None or self._busy(uuid):
            return None
        if row.vm_state == "active" and row.host is not None:
            return self._choose_active(dice, row)
        if row.vm_state == "resized" and row.host is not None:
            found = [m for m in cloud.under_way(uuid) if m.status == "finished"]
            if found and found[0].source_host not in cloud.down:
                return (moves.confirm if dice.random() < 0.6 else moves.revert)(cloud, uuid, found[0].id)
        if row.vm_state == "shelved_offloaded" and row.host is None:
            hosts = self._hosts(dice)
            return operations.unshelve(cloud, uuid, hosts[0]) if hosts else None
        return operations.restore(cloud, uuid) if row.vm_state == "soft-delete" else None

    def _choose_active(self, dice: random.Random, row: Instance) -> Steps | None:
        cloud, uuid, others = self.cloud, row.uuid, self._hosts(dice, row.host)
        if row.host in cloud.down:
            return moves.evacuate(cloud, uuid, others[0]) if others else None
        flavor = dice.choice(FLAVORS)
        same_host = row.host if dice.random() < 0.25 and flavor != row.flavor else None
        choices: list[Callable[[], Steps]] = [
            lambda: operations.rebuild(cloud, uuid),
            lambda: operations.shelve(cloud, uuid, leak=dice.random() < 0.2),
            lambda: operations.soft_delete(cloud, uuid),
        ]
        if others:
            choices += [lambda: moves.resize(cloud, uuid, same_host or others[0], flavor)] * 4
            choices += [lambda: moves.live_migrate(cloud, uuid, others[0], leak=dice.random() < 0.3)] * 3
        return dice.choice(choices)()

    # Mishaps.

    def _mishap(self, dice: random.Random, among: Sequence[Mishap] = MISHAPS) -> None:
        quiet = [
            i
            for i in self.cloud.instances.values()
            if i.vm_state == "active"
            and not (i.deleted or i.task_state or self._busy(i.uuid))
            and not self.cloud.under_way(i.uuid)
        ]
        if quiet:
            chosen, victim = dice.choice(among), dice.choice(quiet)
            self._tally.mishaps += 1
            self._tally.kinds[chosen.__name__] = self._tally.kinds.get(chosen.__name__, 0) + 1
            self._tell(f"mishap {chosen.__name__} {victim.uuid}")
            chosen(self.cloud, dice, victim.uuid)

    def _mend(self, dice: random.Random) -> None:
        stuck = [
            i.uuid
            for i in self.cloud.instances.values()
            if not i.deleted
            and not self._busy(i.uuid)
            and (i.task_state or i.vm_state in ("deleted", "building") or self._stuck_move(i))
        ]
        if stuck:
            uuid = dice.choice(stuck)
            self._tell(f"mended {uuid}")
            mended(self.cloud, uuid)

    def _stuck_move(self, row: Instance) -> bool:
        return any(m.status != "finished" for m in self.cloud.under_way(row.uuid))

    def _power(self, dice: random.Random) -> None:
        host = dice.choice(HOSTS)
        if host in self.cloud.down:
            self._begin(Running(host, moves.come_back(self.cloud, host)))
        elif len(self.cloud.down) < 1:
            self._tell(f"{host} is down")
            self.cloud.down.add(host)

    def _retire(self, dice: random.Random) -> None:
        """Delete the host's service, which the API refuses while instances are there, or let the host return."""
        host = dice.choice(HOSTS)
        if host in self.cloud.retired:
            self._tell(f"{host} has a service again")
            self.cloud.retired.discard(host)
            return
        rows = [i for i in self.cloud.instances.values() if i.host == host and not i.deleted]
        moving = [m for m in self.cloud.migrations.values() if host in (m.source_host, m.dest_host)]
        if (
            not rows
            and not computes.is_alive(self.cloud, host)
            and not any(self.cloud.under_way(m.instance_uuid) for m in moving)
            and not self.running
        ):
            self._begin(Running(host, moves.delete_service(self.cloud, host)))

    def _compute(self, dice: random.Random) -> None:
        """Start nova-compute beside the agent, let it audit, or stop it for good."""
        host = dice.choice(HOSTS)
        if not self._may_compute(host):
            return
        self._tally.computes += 1
        if not computes.is_alive(self.cloud, host):
            computes.start(self.cloud, self._model, host)
        elif self._is_companion and dice.random() < 0.6:
            self._begin(Running(f"nova-compute of {host}", computes.audit(self.cloud, self._model, host)))
        elif dice.random() < 0.5:
            computes.rewrite(self.cloud, self._model, host)
        else:
            computes.stop(self.cloud, host)
        self._tell(f"nova-compute of {host}: {self.cloud.lives[host]}")

    def _start_all(self) -> None:
        """Start each nova-compute that is down: beside a nova-compute that is down, heal changes nothing."""
        for host in HOSTS:
            if self._may_compute(host) and not computes.is_alive(self.cloud, host):
                computes.start(self.cloud, self._model, host)

    def _may_compute(self, host: str) -> bool:
        is_known = self.cloud.roots[host] in self._model.providers
        return host in self.shared and host not in self.cloud.retired and is_known

    # The agents' databases.

    def _sicken(self, dice: random.Random) -> None:
        agent = self.agents[dice.choice(HOSTS)]
        self._tell(f"database of {agent.host}: {agent.feed.sicken(dice, self.cloud.seconds)}")

    def _recover(self, dice: random.Random) -> None:
        agent = self.agents[dice.choice(HOSTS)]
        agent.feed.mend()
        self._tell(f"database of {agent.host}: current")

    def _pass(self, dice: random.Random) -> None:
        self.cloud.seconds += dice.choice(PASSING_S)

    # The agents.

    def _restart(self, dice: random.Random) -> None:
        host = dice.choice(HOSTS)
        self._tell(f"agent of {host} starts again")
        self.agents[host].crash()

    def _audit(self, dice: random.Random) -> None:
        self._audit_of(self.agents[dice.choice(HOSTS)], dice)

    def _patrol(self, dice: random.Random) -> None:
        """Run several audits of one agent at its interval, so that lasting findings are confirmed and healed."""
        agent = self.agents[dice.choice(HOSTS)]
        for _ in range(dice.choice((2, 3, 4))):
            self.cloud.seconds += dice.choice((11, 60))
            if dice.random() < 0.3:
                self._reboot(dice)
            self._audit_of(agent, dice)

    def _vigil(self, dice: random.Random) -> None:
        """Run audits of one agent as fast as they count, so that heal acts as early as its guards allow."""
        agent = self.agents[dice.choice(HOSTS)]
        if self._is_companion and self._may_compute(agent.host):
            self._restart_compute(agent, dice)
        if dice.random() < 0.6:
            self._mishap(dice)
        for _ in range(7):
            self._audit_of(agent, dice)
            self.cloud.seconds += 10
            # Some operations begin and end between two audits, so that no audit sees their tasks.
            for _ in range(dice.choice((0, 0, 10))):
                self._step(dice)
            if dice.random() < 0.3:
                self._reboot(dice)

    def _restart_compute(self, agent: HostAgent, dice: random.Random) -> None:
        """Start nova-compute if it is down; sometimes stop it before, for minutes in which the agent audits."""
        if dice.random() < 0.35 and computes.is_alive(self.cloud, agent.host):
            computes.stop(self.cloud, agent.host)
            for _ in range(4):
                self.cloud.seconds += 60
                self._audit_of(agent, dice)
        if dice.random() < 0.8 and not computes.is_alive(self.cloud, agent.host):
            computes.start(self.cloud, self._model, agent.host)
            self._tell(f"nova-compute of {agent.host}: {self.cloud.lives[agent.host]}")

    def _hand(self, dice: random.Random) -> None:
        """Let an operator run heal by hand, while the cloud goes on."""
        agent = self.agents[dice.choice(HOSTS)]
        before = agent.allocations.writes
        with self._weather(agent, dice):
            about = operators.by_hand(agent, dice)
        self._tell(f"heal by hand on {agent.host}: {about}")
        self._count_healed(agent, before)

    def _rewrite(self, dice: random.Random) -> None:
        chosen = operators.rewrite_a_consumer(self.cloud, self.agents.values(), dice)
        if chosen is not None:
            self._tally.rewritten += 1
            self._tell(f"an operator writes the allocations of {chosen} again")

    def _reboot(self, dice: random.Random) -> None:
        chosen = operators.reboot(self.cloud, self.agents.values(), [one.uuid for one in self.running], dice)
        if chosen is not None:
            self._tally.reboots += 1
            self._tell(f"a user reboots {chosen}")

    def _undo(self, dice: random.Random) -> None:
        """Let an operator put back the newest repair of a host."""
        agent = self.agents[dice.choice(HOSTS)]
        consumer = agent.undo_last()
        if consumer is not None:
            self._tally.undone += 1
            self._tell(f"an operator puts back on {agent.host} the repair of {consumer}")

    def _clone(self, dice: random.Random) -> None:
        """Give a host the identity of another host, as a cloned disk does, or its own identity back."""
        agent, other = (self.agents[host] for host in dice.sample(HOSTS, 2))
        if agent.identity != self.cloud.roots[agent.host]:
            self._correct(agent)
            return
        agent.identity = self.cloud.roots[other.host]
        self._tally.clones += 1
        self._tell(f"{agent.host} has the identity of {other.host}")
        if dice.random() < 0.5:
            agent.crash()

    def _correct(self, agent: HostAgent) -> None:
        """Give the host its own identity back; only a restart of the agent reads the file again."""
        if agent.identity != self.cloud.roots[agent.host]:
            self._tell(f"{agent.host} has its own identity again")
            agent.identity = self.cloud.roots[agent.host]
            agent.crash()

    def _audit_of(self, agent: HostAgent, dice: random.Random) -> None:
        """Audit while the cloud changes; heal acts on what was read."""
        self._tell(f"audit of {agent.host}")
        before = agent.allocations.writes
        with self._weather(agent, dice):
            result, count = agent.occasion(heals=dice.random() < 0.7)
            self._tally.audits += count
            self._count_lies(agent, result, before)
        self._count_healed(agent, before)

    @contextlib.contextmanager
    def _weather(self, agent: HostAgent, dice: random.Random) -> Iterator[None]:
        """Let the cloud change between any two reads of the agent, and let some of its reads fail."""
        haste, broken = dice.choice((0.0, 0.3, 1.0)), dice.random() < 0.15
        agent.weather.interlude = lambda: self._go_on(dice) if dice.random() < haste else None
        agent.weather.moment = lambda: self._step(dice) if dice.random() < haste else None
        agent.weather.fails = lambda: broken and dice.random() < 0.2
        agent.weather.silent = dice.choice((STATE, LIBVIRT)) if dice.random() < 0.25 else NO_SOURCE
        try:
            yield
        finally:
            agent.weather.interlude = agent.weather.moment = lambda: None
            agent.weather.fails = lambda: False
            agent.weather.silent = NO_SOURCE

    def _count_lies(self, agent: HostAgent, result: AuditResult, writes_before: int) -> None:
        if agent.feed.is_current:
            return
        self._tally.lies += 1
        error = result.snapshot.nova.error if result.snapshot else None
        self._tally.stale += isinstance(error, SourceStale)
        self._tally.heals_on_lies += agent.allocations.writes - writes_before

    def _go_on(self, dice: random.Random) -> None:
        """Do mostly one step, sometimes so many that the last read is of a different world."""
        for _ in range(dice.choice((1, 1, 1, 1, 2, 8))):
            chance = dice.random()
            if chance < 0.85:
                self._step(dice)
            elif chance < 0.97 - REWRITTEN:
                self._start(dice)
            elif chance < 0.97:
                self._rewrite(dice)
            else:
                self._mishap(dice)

    def _count_healed(self, agent: HostAgent, before: int) -> None:
        healed = agent.allocations.writes - before
        self._tally.heals += healed
        if healed:
            self._tell(f"agent of {agent.host} healed {healed}")

    def _calm(self, dice: random.Random) -> None:
        """End all operations and findings; then let something go wrong, and let operators look before the agents do.

        Agents without findings read little: Placement's allocations again only if a generation has changed. A delete
        that leaves its allocations changes none.
        """
        self._end_operations(dice)
        operators.tidy_up(self.cloud)
        self._recover_all()
        agents = [agent for agent in self.agents.values() if agent.host not in self.cloud.retired]
        for _ in range(3):
            self._minute(agents, heals=False)
        self._mishap(dice, dice.choice((MISHAPS, (deleted_without_allocation,), (wrong_record,))))
        for _ in range(dice.choice((1, 2, 3))):
            self.cloud.seconds += dice.choice((1, 60, 90))
            for agent in agents:
                operators.by_hand(agent, dice)
        self._minute(agents, heals=True)

    def _recover_all(self) -> None:
        """Give each agent a current database and its own identity, and start each nova-compute."""
        if self._is_companion:
            self._start_all()
        for agent in self.agents.values():
            agent.feed.mend()
            self._correct(agent)

    def _end_operations(self, dice: random.Random) -> None:
        while self.running:
            one = dice.choice(self.running)
            if dice.random() < ABANDONED:
                self._abandon(one)
            else:
                self._advance(one)

    def _quiet(self, dice: random.Random) -> None:
        """End all operations; two occasions a minute apart must find every leak; then heal."""
        self._end_operations(dice)
        self._tally.quiet += 1
        since = self.cloud.seconds
        self._recover_all()
        for agent in self.agents.values():
            told = any(seen.finding.code == "rival-writer" for seen in agent.findings())
            if told and not computes.is_alive(self.cloud, agent.host):
                # The agent stopped writing after two overwritten audits; it writes again once its operator restarts it.
                agent.crash()
        self._find(thorough=dice.random() < THOROUGH)
        self._heal_all()
        for host in () if self._is_companion else HOSTS:
            computes.check_taken_over(self.cloud, self._model, host, since)

    def _find(self, *, thorough: bool) -> None:
        awake = [agent for agent in self.agents.values() if agent.host not in self.cloud.retired]
        for _ in range(self._confirm_audits):
            self._minute(awake, heals=False)
        for agent in awake:
            self._tally.leaks += check(self.cloud, agent.host, agent.findings(), thorough=False)
        if not thorough:
            return
        for _ in range(awake[0].settings.full_read_every if awake else 0):
            self._minute(awake, heals=False)
        for agent in awake:
            check(self.cloud, agent.host, agent.findings(), thorough=True)

    def _heal_all(self) -> None:
        """Let all agents heal; without a minimum age every repairable leak must go within AUDITS_TO_HEAL audits."""
        agents = list(self.agents.values())
        beside = AUDITS_WITH_LIMITS if self._is_limited else AUDITS_BESIDE_NOVA
        alone = AUDITS_WITH_LIMITS if self._is_limited else AUDITS_TO_HEAL
        # An undone or half-read finding is confirmed once more.
        for _ in range((beside if self._is_companion else alone) + self._confirm_audits):
            self._minute(agents, heals=True)
        for agent in agents:
            # While a nova-compute is not proven gone, the owner heals nothing: another writer may be active.
            owned = self._is_companion or computes.is_long_gone(self.cloud, agent.host)
            passive = agent.host in self.cloud.retired or not owned or agent.settings.role is Role.OBSERVER
            if agent.settings.heal.min_age_s == 0 and not passive:
                # A repair that an operator put back, and each other repair of that consumer, is left to the operator.
                left = tuple(
                    seen
                    for seen in agent.findings()
                    if seen.finding.id not in agent.undone and seen.finding.consumer_uuid not in agent.undone_consumers
                )
                check_healed(self.cloud, agent.host, left)

    def _minute(self, agents: Sequence[HostAgent], *, heals: bool) -> None:
        """Run each agent's periodic audit, with the follow-up audits that it requests at once."""
        self.cloud.seconds += 60
        for agent in agents:
            before = agent.allocations.writes
            _, count = agent.occasion(heals=heals)
            self._tally.audits += count
            self._count_healed(agent, before)
