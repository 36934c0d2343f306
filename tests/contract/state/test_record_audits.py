"""Whole audits with the released nova-conductor and a real Placement: the agent keeps its record, removes orphans."""

from __future__ import annotations

import dataclasses
import datetime
import json
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy

from agent.demo import cell
from agent.model.nova import ComputeNode, Service
from tests.rigs import facts
from tests.rigs.commands import stocktake_here
from tests.rigs.conductor import Cell
from tests.rigs.domains import node_xml
from tests.rigs.facts import FLAVOR_A
from tests.rigs.host import AgentHost, Ended, host_on
from tests.rigs.placement import Rest, new_uuid
from tests.rigs.releases import chosen

pytestmark = pytest.mark.xdist_group("conductor")

LONG_AGO = datetime.datetime(2020, 1, 1)  # noqa: DTZ001 - nova's columns have no zone
# Columns that change by themselves: every process changes the free bytes of the machine's disk.
OF_THE_MACHINE = {"updated_at", "disk_available_least"}
SERVICE = Service(
    id=3,
    version=chosen().service_version,
    disabled=False,
    forced_down=False,
    last_seen_up=LONG_AGO,
    created_at=LONG_AGO,
)


@dataclasses.dataclass(frozen=True)
class World:
    """One host whose state source is conductor; ``cloud`` is the cell behind the conductor."""

    agent: AgentHost
    rest: Rest
    cloud: Cell

    @property
    def root(self) -> str:
        return self.agent.provider_uuid

    def once(self) -> dict[str, Any]:
        """Run one audit that publishes; return its report."""
        ended = self.agent.agent("--once")
        assert ended.code in (0, 2, 3), ended.stderr
        audit = self.agent.report()["audit"]
        return audit if chosen().knows_all_traits else without_unknown_traits(audit)

    def told(self, *arguments: str) -> Ended:
        return stocktake_here("--config-file", self.agent.config_file, *arguments)

    def add(self, *rows: ComputeNode) -> None:
        with self.cloud.engine.begin() as connection:
            for row in rows:
                cell.add_compute_node(connection, row, service_id=3)

    def change(self, uuid: str, **columns: object) -> None:
        with self.cloud.engine.begin() as connection:
            cell.set_columns(connection, "compute_nodes", {"uuid": uuid}, **columns)

    def row(self, uuid: str | None = None) -> dict[str, Any]:
        table = cell.tables().tables["compute_nodes"]
        with self.cloud.engine.connect() as connection:
            found = connection.execute(sqlalchemy.select(table).where(table.c.uuid == (uuid or self.root)))
            return dict(found.mappings().one())

    def node(self, number: int, name: str, uuid: str | None = None, **changes: Any) -> ComputeNode:
        plain = {"host": self.agent.name, "hypervisor_hostname": name, "deleted": False}
        return ComputeNode(id=number, uuid=uuid or new_uuid(), **{**plain, **changes})

    def orphan_provider(self, row: ComputeNode, *held: dict[str, int]) -> str:
        """Make the provider that nova-compute made for that row, with a child; return the child's uuid."""
        self.rest.make_provider(row.hypervisor_hostname, uuid=row.uuid)
        self.rest.set_inventories(row.uuid, {"VCPU": {"total": 8}})
        self.rest.set_traits(row.uuid, "COMPUTE_NODE", "OWNER_NOVA")
        child = self.rest.make_provider(f"{row.hypervisor_hostname}_amd_sev", parent=row.uuid)
        self.rest.set_traits(child, "OWNER_NOVA")
        for each in held:
            self.rest.allocate({row.uuid: each})
        return child

    def exists(self, uuid: str) -> bool:
        return bool(self.rest.done("GET", f"/resource_providers?uuid={uuid}")["resource_providers"])


