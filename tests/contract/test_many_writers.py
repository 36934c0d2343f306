"""Sixteen processes on one provider: nobody's change is lost, and next to every change is acknowledged.

Each owns one custom class and changes it once a second on a fixed schedule,
through our client, wire and writer: read the inventory with its generation,
decide, PUT the whole of it with everybody else's classes carried through; after a
conflict wait, read and decide again. What is decided is always the newest value:
one that came due meanwhile takes the place of the one before, which is then
acknowledged with it and counted apart (that is what an agent does, too: it
publishes what is true now). On MariaDB, where Placement now and then answers 500
for InnoDB's deadlock (1213, seen here): that is no answer, so it is a reason to
look again as well, never to send again.
``STOCKTAKE_WRITERS_SECONDS`` says for how long.
"""

import itertools
import multiprocessing
import os
import random
import statistics
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

from agent.errors import GenerationConflict, PlacementUnavailable
from agent.model.placement import Inventory
from agent.model.plan import Plan, PutInventories
from agent.placement.client import MINIMUM, PlacementClient
from agent.placement.wire import Inventories, parse_inventories
from agent.placement.writer import TreeWriter
from agent.stages.backoff import wait_s
from tests.rigs import mariadb
from tests.rigs.placement import Rest, client_of, running

WRITERS = 16
SECONDS = float(os.environ.get("STOCKTAKE_WRITERS_SECONDS", "15"))
# After the last change came due: what is under way may still be acknowledged.
DRAIN_S = 30.0

pytestmark = pytest.mark.skipif(not mariadb.available(), reason="needs mariadb-server-core")


@dataclass(frozen=True)
class Outcome:
    """What one writer has to say at the end; ``rounds`` and ``took_s`` have one number for each PUT that was taken."""

    resource_class: str
    due: int
    last_acknowledged: int
    rounds: tuple[int, ...]
    took_s: tuple[float, ...]
    requests: int


@pytest.fixture
def servers(tmp_path: Path) -> Iterator[tuple[Rest, ...]]:
    """Two processes on one database, as behind a load balancer: one alone is bound by its interpreter lock."""
    database = mariadb.MariaDb(tmp_path / "mariadb")
    database.start()
    try:
        connection = database.create_database("placement")
        with running(tmp_path / "p1", connection) as first, running(tmp_path / "p2", connection) as second:
            yield first, second
    finally:
        database.stop()


def decide(root: str, read: Inventories, resource_class: str, total: int) -> Plan:
    """Pure: the one class as wanted, all others as they stand."""
    others = tuple(i for i in read.inventories if i.resource_class != resource_class)
    wanted = (*others, Inventory(resource_class=resource_class, total=total))
    write = PutInventories(provider_uuid=root, inventories=wanted)
    return Plan(writes=(write,), generations=((root, read.generation),))


@dataclass(frozen=True)
class Schedule:
    """A change a second from ``begin`` on, the n-th of value n."""

    begin: float

    def due(self) -> int:
        """How many changes have come due."""
        return max(0, min(int(SECONDS), 1 + int(time.monotonic() - self.begin)))


class OneClass:
    """One writer's work: its class, and the PUTs that were taken."""

    def __init__(self, client: PlacementClient, root: str, name: str, schedule: Schedule) -> None:
        self.client, self.root, self.name, self.schedule = client, root, name, schedule
        self.writer = TreeWriter(client)
        self.acknowledged = 0
        self.rounds: list[int] = []
        self.took_s: list[float] = []

    def change(self, until_s: float) -> None:
        """Rounds until one is acknowledged or the time is over."""
        started = time.monotonic()
        for conflict in itertools.count(1):
            value = self.schedule.due()
            try:
                read = self.client.get(f"/resource_providers/{self.root}/inventories", MINIMUM, parse_inventories)
                self.writer.apply(decide(self.root, read, self.name, value), lambda: False)
            except (GenerationConflict, PlacementUnavailable):
                if time.monotonic() > until_s:
                    return
                threading.Event().wait(wait_s(conflict, random.random()))
            else:
                self.acknowledged = value
                self.rounds.append(conflict)
                self.took_s.append(time.monotonic() - started)
                return


def write_for_a_while(folder: Path, url: str, root: str, name: str, begin: float) -> Outcome:
    random.seed(name)
    client = client_of(folder, url)
    schedule = Schedule(begin + random.random())
    work = OneClass(client, root, name, schedule)
    pause = threading.Event()
    end = begin + SECONDS
    while time.monotonic() < end or work.acknowledged < schedule.due():
        if work.acknowledged < schedule.due():
            work.change(until_s=end + DRAIN_S)
        else:
            pause.wait(0.02)
        if time.monotonic() > end + DRAIN_S:
            break
    return Outcome(name, schedule.due(), work.acknowledged, tuple(work.rounds), tuple(work.took_s), client.requests)


def test_sixteen_writers_lose_nothing(servers, tmp_path):
    rest = servers[0]
    root = rest.make_provider()
    rest.set_inventories(root, {"VCPU": {"total": 64, "reserved": 2, "allocation_ratio": 4.0}})
    begin = time.monotonic() + 1.0
    with ProcessPoolExecutor(WRITERS, mp_context=multiprocessing.get_context("fork")) as processes:
        urls = itertools.cycle(server.server.url for server in servers)
        writers = [
            processes.submit(write_for_a_while, tmp_path, url, root, f"CUSTOM_WRITER_{number}", begin)
            for number, url in zip(range(WRITERS), urls, strict=False)
        ]
        said = [writer.result() for writer in writers]

    due = sum(outcome.due for outcome in said)
    put = sum(len(outcome.rounds) for outcome in said)
    acknowledged = sum(outcome.last_acknowledged for outcome in said)
    rounds = sorted(number for outcome in said for number in outcome.rounds)
    took = sorted(seconds for outcome in said for seconds in outcome.took_s)
    print(
        f"\n{due} changes due of {WRITERS} writers in {SECONDS:.0f} s: {acknowledged} acknowledged"
        f" ({100 * acknowledged / due:.2f} %), {put} by a PUT of their own, {acknowledged - put} by a newer value's;"
        f" rounds p50 {rounds[len(rounds) // 2]} p99 {rounds[len(rounds) * 99 // 100]} max {rounds[-1]};"
        f" seconds p50 {statistics.median(took):.2f} p99 {took[len(took) * 99 // 100]:.2f} max {took[-1]:.2f};"
        f" {sum(outcome.requests for outcome in said) / SECONDS:.0f} requests/s"
    )
    there = rest.inventories(root)
    assert {name: there[name]["total"] for name in there if name != "VCPU"} == {
        outcome.resource_class: outcome.last_acknowledged for outcome in said
    }
    assert (there["VCPU"]["total"], there["VCPU"]["reserved"], there["VCPU"]["allocation_ratio"]) == (64, 2, 4.0)
    assert acknowledged >= 0.99 * due
