"""Sixteen processes on one provider: nobody's change is lost, and next to every change is acknowledged.

Each owns one custom class and changes it once a second (later where the change
before is not done yet) through our client, reader and writer: look, decide, PUT
the whole inventory with everybody else's classes carried through, and after a
conflict wait and look again, ``STOCKTAKE_WRITERS_ROUNDS`` times. On MariaDB,
where Placement now and then answers 500 for InnoDB's deadlock (1213, seen here):
that is no answer, so it is a reason to look again as well, never to send again.
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
from agent.model.placement import Inventory, PlacementView
from agent.model.plan import Plan, PutInventories
from agent.placement.backoff import wait_s
from agent.placement.reader import TreeReader
from agent.placement.writer import TreeWriter
from tests.rigs import mariadb
from tests.rigs.placement import Rest, client_of, looking_at, running

WRITERS = 16
SECONDS = float(os.environ.get("STOCKTAKE_WRITERS_SECONDS", "15"))
ROUNDS = int(os.environ.get("STOCKTAKE_WRITERS_ROUNDS", "40"))

pytestmark = pytest.mark.skipif(not mariadb.available(), reason="needs mariadb-server-core")


@dataclass(frozen=True)
class Outcome:
    """What one writer has to say at the end; ``attempts`` has one number for each acknowledged change."""

    resource_class: str
    tried: int
    last_acknowledged: int
    attempts: tuple[int, ...]
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


def decide(view: PlacementView, resource_class: str, total: int) -> Plan:
    """Pure: the one class as wanted, all others as they stand."""
    others = tuple(i for i in view.root.inventories if i.resource_class != resource_class)
    wanted = PutInventories(
        provider_uuid=view.root_uuid, inventories=(*others, Inventory(resource_class=resource_class, total=total))
    )
    return Plan(writes=(wanted,), generations=((view.root_uuid, view.root.generation),))


def change(reader: TreeReader, writer: TreeWriter, root: str, wanted: tuple[str, int]) -> int:
    """Rounds that it took, 0 when they ran out."""
    for conflict in range(1, ROUNDS + 1):
        try:
            writer.apply(decide(reader.view(looking_at(root)), *wanted), lambda: False)
        except (GenerationConflict, PlacementUnavailable):
            threading.Event().wait(wait_s(conflict, random.random()))
        else:
            return conflict
    return 0


def write_for_a_while(folder: Path, url: str, root: str, name: str, begin: float) -> Outcome:
    random.seed(name)
    client = client_of(folder, url)
    reader, writer = TreeReader(client), TreeWriter(client)
    tried, last, attempts, took = 0, 0, [], []
    pause = threading.Event()
    pause.wait(max(0.0, begin + random.random() - time.monotonic()))
    while (started := time.monotonic()) < begin + SECONDS:
        tried += 1
        rounds = change(reader, writer, root, (name, tried))
        if rounds:
            last = tried
            attempts.append(rounds)
            took.append(time.monotonic() - started)
        pause.wait(max(0.0, started + 1.0 - time.monotonic()))
    return Outcome(name, tried, last, tuple(attempts), tuple(took), client.requests)


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

    tried = sum(outcome.tried for outcome in said)
    acknowledged = sum(len(outcome.attempts) for outcome in said)
    attempts = sorted(rounds for outcome in said for rounds in outcome.attempts)
    took = sorted(seconds for outcome in said for seconds in outcome.took_s)
    print(
        f"\n{tried} changes tried by {WRITERS} in {SECONDS:.0f} s, {acknowledged} acknowledged"
        f" ({100 * acknowledged / tried:.2f} %); rounds p50 {attempts[len(attempts) // 2]}"
        f" p99 {attempts[len(attempts) * 99 // 100]} max {attempts[-1]};"
        f" seconds p50 {statistics.median(took):.2f} p99 {took[len(took) * 99 // 100]:.2f} max {took[-1]:.2f};"
        f" {sum(outcome.requests for outcome in said) / SECONDS:.0f} requests/s"
    )
    there = rest.inventories(root)
    assert {name: there[name]["total"] for name in there if name != "VCPU"} == {
        outcome.resource_class: outcome.last_acknowledged for outcome in said
    }
    assert (there["VCPU"]["total"], there["VCPU"]["reserved"], there["VCPU"]["allocation_ratio"]) == (64, 2, 4.0)
    assert acknowledged >= 0.99 * tried
