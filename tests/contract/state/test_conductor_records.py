"""Compute node records through the released nova-conductor: what the agent writes, leaves alone, and nova refuses."""

import datetime
import json
from dataclasses import fields, replace

import pytest
import sqlalchemy

from agent.conductor.reader import ConductorState
from agent.conductor.records import ConductorRecords
from agent.demo import cell
from agent.errors import RecordRefused
from agent.model.node_record import NodeRecord
from agent.model.plan import CreateComputeNode, DeleteComputeNode, SaveComputeNode
from agent.ports import Deadline
from tests.rigs.cell_worlds import HOST, NODE, uuid, world
from tests.rigs.conductor_reads import client_of

pytestmark = pytest.mark.xdist_group("conductor")


def envelope(name, version, data):
    return {
        "nova_object.name": name,
        "nova_object.namespace": "nova",
        "nova_object.version": version,
        "nova_object.data": data,
    }


POOL = {
    "product_id": "1572",
    "vendor_id": "8086",
    "numa_node": 0,
    "count": 3,
    "tags": {"dev_type": "type-PF", "address": "0000:81:00.0", "remote_managed": "false", "physical_network": None},
}
POOLS = envelope("PciDevicePoolList", "1.1", {"objects": [envelope("PciDevicePool", "1.1", POOL)]})

RECORD = NodeRecord(
    id=None,
    uuid=uuid(170),
    host=HOST,
    hypervisor_hostname=NODE,
    service_id=1,
    vcpus=48,
    memory_mib=131072,
    local_gib=900,
    vcpus_used=16,
    memory_mib_used=8704,
    local_gib_used=81,
    free_ram_mib=122368,
    free_disk_gib=-7332,
    current_workload=2,
    running_vms=4,
    disk_available_least_gib=-43,
    hypervisor_type="QEMU",
    hypervisor_version=9000000,
    host_ip="192.0.2.1",
    cpu_info=json.dumps({"arch": "x86_64", "features": ["avx2"]}),
    numa_topology=json.dumps(envelope("NUMATopology", "1.2", {"cells": []})),
    pci_pools=json.dumps(POOLS),
    supported_instances=(("x86_64", "kvm", "hvm"), ("i686", "qemu", "hvm")),
    stats=(("failed_builds", "0"), ("num_instances", "4"), ("uptime", None)),
    metrics="[]",
    cpu_ratio=4.0,
    memory_ratio=1.5,
    disk_ratio=1.0,
)


@pytest.fixture
def empty(conductor_cell):
    conductor_cell.empty()
    with conductor_cell.engine.begin() as connection:
        cell.add_service(connection, HOST, world().expected.service)
    return conductor_cell


@pytest.fixture
def client(empty):
    with client_of(empty.bus()) as client:
        yield client


@pytest.fixture
def writer(client):
    return ConductorRecords(client)


def apply(writer, write):
    writer.apply(write, Deadline.after(30))


def records(client):
    return ConductorState(client).read(HOST, frozenset(), Deadline.after(30)).records


def rows(empty, **where):
    """Return rows of compute_nodes from the database."""
    table = cell.tables().tables["compute_nodes"]
    query = sqlalchemy.select(table).where(*[table.c[name] == value for name, value in where.items()])
    with empty.engine.connect() as connection:
        return [dict(row) for row in connection.execute(query).mappings()]


def test_a_written_compute_node_record_is_read_back_unchanged(empty, client, writer):
    """The agent creates a compute node record through nova-conductor and reads back the same values."""
    apply(writer, CreateComputeNode(record=RECORD))
    [read] = records(client)

    assert read.id is not None
    # pci_pools is JSON text, and one value has many texts.
    assert read.changes(RECORD) == ()
    assert replace(read, id=None, pci_pools=RECORD.pci_pools) == RECORD


