"""Database, broker and conductor killed in turn under a daemon that may heal: the daemon reports it, releases nothing.

The state source is a real nova-conductor. The test plants a leak while one part is dead. With ``[heal] enabled`` and
no minimum age the daemon would remove the leak at once if it took silence for an answer.
"""

import datetime
from pathlib import Path

import pytest

from agent.demo import cell as cell_rows
from tests.rigs import conductor
from tests.rigs.conductor import Cell
from tests.rigs.domains import domain_xml, node_xml
from tests.rigs.facts import FLAVOR_A, uuid
from tests.rigs.host import AgentHost, Daemon, host_on
from tests.rigs.placement import Rest, new_uuid
from tests.rigs.wait import until

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(conductor.missing() is not None, reason=str(conductor.missing())),
    pytest.mark.xdist_group("conductor"),
]

HELD = {"VCPU": FLAVOR_A.vcpus, "MEMORY_MB": FLAVOR_A.memory_mib, "DISK_GB": FLAVOR_A.root_gib}
LOST_WAIT_S = 180


@pytest.fixture
def host(tmp_path: Path, placement: Rest, conductor_cell: Cell) -> AgentHost:
    """A host with the guest of instance i1, which the cell and Placement know; the deleted instance has no guest."""
    conductor_cell.empty()
    guest = domain_xml("i1", domain_uuid=uuid("i1"), vcpus=FLAVOR_A.vcpus, memory_mib=FLAVOR_A.memory_mib)
    (tmp_path / "node.xml").write_text(node_xml(cpus=8, memory_mib=4096, domains=[guest]))
    made = host_on(tmp_path, placement.server.url)
    made.configure(
        {
            "DEFAULT": {
                "transport_url": conductor_cell.broker.url,
                "rpc_response_timeout": 5,
                "update_resources_interval": -1,
                "use_json": "true",
            },
            "agent": {"source_deadline": 8},
            "state": {"source": "conductor", "connection": None},
            "heal": {"enabled": "true", "min_age": 0},
        }
    )
    long_ago = datetime.datetime(2026, 1, 1)  # noqa: DTZ001 - the database's times are naive UTC
    with conductor_cell.engine.begin() as connection:
        cell_rows.add_compute_node(connection, made.node_row())
        cell_rows.add_instance(connection, made.instance("i1"))
        cell_rows.add_instance(connection, made.instance("gone", deleted=True, deleted_at=long_ago))
    return made


class Part:
    """One part of the control plane that the test can kill and start again."""

    def __init__(self, cell: Cell, name: str) -> None:
        self._cell = cell
        self.name = name

    def kill(self) -> None:
        match self.name:
            case "database":
                self._cell.database.kill()
            case "broker":
                self._cell.broker.kill()
            case "conductor":
                self._cell.conductor.stop()

    def bring_back(self) -> None:
        match self.name:
            case "database":
                self._cell.database.start()
            case "broker":
                self._cell.broker.start()
                until(self._is_served, LOST_WAIT_S, "nova-conductor is back on its broker")
            case "conductor":
                self._cell.conductor.start()

    def _is_served(self) -> bool:
        return conductor.consumers(self._cell.broker.url, conductor.TOPIC) > 0


def state_source(report: dict) -> dict:
    return next(source for source in report["audit"]["sources"] if source["name"] == "state")


def settled(daemon: Daemon) -> dict:
    """Run audits until one is clean: the compute node record exists and all is published."""

    reports: list[dict] = []

    def clean() -> dict:
        reports.append(daemon.audit_now())
        return reports[-1] if reports[-1]["audit"]["outcome"] == "clean" else {}

    try:
        return until(clean, LOST_WAIT_S, "a clean audit")
    except AssertionError as error:
        last = reports[-1]["audit"]
        raise AssertionError(f"{error}: {last['outcome']} {last['sources']} {last['findings']}") from None


