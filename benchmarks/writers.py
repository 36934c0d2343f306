"""Many processes that write one provider's inventory: ``python -m benchmarks.writers --writers 64 --minutes 10``.

Each writer owns one custom class and changes it on its own schedule, through the agent's client, wire and writer. It
reads the inventory with its generation, decides, and PUTs the whole inventory with all other classes unchanged. After a
conflict it waits, reads and decides again.

A writer always decides on the newest value. A change that comes due meanwhile replaces the previous one, which is
acknowledged with it; an agent, too, publishes the current state. Values only grow. So each read proves that no class
has vanished and that no acknowledged value was overwritten with an older one.

Placement is two processes on one MariaDB, as behind a load balancer. MariaDB now and then answers with a deadlock
(1213), which Placement turns into a 500: the writer does not know the result and reads again.
"""

from __future__ import annotations

import argparse
import contextlib
import enum
import itertools
import multiprocessing
import random
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path

from agent.daemon.worker import retry_delay
from agent.errors import GenerationConflict, PlacementUnavailable
from agent.model.placement import Inventory
from agent.model.plan import CreateProvider, Plan, PutInventories
from agent.placement.http.client import MINIMUM, PlacementClient
from agent.placement.wire import Inventories, parse_inventories
from agent.placement.writer import TreeWriter
from agent.timing.backoff import hold_s, wait_s
from benchmarks.table import Row, print_table
from tests.rigs import mariadb
from tests.rigs.placement import Rest, client_of, new_uuid, running
from tests.rigs.wait import until

#: The tries of one audit, both of the agent ([placement] conflict_rounds) and of the reference.
ROUNDS = 4
#: Before the clock starts each process learns the classes' names, which costs one request per name.
JOIN_TIMEOUT_S = 300.0
FIRST_VALUE = 1
CLASS = "CUSTOM_WRITER_"
OTHERS = {"VCPU": {"total": 64, "reserved": 2, "allocation_ratio": 4.0}}


class Policy(enum.Enum):
    """The policy after a conflict. OURS: agent/audit/act.py, agent/daemon/worker.py; REFERENCE: four tries at once."""

    OURS = "ours"
    REFERENCE = "reference"


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One run. ``period_s`` None: the next change is due as soon as the last one is acknowledged (closed loop).

    ``drain_s``: the time after the last due change in which a change under way may still be acknowledged.
    """

    writers: int
    seconds: float
    period_s: float | None
    policy: Policy = Policy.OURS
    drain_s: float = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """One writer's results.

    ``acknowledged`` of the ``due`` changes were acknowledged, the others dropped. ``first`` is the value acknowledged
    last, ``last`` the value sent last; at the end the class must lie between the two. ``puts`` and ``took_s`` have one
    entry for each accepted PUT: its tries and its seconds. ``wrong`` are sentences on data that a read had lost.
    """

    resource_class: str
    due: int
    acknowledged: int
    first: int
    last: int
    puts: tuple[int, ...]
    took_s: tuple[float, ...]
    requests: int
    wrong: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Schedule:
    """The due changes; the n-th has value FIRST_VALUE + n. ``begin`` is in monotonic seconds."""

    begin: float
    seconds: float
    period_s: float | None

    def changes(self, ended: int) -> int:
        """Return how many changes have come due; in the closed loop one more than ``ended``."""
        now = time.monotonic() - self.begin
        if now < 0:
            return 0
        if self.period_s is None:
            return ended + (1 if now < self.seconds else 0)
        return min(int(self.seconds / self.period_s), 1 + int(now / self.period_s))


@dataclass(slots=True)
class Watch:
    """The totals of all classes when last read: no class may vanish, and no total may shrink."""

    own: str
    seen: dict[str, int] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)

    def look(self, read: Inventories) -> None:
        """Compare one read with the reads before."""
        now = {i.resource_class: i.total for i in read.inventories}
        for name, total in self.seen.items():
            if name not in now:
                self.wrong.append(f"{self.own} read no {name}")
            elif now[name] < total:
                self.wrong.append(f"{self.own} read {name} {now[name]} after {total}")
        self.seen.update(now)


class Writer:
    """One process's work: its class and its accepted PUTs."""

    def __init__(self, client: PlacementClient, root: str, name: str, trial: Trial) -> None:
        self.client, self.root, self.name, self.trial = client, root, name, trial
        self.schedule = Schedule(float("inf"), trial.seconds, trial.period_s)
        self.writer = TreeWriter(client)
        self.watch = Watch(name)
        self.pause = threading.Event()
        self.ended = self.acknowledged = 0
        self.hold_s = 0.0
        self.first = self.last = FIRST_VALUE
        self.puts: list[int] = []
        self.took_s: list[float] = []

    @property
    def due(self) -> int:
        """The number of changes that have come due."""
        return self.schedule.changes(self.ended)

    def join(self) -> None:
        """Learn the names of all classes on a separate provider, as an agent has after its first audit."""
        own = new_uuid()
        names = [f"{CLASS}{number}" for number in range(self.trial.writers)]
        inventories = tuple(Inventory(resource_class=name, total=1) for name in names)
        create = CreateProvider(provider_uuid=own, name=own, parent_uuid=None)
        self.writer.apply(Plan(writes=(create, PutInventories(provider_uuid=own, inventories=inventories))), _never)

    def work(self, end: float) -> None:
        """Carry out due changes until all have ended, or the drain time is over."""
        while time.monotonic() < end or self.ended < self.due:
            if self.ended < self.due:
                self._change(end + self.trial.drain_s)
            else:
                self.pause.wait(0.02)
            if time.monotonic() > end + self.trial.drain_s:
                return

    def _change(self, until: float) -> None:
        """Do rounds until one is acknowledged, the policy gives up, or the time is over."""
        started = time.monotonic()
        self.pause.wait(self.hold_s)
        for conflict in itertools.count(1):
            changes, began = self.due, time.monotonic()
            is_taken = self._round(FIRST_VALUE + changes)
            round_s = time.monotonic() - began
            if self.trial.policy is Policy.OURS:
                self.hold_s = hold_s(self.hold_s, conflict - is_taken, began - started, random.random())
            if is_taken:
                self.acknowledged += changes - self.ended
                self.ended = changes
                self.puts.append(conflict)
                self.took_s.append(time.monotonic() - started)
                return
            if time.monotonic() > until:
                return
            if self.trial.policy is Policy.REFERENCE and conflict == ROUNDS:
                self.ended = changes
                return
            self.pause.wait(self._wait_s(conflict, round_s))

    def _round(self, value: int) -> bool:
        """Read, decide, write; return whether the write was acknowledged."""
        try:
            read = self.client.get(f"/resource_providers/{self.root}/inventories", MINIMUM, parse_inventories)
            self.watch.look(read)
            self.last = value
            self.writer.apply(decide(self.root, read, self.name, value), _never)
        except (GenerationConflict, PlacementUnavailable):
            return False
        self.first = value
        return True

    def _wait_s(self, conflict: int, round_s: float) -> float:
        if self.trial.policy is Policy.REFERENCE:
            return 0.0
        audit, round_number = divmod(conflict, ROUNDS)
        # After the last round of an audit the worker's own retry delay precedes the next audit.
        return retry_delay(audit) if round_number == 0 else wait_s(round_number, random.random(), round_s)

    def outcome(self) -> Outcome:
        """Return the writer's results."""
        return Outcome(
            resource_class=self.name,
            due=self.due,
            acknowledged=self.acknowledged,
            first=self.first,
            last=self.last,
            puts=tuple(self.puts),
            took_s=tuple(self.took_s),
            requests=self.client.requests,
            wrong=tuple(self.watch.wrong),
        )


