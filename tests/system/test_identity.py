"""Each rule about the root provider's uuid, end to end through the installed agent."""

from __future__ import annotations

import datetime
from pathlib import Path

import pytest

from agent.demo import cell
from agent.model.nova import ComputeNode, Service
from tests.rigs.domains import domain_xml, node_xml, nova_metadata
from tests.rigs.gateway import gateway
from tests.rigs.host import AgentHost
from tests.rigs.placement import Rest, new_uuid

SERVICE = Service(
    id=1, version=74, disabled=False, forced_down=False,
    last_seen_up=datetime.datetime(2026, 11, 21, 10, 0, 0),  # noqa: DTZ001 - nova's columns have no zone
    created_at=datetime.datetime(2026, 11, 21, 9, 0, 0),  # noqa: DTZ001 - as above
)  # fmt: skip


@pytest.fixture
def host(tmp_path: Path, placement: Rest) -> AgentHost:
    """A host without any compute_id file and with an empty cell."""
    (tmp_path / "node.xml").write_text(node_xml(cpus=4, memory_mib=4096))
    made = AgentHost(
        folder=tmp_path,
        name=f"cmp-{new_uuid()}",
        placement_url=placement.server.url,
        libvirt_uri=f"test://{tmp_path / 'node.xml'}",
    )
    made.configure()
    made.make_cell().dispose()
    return made


def fill(host: AgentHost, *rows: ComputeNode | Service) -> None:
    with host.rows() as connection:
        for row in rows:
            if isinstance(row, Service):
                cell.add_service(connection, host.name, row)
            else:
                cell.add_compute_node(connection, row)


def row_of(host: AgentHost, uuid: str, number: int = 1, **changes: object) -> ComputeNode:
    named = {"host": host.name, "hypervisor_hostname": host.name, "deleted": False, **changes}
    return ComputeNode(id=number, uuid=uuid, **named)


def own_file(host: AgentHost) -> Path:
    return host.folder / "state" / "compute_id"


def assert_root_is(placement: Rest, host: AgentHost, uuid: str) -> None:
    found = placement.done("GET", f"/resource_providers?name={host.name}")["resource_providers"]
    assert [provider["uuid"] for provider in found] == [uuid]
    assert placement.inventories(uuid)["VCPU"]["total"] == 4


def test_the_provider_uuid_comes_from_compute_id_of_nova(placement, host):
    """The agent takes its provider's uuid from nova-compute's file compute_id, even if nova's database has another."""
    uuid = new_uuid()
    (host.folder / "nova-state").mkdir()
    (host.folder / "nova-state" / "compute_id").write_text(f"{uuid}\n")
    (host.folder / "nova.conf").write_text(f"[DEFAULT]\nstate_path = {host.folder}/nova-state\n")
    fill(host, row_of(host, new_uuid()))  # the file has priority
    assert host.agent("--once").code in (0, 3)
    assert_root_is(placement, host, uuid)
    assert not own_file(host).exists()


def test_without_compute_id_the_uuid_comes_from_the_database(placement, host):
    """Without nova-compute's file compute_id, the agent takes its provider's uuid from nova's table compute_nodes."""
    uuid = new_uuid()
    rows = [
        row_of(host, new_uuid(), 1, hypervisor_hostname="old-name"),
        row_of(host, uuid, 2),
        row_of(host, new_uuid(), 3, deleted=True),
    ]
    fill(host, SERVICE, *rows)
    assert host.agent("--once").code == 3
    assert_root_is(placement, host, uuid)
    assert not own_file(host).exists()
    orphans = [f for f in host.report()["audit"]["findings"] if f["code"] == "compute-node-orphaned"]
    assert len(orphans) == 1
    assert "old-name" in str(orphans)


def test_conflicting_compute_id_files_end_the_agent_with_78(placement, host):
    """nova-compute's and the agent's compute_id files have different uuids; the agent prints both and exits with 78."""
    one, two = new_uuid(), new_uuid()
    (host.folder / "compute_id").write_text(one)
    own_file(host).write_text(two)
    with placement.watched() as seen:
        ended = host.agent("--once")
    assert ended.code == 78
    (line,) = ended.stderr.splitlines()[-1:]
    assert all(part in line for part in (str(host.folder / "compute_id"), one, str(own_file(host)), two))
    assert "Traceback" not in ended.stderr
    assert seen == []


