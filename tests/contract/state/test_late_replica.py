"""Whole audits with heal, and takeovers, while the agent reads the cell from a MariaDB replica that lags or stopped.

The tests write changes of the cloud to the primary and to Placement at once, as nova does; the agent reads the replica.
"""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import itertools
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy
from sqlalchemy import text

from agent.audit.parts import Parts
from agent.cmd.wiring import SystemClock, wire
from agent.config.build import load_checked, settings_from
from agent.demo import cell
from agent.healing import recheck
from agent.healing.after_audit import AuditThenHeal
from agent.model.audit import AuditMemory, AuditRequest, AuditResult
from agent.model.heal import HealProgress
from agent.model.nova import Service
from tests.rigs import heart, mariadb
from tests.rigs.domains import domain_xml, node_xml
from tests.rigs.facts import FLAVOR_A, FLAVOR_B
from tests.rigs.host import AgentHost, host_on
from tests.rigs.placement import Rest, new_uuid
from tests.rigs.replica import Pair, replicating
from tests.rigs.wait import until

HELD = {"VCPU": 2, "MEMORY_MB": 256}
SHELVED: dict[str, Any] = {"host": None, "node": None, "vm_state": "shelved_offloaded"}
DOWN_S = 2
HEALING = {"enabled": True, "min_age": 0, "codes": "allocation-stale-move"}
LONG_AGO = datetime.datetime(2020, 1, 1)  # noqa: DTZ001 - nova's columns have no zone


@dataclasses.dataclass(frozen=True)
class LateCell:
    """One cell for all tests, each of which has its own host; ``engine`` and ``url`` are those of the primary."""

    servers: Pair
    engine: sqlalchemy.Engine
    url: str
    numbers: Iterator[int]

    def now(self, statement: str, **values: object) -> None:
        """Run a statement on the primary."""
        with self.engine.begin() as connection:
            connection.execute(text(statement), values)


@pytest.fixture(scope="module")
def late_cell(tmp_path_factory) -> Iterator[LateCell]:
    if not mariadb.available():
        pytest.skip("MariaDB is not installed (mariadb-server-core)")
    with replicating(tmp_path_factory.mktemp("servers")) as servers:
        url = servers.primary.create_database("cell")
        engine = sqlalchemy.create_engine(url)
        cell.create_tables(engine)
        yield LateCell(servers, engine, url, itertools.count(1))
        engine.dispose()


@dataclasses.dataclass(frozen=True)
class World:
    """A host without guests whose agent reads the replica of its cell."""

    agent: AgentHost
    rest: Rest
    cell: LateCell

    @property
    def root(self) -> str:
        return self.agent.provider_uuid

    @property
    def servers(self) -> Pair:
        return self.cell.servers

    def stops_in_the_past(self, seconds: int) -> None:
        """Stop the replica at the cell's state of that many seconds ago; the primary goes on."""
        heart.forget(self.cell.url)
        self.cell.now(f"UPDATE services SET last_seen_up = UTC_TIMESTAMP() - INTERVAL {seconds} SECOND")
        self.servers.catch_up()
        self.servers.stops()
        heart.keep(self.cell.url)

    def shelved(self) -> str:
        """Add an instance that is on no host, let the replica catch up, and return the instance's uuid."""
        uuid = new_uuid()
        with self.cell.engine.begin() as connection:
            made = self.agent.instance(uuid, flavor=FLAVOR_B, flavor_id=2, **SHELVED)
            cell.add_instance(connection, dataclasses.replace(made, uuid=uuid))
        self.servers.catch_up()
        return uuid

    def unshelve(self, uuid: str) -> None:
        """Unshelve in nova's order: the task state, the allocation, the host; libvirt has no guest yet."""
        self.cell.now("UPDATE instances SET task_state = 'unshelving' WHERE uuid = :uuid", uuid=uuid)
        self.rest.allocate({self.root: HELD}, uuid)
        self.cell.now(
            "UPDATE instances SET task_state = 'spawning', host = :host, node = :host, updated_at = UTC_TIMESTAMP() "
            "WHERE uuid = :uuid",
            uuid=uuid,
            host=self.agent.name,
        )

    def held(self, uuid: str) -> dict[str, int]:
        """Return the consumer's allocation on this host, from Placement."""
        found = self.rest.done("GET", f"/allocations/{uuid}")["allocations"]
        return dict(found[self.root]["resources"]) if self.root in found else {}