def decide(root: str, read: Inventories, resource_class: str, total: int) -> Plan:
    """Return a plan that sets one class and keeps all others as read. Pure."""
    wanted = tuple(replace(i, total=total) if i.resource_class == resource_class else i for i in read.inventories)
    write = PutInventories(provider_uuid=root, inventories=wanted)
    return Plan(writes=(write,), generations=((root, read.generation),))


def _never() -> bool:
    return False


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A process's place of work: its folder, its server, the provider."""

    folder: Path
    url: str
    root: str

    def joined(self, name: str) -> Path:
        """Return the file whose existence means that this process is ready."""
        return self.folder / f"{self.root}-{name}"

    @property
    def begin(self) -> Path:
        """The file with the start of the clock in monotonic seconds; written once all processes are ready."""
        return self.folder / f"{self.root}-begin"


def write_for_a_while(place: Place, name: str, trial: Trial) -> Outcome:
    """Run one process."""
    random.seed(name)
    client = client_of(place.folder, place.url)
    phase = random.random() * (trial.period_s or 0.1)
    writer = Writer(client, place.root, name, trial)
    writer.join()
    place.joined(name).touch()
    begin = float(until(lambda: place.begin.exists() and place.begin.read_text(), JOIN_TIMEOUT_S, "all have joined"))
    writer.schedule = Schedule(begin + phase, trial.seconds, trial.period_s)
    sent_before = client.requests
    writer.work(begin + trial.seconds + (trial.period_s or 0.0))
    return replace(writer.outcome(), requests=client.requests - sent_before)


@contextlib.contextmanager
def servers(folder: Path) -> Iterator[tuple[Rest, ...]]:
    """Yield two Placement processes on one database: one alone is limited by its interpreter lock."""
    with mariadb.running(folder / "mariadb") as database:
        connection = database.create_database("placement")
        with running(folder / "p1", connection) as first, running(folder / "p2", connection) as second:
            yield first, second


def prepared(rest: Rest, writers: int) -> str:
    """Make a provider that has every writer's class; return its uuid."""
    root = rest.make_provider()
    names = [f"{CLASS}{number}" for number in range(writers)]
    for name in names:
        rest.done("PUT", f"/resource_classes/{name}")
    rest.set_inventories(root, OTHERS | {name: {"total": FIRST_VALUE} for name in names})
    return root