@pytest.mark.parametrize("name", ["conductor", "database", "broker"])
def test_no_allocation_is_removed_while_nova_is_down(placement, conductor_cell, host, name):
    """While nova's database, nova-conductor or RabbitMQ is down, the daemon removes no leaked allocation."""
    part, leaked = Part(conductor_cell, name), uuid("gone")
    with host.daemon() as daemon:
        daemon.first_audit()
        placement.allocate({host.provider_uuid: HELD}, uuid("i1"))
        settled(daemon)
        missing = found_missing(daemon, conductor_cell, host)
        part.kill()
        try:
            placement.allocate({host.provider_uuid: HELD}, leaked)
            placement.set_traits(host.provider_uuid)
            for _ in range(2):
                report = daemon.audit_now(LOST_WAIT_S)
                assert report["audit"]["outcome"] == "partial"
                assert not state_source(report)["ok"]
                assert known(report, missing) == {"state": "unknown", "because": ["state"], "confirmed": True}
            # The agent publishes the host's own facts nevertheless, and changes no allocation.
            assert "COMPUTE_NODE" in placement.traits(host.provider_uuid)
            assert placement.inventories(host.provider_uuid)["VCPU"]["total"] == 8
            assert host.stocktake("audit").code == 2
            assert holds(placement, leaked) == HELD
            assert holds(placement, uuid("i1")) == HELD
        finally:
            part.bring_back()
        recovered = answered(daemon)
        assert recovered["audit"]["outcome"] in {"clean", "findings"}
        assert known(recovered, missing) == {"state": "confirmed", "because": [], "confirmed": True}
        assert finding_of(recovered, missing["id"])["first_seen_at"] == missing["first_seen_at"]
        until(lambda: daemon.audit_now() and not holds(placement, leaked), LOST_WAIT_S, "the leak is healed")
        assert holds(placement, uuid("i1")) == HELD


def found_missing(daemon: Daemon, cell: Cell, host: AgentHost) -> dict:
    """Add an instance without a guest; return the finding guest-missing when it is confirmed."""
    with cell.engine.begin() as connection:
        cell_rows.add_instance(connection, host.instance("absent"))

    def confirmed() -> dict:
        found = daemon.audit_now()["audit"]["findings"]
        return next((f for f in found if f["code"] == "guest-missing" and f["state"] == "confirmed"), {})

    return until(confirmed, LOST_WAIT_S, "a confirmed finding")


def finding_of(report: dict, finding_id: str) -> dict:
    (found,) = [finding for finding in report["audit"]["findings"] if finding["id"] == finding_id]
    return found


def known(report: dict, finding: dict) -> dict:
    """Return what the report knows about that finding now."""
    now = finding_of(report, finding["id"])
    return {"state": now["state"], "because": now["unknown_because"], "confirmed": now["confirmed"]}


def answered(daemon: Daemon) -> dict:
    """Run audits until one has read the state source; return its report.

    Conductor may be on its broker again before the agent is: the agent's queue for answers went with the broker. The
    database may listen again before conductor has reconnected.
    """

    def read() -> dict:
        report = daemon.audit_now(LOST_WAIT_S)
        return report if state_source(report)["ok"] else {}

    return until(read, LOST_WAIT_S, "an audit that reads the state source")


def holds(placement: Rest, consumer: str) -> dict[str, int]:
    found = placement.done("GET", f"/allocations/{consumer}", version="1.28")["allocations"]
    return {name: amount for held in found.values() for name, amount in held["resources"].items()}


def test_one_audit_exits_2_while_nova_conductor_is_down(placement, conductor_cell, host):
    """`stocktake-agent --once` exits with 2 while nova-conductor is down, and removes no allocation."""
    until(lambda: host.agent("--once").code in {0, 3}, LOST_WAIT_S, "an audit that conductor answers in time")
    stranger = placement.allocate({host.provider_uuid: HELD}, new_uuid())
    part = Part(conductor_cell, "conductor")
    part.kill()
    try:
        ended = host.agent("--once")
        assert ended.code == 2
        assert holds(placement, stranger) == HELD
    finally:
        part.bring_back()