@pytest.mark.parametrize("others", [0, 1], ids=["no row", "a row of another node"])
def test_the_agent_exits_78_without_its_compute_node_row(placement, host, others):
    """nova's database has the host's service and lacks its compute_nodes row; the agent exits with 78."""
    rows = [row_of(host, new_uuid(), 1, hypervisor_hostname="old-name")][:others]
    fill(host, SERVICE, *rows)
    with placement.watched() as seen:
        ended = host.agent("--once")
    assert ended.code == 78
    assert host.name in ended.stderr
    assert "compute_id" in ended.stderr
    assert ("old-name" in ended.stderr) == bool(others)
    assert "Traceback" not in ended.stderr
    assert seen == []
    assert not own_file(host).exists()


@pytest.mark.parametrize("state", ["sql", "none"])
def test_a_new_provider_uuid_is_stored_before_its_first_use(placement, host, state):
    """On a new host, the agent writes its new uuid to the file compute_id before it sends any request to Placement."""
    connection = f"sqlite:///{host.cell_path}" if state == "sql" else None
    with gateway(placement.server.url) as between:
        host.placement_url = between.url
        host.configure({"state": {"source": state, "connection": connection}})
        on_disk: list[str] = []
        between.before = lambda _asked: on_disk.append(own_file(host).read_text().strip())
        assert host.agent("--once").code in (0, 3)
        (uuid,) = set(on_disk)
        assert_root_is(placement, host, uuid)
        host.agent("--once")
    assert set(on_disk) == {uuid}


@pytest.mark.parametrize("dry", ["observer", "--no-publish"])
def test_an_agent_that_only_reads_creates_no_compute_id_file(placement, host, dry):
    """The agent runs with --no-publish or with [agent] role = observer.

    The agent creates no compute_id file and sends only GET requests to Placement.
    """
    arguments = ["--once"]
    if dry == "observer":
        host.configure({"agent": {"role": "observer"}})
    else:
        arguments.append("--no-publish")
    (host.folder / "state").rmdir()
    with placement.watched() as seen:
        assert host.agent(*arguments).code in (0, 3)
    assert {line.split()[0] for line in seen} == {"GET"}
    # An observer makes the folder to store its history; a dry run writes nothing at all.
    assert not (host.folder / "state" / "compute_id").exists()
    assert dry == "observer" or not (host.folder / "state").exists()


def test_no_request_is_sent_without_a_provider_uuid(placement, host):
    """The agent cannot read its provider's uuid from nova's database, so it sends Placement no request."""
    uuid = new_uuid()
    fill(host, row_of(host, uuid))
    away = host.cell_path.rename(host.cell_path.with_suffix(".away"))
    with host.daemon() as daemon:
        with placement.watched() as seen:
            report = daemon.first_audit()
        assert (report["audit"]["outcome"], report["audit"]["provider_uuid"]) == ("partial", None)
        assert seen == []
        assert not own_file(host).exists()
        away.rename(host.cell_path)
        while report["audit"]["outcome"] == "partial":
            report = daemon.audit_after(report)
    assert report["audit"]["provider_uuid"] == uuid
    assert_root_is(placement, host, uuid)
    assert not own_file(host).exists()


def test_the_agent_creates_no_uuid_while_libvirt_is_down(placement, host):
    """libvirt is down on a new host; the agent creates no compute_id file and sends Placement no request."""
    host.configure({"libvirt": {"connection_uri": f"test://{host.folder}/absent.xml"}})
    with placement.watched() as seen:
        assert host.agent("--once").code == 2
    assert seen == []
    assert not own_file(host).exists()


@pytest.mark.parametrize("known", ["file", "no file"])
def test_an_empty_nova_database_stops_all_writes(placement, host, known):
    """The host runs a guest of nova, and nova's database is empty; the agent reports it and writes nothing."""
    guest = domain_xml("instance-1", metadata=nova_metadata(1, 64, 0))
    (host.folder / "node.xml").write_text(node_xml(cpus=4, memory_mib=4096, domains=[guest]))
    uuid = new_uuid()
    if known == "file":
        own_file(host).write_text(uuid)
    with placement.watched() as seen:
        assert host.agent("--once").code == (3 if known == "file" else 2)
    assert {line.split()[0] for line in seen} <= {"GET"}
    assert own_file(host).exists() == (known == "file")
    report = host.report()["audit"]
    (found,) = [f for f in report["findings"] if f["code"] == "identity-changed"]
    assert "the database belongs to another cloud, or was restored from an old backup" in found["actual"]

    fill(host, row_of(host, uuid))
    assert host.agent("--once").code in (0, 3)
    assert_root_is(placement, host, uuid)