@pytest.fixture
def world(tmp_path: Path, placement: Rest, conductor_cell: Cell) -> World:
    conductor_cell.empty()
    (tmp_path / "node.xml").write_text(node_xml(cpus=8, memory_mib=4096))
    agent = host_on(tmp_path, placement.server.url)
    agent.options = {
        "DEFAULT": {"transport_url": conductor_cell.broker.url},
        "state": {"source": "conductor", "connection": None},
    }
    agent.configure()
    made = World(agent, placement, conductor_cell)
    with conductor_cell.engine.begin() as connection:
        cell.add_service(connection, agent.name, SERVICE)
    return made


def without_unknown_traits(audit: dict[str, Any]) -> dict[str, Any]:
    """Return the audit without the finding, and without the write, of traits that an older Placement does not know.

    Each audit here is a new process, which tries these traits again (test_refusals.py has what the daemon does).
    """
    findings = [f for f in audit["findings"] if (f["code"], f["subject"]) != ("write-refused", "unknown traits")]
    if len(findings) == len(audit["findings"]):
        return audit
    planned = [write for write in audit["plan"]["writes"] if write["kind"] != "put-traits"]
    outcome = "clean" if audit["outcome"] == "findings" and not findings else audit["outcome"]
    return {**audit, "findings": findings, "outcome": outcome, "plan": {**audit["plan"], "writes": planned}}