def test_a_created_record_has_the_column_format_of_nova(empty, writer):
    """The agent creates a compute node through nova-conductor. The row in nova's database has nova's own formats."""
    apply(writer, CreateComputeNode(record=RECORD))
    [row] = rows(empty, uuid=RECORD.uuid)

    assert (row["memory_mb"], row["free_disk_gb"], row["disk_available_least"]) == (131072, -7332, -43)
    assert (row["host"], row["hypervisor_hostname"], row["host_ip"]) == (HOST, NODE, "192.0.2.1")
    assert json.loads(row["supported_instances"]) == [["x86_64", "kvm", "hvm"], ["i686", "qemu", "hvm"]]
    assert json.loads(row["stats"]) == {"failed_builds": "0", "num_instances": "4", "uptime": None}
    pools = json.loads(row["pci_stats"])
    assert pools["nova_object.data"]["objects"][0]["nova_object.data"] == POOL
    assert (row["cpu_allocation_ratio"], row["ram_allocation_ratio"], row["deleted"]) == (4.0, 1.5, 0)


def test_an_unset_cpu_ratio_becomes_the_initial_ratio(empty, client, writer):
    """The agent creates a compute node without a CPU ratio, and nova fills in initial_cpu_allocation_ratio."""
    apply(writer, CreateComputeNode(record=replace(RECORD, cpu_ratio=None)))

    # That conductor's nova.conf sets no ratio, so the value is nova's initial_cpu_allocation_ratio.
    assert records(client)[0].cpu_ratio == 4.0


def test_a_save_writes_only_the_columns_that_changed(empty, client, writer):
    """The agent saves a compute node record and keeps the columns that another client changed meanwhile."""
    apply(writer, CreateComputeNode(record=RECORD))
    [stored] = records(client)
    # Another client meanwhile writes columns that the agent does not change.
    with empty.engine.begin() as connection:
        cell.set_columns(connection, "compute_nodes", {"uuid": RECORD.uuid}, running_vms=77, cpu_info="theirs")
    wanted = replace(stored, vcpus_used=20, stats=(("num_instances", "5"),), supported_instances=(), pci_pools=None)
    apply(writer, SaveComputeNode(record=wanted, changed=wanted.changes(stored)))
    [row] = rows(empty, uuid=RECORD.uuid)

    assert wanted.changes(stored) == ("vcpus_used", "pci_pools", "supported_instances", "stats")
    assert (row["vcpus_used"], row["running_vms"], row["cpu_info"]) == (20, 77, "theirs")
    assert json.loads(row["stats"]) == {"num_instances": "5"}
    assert (json.loads(row["supported_instances"]), row["pci_stats"]) == ([], None)
    assert row["updated_at"] is not None


@pytest.mark.parametrize("name", [field.name for field in fields(NodeRecord) if field.name not in {"id", "uuid"}])
def test_each_field_of_a_compute_node_record_can_be_saved(empty, client, writer, name):
    """The agent changes one field and saves the record through nova-conductor. A later read shows the new value."""
    apply(writer, CreateComputeNode(record=RECORD))
    [stored] = records(client)
    others = {
        "host": "cmp9",
        "hypervisor_hostname": "other.example.org",
        "hypervisor_type": "KVM",
        "host_ip": "2001:db8::1",
        "cpu_info": '{"arch": "aarch64"}',
        "numa_topology": None,
        "pci_pools": None,
        "supported_instances": (("aarch64", "kvm", "hvm"),),
        "stats": (("num_instances", "9"),),
        "metrics": None,
        "cpu_ratio": 8.5,
        "memory_ratio": 1.25,
        "disk_ratio": 2.0,
        "service_id": None,
    }
    wanted = replace(stored, **{name: others.get(name, 7)})
    apply(writer, SaveComputeNode(record=wanted, changed=wanted.changes(stored)))
    with empty.engine.begin() as connection:
        cell.set_columns(connection, "compute_nodes", {"uuid": RECORD.uuid}, host=HOST)
    [read] = records(client)

    assert wanted.changes(stored) == (name,)
    assert read.changes(replace(wanted, host=HOST)) == ()