@pytest.fixture
def world(tmp_path: Path, placement: Rest, late_cell: LateCell) -> Iterator[World]:
    (tmp_path / "node.xml").write_text(node_xml(cpus=8, memory_mib=4096))
    agent = host_on(tmp_path, placement.server.url)
    agent.options = {"state": {"connection": late_cell.servers.replica.url("cell")}, "heal": HEALING}
    agent.configure()
    placement.make_provider(agent.name, uuid=agent.provider_uuid)
    placement.set_inventories(agent.provider_uuid, {"VCPU": {"total": 4}, "MEMORY_MB": {"total": 1024}})
    late_cell.servers.applies()
    heart.keep(late_cell.url)
    with late_cell.engine.begin() as connection:
        cell.add_compute_node(connection, agent.node_row(next(late_cell.numbers)))
    late_cell.servers.catch_up()
    yield World(agent, placement, late_cell)
    heart.forget(late_cell.url)


class Daemon:
    """Audits with heal as the daemon's worker runs them, one after the other with one memory."""

    def __init__(self, loaded: Any, parts: Parts) -> None:
        self._loaded = loaded
        self._parts = parts
        self._audit_then_heal = AuditThenHeal()
        self._memory = AuditMemory()

    def audit(self) -> AuditResult:
        """Run one audit with heal."""
        request = AuditRequest(reasons=("test",))
        result = self._audit_then_heal(request, settings_from(self._loaded), self._parts, self._memory, lambda: False)
        self._memory = result.memory
        return result

    def healed(self) -> AuditResult:
        """Return the first audit that tried to heal something; fail if none of three did."""
        for _ in range(3):
            result = self.audit()
            if result.report.healed:
                return result
        raise AssertionError(f"heal has tried nothing: {codes(result)}")


@contextlib.contextmanager
def daemon(world: World, **parts: Any) -> Iterator[Daemon]:
    """Yield the daemon's audits; ``parts`` replace wired parts."""
    loaded = load_checked([str(world.agent.config_file)])
    with wire(loaded) as wired:
        yield Daemon(loaded, dataclasses.replace(wired.parts, **parts))


def clock_with(happens: Callable[[], None]) -> SystemClock:
    """Return the system clock with a wait that first calls ``happens``, once."""
    due, plain = [happens], SystemClock()

    def wait(seconds: float) -> None:
        while due:
            due.pop()()
        plain.wait(seconds)

    return SystemClock(wait)


def codes(result: AuditResult) -> set[str]:
    return {seen.finding.code for seen in result.report.findings}


def behind_s(result: AuditResult) -> float | None:
    (state,) = (source for source in result.report.sources if source.name == "state")
    return state.behind_s


def test_no_repair_is_made_if_the_replica_lags_15_minutes(world):
    """The agent reads nova's instances from a late replica, so a valid allocation in Placement looks stale."""
    uuid, built = world.shelved(), new_uuid()
    world.stops_in_the_past(900)
    world.unshelve(uuid)
    guest = domain_xml("built", domain_uuid=built, vcpus=1, memory_mib=128)
    (world.agent.folder / "node.xml").write_text(node_xml(cpus=8, memory_mib=4096, domains=[guest]))
    with world.cell.engine.begin() as connection:
        made = world.agent.instance(built, flavor=dataclasses.replace(FLAVOR_A, root_gib=0))
        cell.add_instance(connection, dataclasses.replace(made, uuid=built))
    with daemon(world) as audits:
        late = [audits.audit() for _ in range(4)]
        assert [codes(each) for each in late] == [{"source-stale"}] * 4
        assert {each.report.outcome.value for each in late} == {"partial"}
        assert [each.report.healed for each in late] == [()] * 4
        assert 900 <= behind_s(late[0]) < 960
        assert world.held(uuid) == HELD
        assert world.rest.inventories(world.root)["VCPU"]["total"] == 8, "the inventory is still published"
        world.rest.allocate({world.root: {"VCPU": 1, "MEMORY_MB": 128}}, built)
        world.servers.applies()
        world.servers.catch_up()
        assert codes(audits.audit()) == set()
    assert world.held(uuid) == HELD


def test_a_repair_waits_for_a_late_database_replica(world):
    """The agent reads a late replica of nova's database. Before it repairs an allocation, it waits for newer data."""
    uuid = world.shelved()
    with daemon(world, clock=clock_with(world.servers.applies)) as audits:
        audits.audit()
        world.servers.stops()
        world.unshelve(uuid)
        tried = audits.healed()
        assert codes(tried) == {"allocation-stale-move"}
        (note,) = tried.report.healed
        assert (note.result, "changed since the plan" in note.words) == ("refused", True)
        assert world.held(uuid) == HELD
        assert codes(audits.audit()) == set()