def writes(audit: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the audit's writes without saves of a record that change OF_THE_MACHINE columns only."""
    return [write for write in audit["plan"]["writes"] if columns_of(write) - OF_THE_MACHINE]


def columns_of(write: dict[str, Any]) -> set[str]:
    """Return the columns that the write changes in a record; the write's kind if it changes something else."""
    if write["kind"] != "save-compute-node":
        return {write["kind"]}
    return {name.removesuffix("_gib") for name in write["changed"]}


def steady(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name not in OF_THE_MACHINE}


def kinds(audit: dict[str, Any]) -> list[str]:
    return [write["kind"] for write in writes(audit) if "compute-node" in write["kind"]]


def codes(audit: dict[str, Any]) -> set[str]:
    return {finding["code"] for finding in audit["findings"]}


def test_s59_s65_the_first_audit_creates_the_compute_node(world):
    """The agent's first audit creates the host's compute node in nova through nova-conductor."""
    first = world.once()
    assert kinds(first) == ["create-compute-node"]
    row = world.row()
    assert (row["host"], row["hypervisor_hostname"]) == (world.agent.name, world.agent.name)
    assert (row["service_id"], row["vcpus"], row["memory_mb"], row["deleted"]) == (3, 8, 4096, 0)
    assert (row["cpu_allocation_ratio"], row["ram_allocation_ratio"], row["disk_allocation_ratio"]) == (4.0, 1.0, 1.0)
    assert json.loads(row["stats"])["failed_builds"] == "0"

    second = world.once()
    assert (writes(second), second["outcome"]) == ([], "clean")
    assert steady(world.row()) == steady(row)
    assert "written through nova-conductor" in world.told("status").stdout


def test_an_audit_corrects_only_wrong_compute_node_columns(world):
    """The agent corrects wrong values in the host's compute node row in nova, and keeps all other columns."""
    world.once()
    world.change(world.root, running_vms=5, cpu_info="theirs", metrics="[]", vcpus=1)
    before = world.row()
    with world.cloud.engine.begin() as connection:
        instance = facts.instance("i1", host=world.agent.name, node=world.agent.name, flavor=FLAVOR_A)
        cell.add_instance(connection, instance)
    # The audit repairs the wrong columns; no second client writes in between.
    audit = world.once()
    (write,) = [w for w in audit["plan"]["writes"] if w["kind"] == "save-compute-node"]
    after = world.row()
    changed = {name for name in after if after[name] != before[name]} - OF_THE_MACHINE
    assert changed == {
        *("vcpus", "cpu_info", "running_vms", "stats"),
        *("vcpus_used", "memory_mb_used", "local_gb_used", "free_ram_mb", "free_disk_gb"),
    }
    assert len(columns_of(write) - OF_THE_MACHINE) == len(changed)
    assert (after["running_vms"], after["memory_mb_used"]) == (1, 128 + before["memory_mb_used"])


def test_s60_an_audit_restores_a_deleted_compute_node(world):
    """The row of this host's compute node is marked as deleted in nova's database. The agent undeletes the row."""
    world.once()
    world.change(world.root, deleted=7, deleted_at=LONG_AGO)
    assert kinds(world.once()) == ["create-compute-node"]
    assert world.row()["deleted"] == 0


def test_an_audit_corrects_a_row_after_a_conductor_outage(world):
    """After an outage of nova-conductor, the next audit corrects a wrong compute node row."""
    world.once()
    world.change(world.root, memory_mb=1, service_id=None)
    world.cloud.conductor.stop()
    try:
        world.agent.configure({"DEFAULT": {"rpc_response_timeout": 3}})  # down: no need to wait a minute
        assert world.once()["outcome"] == "partial"
    finally:
        world.agent.configure()
        world.cloud.conductor.start()
    assert kinds(world.once()) == ["save-compute-node"]
    row = world.row()
    assert (row["memory_mb"], row["service_id"]) == (4096, 3)


def test_s68_the_second_audit_deletes_an_orphaned_node(world):
    """A compute node has the host's old name. The first audit reports it, and the second deletes it in nova."""
    old = world.node(20, f"old-{world.agent.name}")
    world.add(old)
    child = world.orphan_provider(old)
    first = world.once()
    assert "compute-node-orphaned" in codes(first)
    assert "delete-compute-node" not in kinds(first)
    assert (world.row(old.uuid)["deleted"], world.exists(old.uuid)) == (0, True)

    second = world.once()
    assert "delete-compute-node" in kinds(second)
    assert world.row(old.uuid)["deleted"] == 20
    assert not world.exists(old.uuid)
    assert not world.exists(child)

    third = world.once()
    assert (writes(third), third["outcome"]) == ([], "clean")


def test_an_audit_changes_no_compute_node_while_data_is_stale(world):
    """The agent reads nova data that is 90 s old, and neither corrects nor deletes a compute node row."""
    old = world.node(20, f"old-{world.agent.name}")
    world.add(old)
    world.orphan_provider(old)
    world.once()
    stored = steady(world.row())
    world.change(world.root, vcpus=1)
    with world.cloud.read_late(seconds=90):
        late = [world.once() for _ in range(2)]
    # Only an audit that reads the rows ends the finding about the old record.
    assert [codes(each) for each in late] == [{"compute-node-orphaned", "source-stale"}] * 2
    assert [each["plan"]["writes"] for each in late] == [[]] * 2
    assert (world.row(old.uuid)["deleted"], world.exists(old.uuid), world.row()["vcpus"]) == (0, True, 1)

    for _ in range(2):
        world.once()
    assert (world.row(old.uuid)["deleted"], world.exists(old.uuid)) == (20, False)
    assert steady(world.row()) == stored


def test_s158_an_orphaned_provider_with_allocations_is_kept(world):
    """The agent keeps an orphaned provider in Placement until all allocations of that provider are gone."""
    old = world.node(20, f"old-{world.agent.name}")
    world.add(old)
    world.orphan_provider(old, {"VCPU": 2})
    consumers = list(world.rest.done("GET", f"/resource_providers/{old.uuid}/allocations")["allocations"])
    assert "provider-orphaned" in codes(world.once())
    world.once()
    assert world.row(old.uuid)["deleted"] == 20
    assert world.exists(old.uuid)
    still = world.once()
    assert codes(still) == {"provider-orphaned"}
    assert world.rest.done("GET", f"/resource_providers/{old.uuid}/allocations")["allocations"].keys() == set(consumers)

    for consumer in consumers:
        world.rest.release(consumer)
    world.once()
    world.once()
    assert not world.exists(old.uuid)
    assert world.once()["outcome"] == "clean"


def test_s69_a_provider_of_another_host_is_kept(world):
    """An old compute node row in nova now belongs to another host. The agent keeps the row and its provider."""
    old = world.node(20, f"old-{world.agent.name}")
    world.add(old)
    world.orphan_provider(old)
    world.once()
    world.change(old.uuid, host="cmp-other")
    audit = world.once()
    assert codes(audit) == set()
    assert (world.row(old.uuid)["deleted"], world.exists(old.uuid)) == (0, True)


def test_an_orphaned_provider_is_deleted_after_a_crash(world):
    """The agent crashed after it had deleted an old compute node in nova.

    Two more audits delete the node's provider.
    """
    old = world.node(20, f"old-{world.agent.name}")
    world.add(old)
    world.orphan_provider(old)
    world.once()
    world.change(old.uuid, deleted=20)  # the last write of the killed audit
    assert codes(world.once()) == {"provider-orphaned"}
    world.once()
    assert not world.exists(old.uuid)
    assert world.once()["outcome"] == "clean"


def test_an_empty_provider_with_another_hosts_uuid_is_kept(world):
    """The agent keeps an empty provider if its uuid is the uuid of another host's compute node."""
    old = world.node(20, f"old-{world.agent.name}")
    world.add(old)
    world.orphan_provider(old, {"VCPU": 2})
    world.once()
    world.once()
    assert world.row(old.uuid)["deleted"] == 20
    world.change(old.uuid, host="cmp-other", deleted=0)
    for consumer in world.rest.done("GET", f"/resource_providers/{old.uuid}/allocations")["allocations"]:
        world.rest.release(consumer)
    for _ in range(3):
        audit = world.once()
    assert world.exists(old.uuid)
    assert (audit["outcome"], codes(audit)) == ("clean", set())


def test_s61_a_node_row_of_another_host_stops_all_writes(world):
    """The compute node row with the uuid of the agent's provider belongs to another host; the agent writes nothing."""
    world.add(world.node(9, world.agent.name, world.root, host="cmp-other"))
    audit = world.once()
    assert (audit["plan"]["writes"], codes(audit)) == ([], {"identity-changed"})
    assert world.row()["host"] == "cmp-other"


def test_an_audit_reports_two_compute_nodes_of_one_name(world):
    """Two hosts have a compute node of the same name in nova. The agent reports a finding and writes nothing."""
    theirs = world.node(9, world.agent.name, host="cmp-other")
    world.add(theirs)
    world.rest.make_provider(world.agent.name, uuid=theirs.uuid)
    audit = world.once()
    assert codes(audit) == {"hostname-duplicated", "provider-name-conflict"}
    assert audit["plan"]["writes"] == []


def test_adopt_renames_the_compute_node_and_the_provider(world):
    """`stocktake adopt` gives the compute node and the provider the host's name.

    `stocktake undo` restores the old names.
    """
    old = f"old-{world.agent.name}"
    world.once()
    world.rest.done("PUT", f"/resource_providers/{world.root}", {"name": old})
    world.change(world.root, hypervisor_hostname=old)
    assert writes(world.once()) == []
    plan = world.told("adopt", "-f", "json")
    assert plan.code == 3, plan.stderr
    done = world.told("adopt", "--plan", plan.document["digest"], "--yes", "-f", "json")
    assert (done.code, [r["result"] for r in done.document["results"]]) == (4, ["done", "done"])
    assert world.row()["hypervisor_hostname"] == world.agent.name
    assert world.once()["outcome"] == "clean"

    for result in reversed(done.document["results"]):
        assert world.told("undo", result["entry_id"]).code == 0
    assert world.row()["hypervisor_hostname"] == old
    assert world.rest.done("GET", f"/resource_providers/{world.root}")["name"] == old