def test_fields_that_nova_cannot_save_cause_no_call(empty, writer):
    """Nova cannot save a new uuid or an empty CPU ratio, so the agent does not call nova-conductor for these."""
    # nova would refuse a save: the row does not exist.
    apply(writer, SaveComputeNode(record=replace(RECORD, id=999, cpu_ratio=None), changed=("uuid", "cpu_ratio")))


def test_s60_nova_conductor_restores_a_deleted_compute_node(empty, client, writer):
    """If the agent creates a compute node with the uuid of a deleted row, nova-conductor restores this row."""
    apply(writer, CreateComputeNode(record=RECORD))
    [first] = records(client)
    apply(writer, DeleteComputeNode(record=first))
    [gone] = rows(empty, uuid=RECORD.uuid)
    apply(writer, CreateComputeNode(record=replace(RECORD, vcpus_used=0)))
    [back] = records(client)

    assert (gone["deleted"], gone["deleted_at"] is not None) == (first.id, True)
    assert (back.id, back.vcpus_used) == (first.id, 0)
    assert [row["deleted"] for row in rows(empty)] == [0]


def test_a_record_that_moved_to_another_host_is_not_deleted(empty, client, writer):
    """A compute node record moved to another host after the agent had read it. The agent does not delete it."""
    apply(writer, CreateComputeNode(record=RECORD))
    [stored] = records(client)
    with empty.engine.begin() as connection:
        cell.set_columns(connection, "compute_nodes", {"uuid": RECORD.uuid}, host="cmp2")

    with pytest.raises(RecordRefused, match="host changed"):
        apply(writer, DeleteComputeNode(record=stored))
    assert [row["deleted"] for row in rows(empty, uuid=RECORD.uuid)] == [0]


def test_a_second_record_with_the_same_host_and_name_is_refused(empty, writer):
    """Nova allows one compute node record for a host and node name; the error shows the refused record's uuid."""
    apply(writer, CreateComputeNode(record=RECORD))

    with pytest.raises(RecordRefused, match="DuplicateRecord") as raised:
        apply(writer, CreateComputeNode(record=replace(RECORD, uuid=uuid(171))))
    assert uuid(171) in str(raised.value)
    assert NODE in str(raised.value)


def test_a_deleted_record_cannot_be_saved_or_deleted_again(empty, client, writer):
    """Nova answers ComputeHostNotFound if the agent saves or deletes a compute node record after its deletion."""
    apply(writer, CreateComputeNode(record=RECORD))
    [stored] = records(client)
    apply(writer, DeleteComputeNode(record=stored))

    with pytest.raises(RecordRefused, match="ComputeHostNotFound"):
        apply(writer, SaveComputeNode(record=replace(stored, vcpus=1), changed=("vcpus",)))
    with pytest.raises(RecordRefused, match="ComputeHostNotFound"):
        apply(writer, DeleteComputeNode(record=stored))


def test_a_record_stays_unchanged_if_nova_rejects_the_save(empty, client, writer):
    """If nova rejects a save with an unknown CPU architecture, the compute node record stays unchanged."""
    apply(writer, CreateComputeNode(record=RECORD))
    [stored] = records(client)
    wanted = replace(stored, supported_instances=(("z80", "kvm", "hvm"),))

    with pytest.raises(RecordRefused, match="z80"):
        apply(writer, SaveComputeNode(record=wanted, changed=("supported_instances",)))
    assert json.loads(rows(empty, uuid=RECORD.uuid)[0]["supported_instances"])[0][0] == "x86_64"


def test_saving_a_compute_node_record_sets_updated_at(empty, client, writer):
    apply(writer, CreateComputeNode(record=RECORD))
    [stored] = records(client)
    before = datetime.datetime.now(datetime.UTC).replace(tzinfo=None, microsecond=0)
    apply(writer, SaveComputeNode(record=replace(stored, vcpus=1), changed=("vcpus",)))

    assert rows(empty, uuid=RECORD.uuid)[0]["updated_at"] >= before