def test_a_repair_is_refused_if_the_database_replica_stopped(world, monkeypatch):
    """The agent's replica of nova's database stopped, so the agent keeps an allocation that looks stale."""
    monkeypatch.setattr(recheck, "WAIT_S", 1.0)
    uuid = world.shelved()
    with daemon(world) as audits:
        audits.audit()
        world.servers.stops()
        world.unshelve(uuid)
        tried = audits.healed()
        assert codes(tried) == {"allocation-stale-move"}
        (note,) = tried.report.healed
        assert (note.result, "a replica that lags" in note.words) == ("refused", True)
    assert world.held(uuid) == HELD


def test_a_repair_is_made_if_the_database_replica_lags_1_second(world):
    """The agent reads a late replica of nova's database, and removes a stale allocation from Placement."""
    uuid = world.shelved()
    world.servers.applies(delay_s=1)
    world.rest.allocate({world.root: HELD}, uuid)
    with daemon(world) as audits:
        assert [note.result for note in audits.healed().report.healed] == ["done"]
    assert world.held(uuid) == {}


def test_the_report_counts_waiting_repairs(world):
    """After an audit, the agent's report counts one waiting repair. After the repair, the report counts none."""
    uuid = world.shelved()
    world.rest.allocate({world.root: HELD}, uuid)
    with daemon(world) as audits:
        assert audits.audit().report.heal == HealProgress(enabled=True, waiting=1)
        assert audits.healed().report.heal == HealProgress(enabled=True, waiting=0)


@pytest.fixture
def compute(world: World) -> World:
    """A world whose provider is nova-compute's; the agent takes it over once the service is silent."""
    world.agent.configure({"agent": {"role": "owner", "takeover": True}, "DEFAULT": {"service_down_time": DOWN_S}})
    world.rest.set_traits(world.root, "OWNER_NOVA", "COMPUTE_NODE")
    number = next(world.cell.numbers)
    service = Service(
        id=number, version=74, disabled=False, forced_down=False, last_seen_up=LONG_AGO, created_at=LONG_AGO
    )  # fmt: skip
    with world.cell.engine.begin() as connection:
        cell.add_service(connection, world.agent.name, service)
    report_of(world)
    world.servers.catch_up()
    return world


def report_of(world: World) -> None:
    """Store one report of this host's nova-compute service in the primary."""
    world.cell.now(
        "UPDATE services SET last_seen_up = UTC_TIMESTAMP() WHERE host = :host AND `binary` = 'nova-compute'",
        host=world.agent.name,
    )


@contextlib.contextmanager
def living(world: World) -> Iterator[None]:
    """Let nova-compute report twice a second inside the block, however long an audit takes meanwhile."""
    over = threading.Event()

    def report() -> None:
        while not over.wait(0.5):
            report_of(world)

    thread = threading.Thread(target=report, name="nova-compute")
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


LATE: dict[str, Callable[[World], None]] = {
    "lags": lambda world: world.servers.applies(delay_s=2 * DOWN_S),
    "has just stopped": lambda world: world.servers.stops(),
    "stopped 15 minutes ago": lambda world: world.stops_in_the_past(900),
}


@pytest.mark.parametrize("how", LATE)
def test_a_lagging_replica_does_not_make_nova_compute_look_dead(compute, how):
    """The agent reads nova-compute's heartbeat from a late database replica, and does not replace nova-compute."""
    is_old = how == "stopped 15 minutes ago"
    LATE[how](compute)
    generation = compute.rest.generation(compute.root)
    began = time.monotonic()
    with daemon(compute) as audits, living(compute):
        while time.monotonic() - began < DOWN_S + 1:
            result = audits.audit()
            assert result.report.outcome.value == "refused"
            assert codes(result) == {"rival-writer"} | ({"source-stale"} if is_old else set())
    assert compute.rest.generation(compute.root) == generation


def test_a_dead_nova_compute_is_replaced_despite_a_lag(compute):
    """nova-compute is dead and the database replica lags 1 second.

    The agent takes over the provider of nova-compute.
    """
    compute.servers.applies(delay_s=1)
    with daemon(compute) as audits:
        until(lambda: audits.audit().report.published, 10 * DOWN_S, "the takeover")
    assert compute.rest.inventories(compute.root)["VCPU"]["total"] == 8
    assert "OWNER_NOVA" not in compute.rest.traits(compute.root)