def tried(folder: Path, placements: tuple[Rest, ...], trial: Trial) -> tuple[tuple[Outcome, ...], list[str]]:
    """Run a trial; return each writer's results, and everything wrong with the final inventory."""
    root = prepared(placements[0], trial.writers)
    places = [Place(folder=folder, url=p.server.url, root=root) for p in placements]
    names = [f"{CLASS}{number}" for number in range(trial.writers)]
    with ProcessPoolExecutor(trial.writers, mp_context=multiprocessing.get_context("fork")) as processes:
        work = [
            processes.submit(write_for_a_while, place, name, trial)
            for name, place in zip(names, itertools.cycle(places), strict=False)
        ]
        ready = [places[0].joined(name) for name in names]
        # A process that has ended already has failed; ``result`` below raises its error.
        until(lambda: all(map(Path.exists, ready)) or any(o.done() for o in work), JOIN_TIMEOUT_S, "all have joined")
        started = places[0].folder / "starting"
        started.write_text(str(time.monotonic() + 1.0))
        started.rename(places[0].begin)
        said = tuple(one.result() for one in work)
    wrong = [sentence for outcome in said for sentence in outcome.wrong]
    return said, [*wrong, *lost(placements[0].inventories(root), said)]


def lost(there: dict[str, dict[str, object]], said: tuple[Outcome, ...]) -> list[str]:
    """Return sentences on acknowledged values missing at the end, and on changed classes that no writer owns."""
    wrong = []
    for outcome in said:
        total = int(str(there.get(outcome.resource_class, {}).get("total", 0)))
        if not outcome.first <= total <= outcome.last:
            wrong.append(f"{outcome.resource_class} is {total} at the end, {outcome.first} was acknowledged")
    kept = {name: {key: there[name][key] for key in held} for name, held in OTHERS.items() if name in there}
    return wrong if kept == OTHERS else [*wrong, f"what nobody writes became {kept}"]


def rows(trial: Trial, said: tuple[Outcome, ...], wrong: list[str]) -> list[Row]:
    """Return the rows of one trial; budgets apply to the agent's policy on its schedule."""
    loop = "closed loop" if trial.period_s is None else f"each {trial.period_s:g} s"
    name = f"{trial.writers} writers, {loop}, {trial.seconds:.0f} s, policy {trial.policy.value}"
    is_judged = trial.policy is Policy.OURS and trial.period_s is not None
    due, acknowledged = sum(o.due for o in said), sum(o.acknowledged for o in said)
    puts = sorted(number for o in said for number in o.puts)
    took = sorted(seconds for o in said for seconds in o.took_s)
    share, p99 = 100 * acknowledged / due, at(puts, 0.99)
    requests = sum(o.requests for o in said) / trial.seconds
    return [
        Row(
            f"{name}: acknowledged",
            f"{acknowledged} of {due} ({share:.2f} %), {acknowledged / trial.seconds:.1f}/s",
            "≥ 99.9 %" if is_judged else "",
            met=share >= 99.9 if is_judged else None,
        ),
        Row(
            f"{name}: PUTs a change",
            f"p50 {at(puts, 0.5)} p90 {at(puts, 0.9)} p99 {p99} max {puts[-1]}, mean {statistics.mean(puts):.2f}",
            "p99 ≤ 3" if is_judged else "",
            met=p99 <= 3 if is_judged else None,
        ),
        Row(f"{name}: seconds a change", f"p50 {at(took, 0.5):.2f} p99 {at(took, 0.99):.2f} max {took[-1]:.2f}"),
        Row(f"{name}: requests", f"{requests:.0f}/s"),
        Row(f"{name}: values or classes lost", f"{len(wrong)} {wrong[:3] or ''}", "0", met=not wrong),
    ]


def at(ordered: list[float] | list[int], share: float) -> float:
    """Return the percentile of sorted numbers."""
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def trials(options: argparse.Namespace) -> list[Trial]:
    """Return the requested trial, or all four."""
    seconds, policy = options.minutes * 60, Policy(options.policy)
    one = Trial(writers=options.writers, seconds=seconds, period_s=options.period, policy=policy)
    if options.all:
        both = (one, replace(one, period_s=None))
        return [replace(trial, policy=policy) for policy in Policy for trial in both]
    return [replace(one, period_s=None) if options.closed else one]


def main() -> int:
    """Print the table; return 1 if a budget is missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.writers", description="Many writers on one provider")
    parser.add_argument("--writers", type=int, default=64)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--period", type=float, default=20.0, help="seconds between two changes of one writer")
    parser.add_argument("--closed", action="store_true", help="no pause: the next change follows the last one")
    parser.add_argument("--policy", choices=[policy.value for policy in Policy], default=Policy.OURS.value)
    parser.add_argument("--all", action="store_true", help="the schedule and the closed loop, with both policies")
    options = parser.parse_args()
    table: list[Row] = []
    with tempfile.TemporaryDirectory(prefix="stocktake-bench-") as name, servers(Path(name)) as placements:
        for trial in trials(options):
            table += rows(trial, *tried(Path(name), placements, trial))
    return print_table("Writers of one inventory, two Placement processes on MariaDB", table)


if __name__ == "__main__":
    sys.exit(main())
