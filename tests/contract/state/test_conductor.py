"""ConductorState against the released nova-conductor: from the same rows it reads what NovaSql reads, in few calls."""

import dataclasses
import datetime
import json
from dataclasses import replace

import pytest

from agent.conductor.manifest import MANIFEST
from agent.conductor.reader import ConductorState
from agent.demo import cell
from agent.errors import SourceInconsistent
from agent.model.nova import StateKind
from agent.ports import Deadline
from agent.sources.nova.sql import NovaSql
from tests.rigs.cell_worlds import HOST, LARGE, NODE, SMALL, T0, instance, migration, uuid, world
from tests.rigs.conductor_reads import client_of
from tests.rigs.releases import chosen

pytestmark = pytest.mark.xdist_group("conductor")

NOBODY = frozenset()
QUIET_CALLS = 7


@pytest.fixture
def filled(conductor_cell):
    conductor_cell.empty()
    world().fill(conductor_cell.engine)
    # When nova reads a row with a ratio that is NULL, it writes the default ratio into the row.
    ratios = {"cpu_allocation_ratio": 16.0, "ram_allocation_ratio": 1.5, "disk_allocation_ratio": 1.0}
    with conductor_cell.engine.begin() as connection:
        cell.set_columns(connection, "compute_nodes", {}, **ratios)
    return conductor_cell


@pytest.fixture
def client(conductor_cell):
    with client_of(conductor_cell.bus()) as client:
        yield client


@pytest.fixture
def source(client):
    return ConductorState(client)


def read(source, consumers=NOBODY, node_uuid=None):
    return source.read(HOST, consumers, Deadline.after(30), node_uuid)


def by_sql(cell_with_rows, consumers=NOBODY, node_uuid=None):
    sql = NovaSql(cell_with_rows.url)
    try:
        return read(sql, consumers, node_uuid)
    finally:
        sql.close()


def same(state, other):
    """Return whether two sources read the same state; a failing assertion names the part in which they differ."""
    told = ("nodes", "service", "instances", "migrations", "finished_evacuations", "pci_devices", "unreadable")
    for name in told:
        assert getattr(state, name) == getattr(other, name), name
    return state.host == other.host


def test_conductor_and_sql_return_equal_data(filled, source):
    """The agent reads nova's data either through nova-conductor or from the database; the two results are equal."""
    state = read(source, world().consumers)

    assert state.kind is StateKind.CONDUCTOR
    assert state.conductor_versions == (chosen().service_version,)
    assert same(state, by_sql(filled, world().consumers))
    assert same(state, world().expected)


@pytest.mark.parametrize("number", [1, 2, 4, 99], ids=["ours", "of another host", "deleted", "nobody's"])
def test_conductor_and_sql_return_equal_data_for_any_node_uuid(filled, source, number):
    """nova-conductor and the database return equal data for any node uuid, even of a deleted or unknown node."""
    state = read(source, node_uuid=uuid(100 + number))

    assert same(state, by_sql(filled, node_uuid=uuid(100 + number)))
    assert (uuid(100 + number) in {node.uuid for node in state.nodes}) == (number != 99)
    assert [record.uuid for record in state.records] == [uuid(101), uuid(103)]


def test_conductor_and_sql_agree_if_no_consumer_is_looked_up(filled, source):
    """If the agent looks up no consumer of Placement, nova-conductor and nova's database agree on all data."""
    assert same(read(source), by_sql(filled))


def test_a_cell_that_lacks_this_host_returns_no_data(conductor_cell, source):
    """Nova's database has no row of this host. The agent's read then returns no service, node or instance."""
    conductor_cell.empty()
    state = read(source, frozenset({uuid(1)}), uuid(101))

    assert (state.service, state.nodes, state.records, state.instances) == (None, (), (), ())


def test_conductor_and_sql_return_the_same_compute_hosts(filled, source):
    """Through nova-conductor and SQL, the agent reads the same nova-compute hosts, without deleted services."""
    service = dataclasses.replace(world().expected.service, id=4711, disabled=True)
    gone = dataclasses.replace(service, id=4712)
    with filled.engine.begin() as connection:
        cell.add_service(connection, "another-host", service)
        cell.add_service(connection, "deleted-host", gone)
        cell.set_columns(connection, "services", {"id": 4712}, deleted=4712)
    sql = NovaSql(filled.url)
    try:
        hosts = sql.compute_hosts(Deadline.after(30))
    finally:
        sql.close()
    assert source.compute_hosts(Deadline.after(30)) == hosts
    found = {each.host: each.disabled for each in hosts}
    assert (found["another-host"], found[HOST]) == (True, world().expected.service.disabled)
    assert "deleted-host" not in found


def test_conductor_and_sql_return_the_same_migrations(filled, source):
    """The agent reads the same migrations through nova-conductor and from nova's SQL database."""
    moves = (*world().expected.migrations, *world().other_migrations)
    asked = frozenset({moves[0].instance_uuid, moves[-1].instance_uuid, uuid(4711)})
    sql = NovaSql(filled.url)
    try:
        found = sql.migrations_of(HOST, asked, Deadline.after(30))
    finally:
        sql.close()
    assert source.migrations_of(HOST, asked, Deadline.after(30)).of == found.of
    wanted = {each: {m.id for m in moves if m.instance_uuid == each and not m.deleted} for each in asked}
    assert {each: {m.id for m in some or ()} for each, some in found.of.items()} == wanted
    assert any(wanted.values())
    assert found.pulse.heartbeat is not None


def test_a_read_is_dated_by_the_agents_clock(filled, source):
    """A read through nova-conductor contains the time of the read by the agent's own clock."""
    before = datetime.datetime.now(datetime.UTC).replace(tzinfo=None)
    now = read(source).now

    assert before <= now <= datetime.datetime.now(datetime.UTC).replace(tzinfo=None)


def test_heal_and_the_audit_read_the_same_heartbeat(filled, source):
    """`stocktake heal` and an audit read the same last heartbeat of nova-compute through nova-conductor."""
    ago = datetime.datetime.now(datetime.UTC).replace(tzinfo=None, microsecond=0) - datetime.timedelta(seconds=20)
    with filled.engine.begin() as connection:
        cell.set_columns(connection, "services", {"host": HOST}, last_seen_up=ago)

    assert source.pulse(HOST, Deadline.after(30)).heartbeat == read(source).heartbeat == ago


def test_unchanged_instances_come_from_the_cache(filled, source):
    """One instance changed in nova.

    The agent's next read shows the change and takes all other instances from the cache.
    """
    first, second = read(source), read(source)
    with filled.engine.begin() as connection:
        cell.set_columns(connection, "instances", {"uuid": uuid(1)}, task_state="deleting")
    changed = read(source)

    assert second.instances is first.instances
    assert changed.instances == tuple(
        replace(each, task_state="deleting") if each.uuid == uuid(1) else each for each in first.instances
    )


def test_a_repeated_read_makes_seven_rpc_calls(filled, client, source):
    """The agent needs seven calls to nova-conductor for its second read of a host with 44 instances."""
    with filled.engine.begin() as connection:
        cell.set_columns(connection, "compute_nodes", {"id": 3}, deleted=3)
        cell.set_columns(connection, "instances", {"node": "old-name.example.org"}, node=NODE)
        cell.remove_rows(connection, "migrations", {"source_compute": HOST})
        cell.remove_rows(connection, "migrations", {"dest_compute": HOST})
        for number in range(10_000, 10_040):
            cell.add_instance(connection, instance(number))
    consumers = frozenset({uuid(1), uuid(2), uuid(10_000)})
    read(source, consumers)
    client.asked.clear()
    state = read(source, consumers)

    assert len(state.instances) == 44
    assert len(client.asked) == QUIET_CALLS, client.asked


def test_the_boot_disk_of_an_instance_is_requested_only_once(filled, client, source):
    """The agent asks nova-conductor once whether a new instance boots from a volume, and remembers the answer."""
    read(source)
    with filled.engine.begin() as connection:
        cell.add_instance(connection, instance(50, boots_from_volume=True))
    client.asked.clear()
    states = read(source), read(source)
    asked = [name for name, _ in client.asked if name == "BlockDeviceMappingList"]

    assert len(asked) == 1
    assert [each.boots_from_volume for state in states for each in state.instances if each.uuid == uuid(50)] == [
        True
    ] * 2
    assert same(states[1], by_sql(filled))


def test_one_conductor_call_looks_up_at_most_500_consumers(filled, client, source):
    """The agent looks up 1001 consumers of Placement in three parts."""
    read(source)

    def calls(count):
        client.asked.clear()
        read(source, frozenset(uuid(500_000 + number) for number in range(count)))
        return len(client.asked)

    # Migrations by uuid, instances by uuid, hidden instances by uuid: three lists instead of one.
    assert calls(1001) - calls(1) == 3 * 2


def test_conductor_returns_a_deleted_instance_of_another_host(filled, source):
    """nova-conductor returns a deleted instance of another host if the agent asks for the instance's uuid."""
    elsewhere = instance(60, host="cmp2", node="cmp2.example.org", hidden=True, deleted=True, deleted_at=T0)
    with filled.engine.begin() as connection:
        cell.add_instance(connection, elsewhere)
    consumers = frozenset({uuid(60), uuid(9)})

    assert elsewhere in read(source, consumers).instances
    assert same(read(source, consumers), by_sql(filled, consumers))


def test_an_instance_deleted_by_nova_is_read_as_deleted(filled, source):
    with filled.engine.begin() as connection:
        cell.delete_instance(connection, uuid(2), T0)
    state = read(source, frozenset({uuid(2)}))
    [deleted] = [each for each in state.instances if each.uuid == uuid(2)]

    assert (deleted.deleted, deleted.deleted_at, deleted.flavor) == (True, T0, SMALL)
    assert same(state, by_sql(filled, frozenset({uuid(2)})))


def test_only_the_newest_100_finished_evacuations_are_read(filled, source):
    with filled.engine.begin() as connection:
        for number in range(1000, 1120):
            newer = T0 + datetime.timedelta(hours=number)
            cell.add_migration(
                connection, migration(number, uuid(7), kind="evacuation", status="done", updated_at=newer)
            )

    assert [each.id for each in read(source).finished_evacuations] == list(range(1020, 1120))


@pytest.mark.parametrize(
    ("column", "text"),
    [
        ("flavor", "{cut off"),
        ("flavor", json.dumps({"cur": None, "old": None, "new": None})),
        ("flavor", json.dumps({"cur": {"nova_object.name": "Flavor", "nova_object.version": "2.0"}})),
        ("migration_context", "[]"),
        ("numa_topology", "{cut off"),
    ],
)
def test_broken_json_affects_only_its_own_instance(filled, source, column, text):
    """One instance has broken JSON in nova's database. The agent reports it as unreadable and reads all others."""
    whole = read(source, world().consumers)
    with filled.engine.begin() as connection:
        cell.set_columns(connection, "instance_extra", {"instance_uuid": uuid(1)}, **{column: text})
    state = read(source, world().consumers)
    broken = state.instances[0]

    assert (broken.uuid, broken.flavor) == (uuid(1), None)
    assert "nova-conductor" in broken.problem
    assert state.unreadable == (broken.problem,)
    assert state.instances[1:] == whole.instances[1:]


def test_an_instance_without_a_flavor_is_listed_as_unreadable(filled, source):
    with filled.engine.begin() as connection:
        cell.remove_rows(connection, "instance_extra", {"instance_uuid": uuid(1)})
        cell.set_columns(connection, "instance_extra", {"instance_uuid": uuid(2)}, flavor=None)
    state = read(source)

    assert [each.flavor for each in state.instances[:2]] == [None, None]
    assert len(state.unreadable) == 2


@pytest.mark.parametrize(("image_ref", "volume"), [("", True), (None, True), ("an-image", False)])
def test_an_instance_without_an_image_counts_as_volume_backed(filled, source, image_ref, volume):
    """If nova has no block device row of an instance, the agent decides by the image: no image means a volume."""
    with filled.engine.begin() as connection:
        cell.remove_rows(connection, "block_device_mapping", {"instance_uuid": uuid(1)})
        cell.set_columns(connection, "instances", {"uuid": uuid(1)}, image_ref=image_ref)

    assert read(source).instances[0].boots_from_volume is volume


def test_conductor_and_sql_give_equal_data_for_a_deleted_node(filled, source):
    """After nova deleted a compute node, nova-conductor and the SQL database give the agent equal data."""
    with filled.engine.begin() as connection:
        cell.set_columns(connection, "compute_nodes", {"id": 1}, deleted=1)

    assert same(read(source), by_sql(filled))


# Versions: only conductor knows which versions it supports, so each of these tests asks the released conductor.


def test_the_error_about_an_old_conductor_shows_both_versions(filled):
    """nova-conductor is older than the agent needs. The error shows the needed and the offered object version."""
    newer = {**MANIFEST, "InstanceList": "2.99"}
    with client_of(filled.bus(), newer) as client, pytest.raises(SourceInconsistent) as raised:
        read(ConductorState(client))

    message = str(raised.value)
    assert all(part in message for part in ("InstanceList 2.99", MANIFEST["InstanceList"], "upgrade"))


def test_the_agent_can_read_older_object_versions(filled):
    """The agent asks nova-conductor for older versions of nova's objects, and reads all data that they contain."""
    older = {**MANIFEST, "InstanceList": "2.5", "Instance": "2.6", "MigrationList": "1.4", "Migration": "1.5"}
    with client_of(filled.bus(), older) as client:
        state = read(ConductorState(client), world().consumers)

    # That version lacks compute_id, which came with 2.8.
    expected = by_sql(filled, world().consumers)
    without = tuple(replace(each, compute_id=None) for each in expected.instances)
    assert same(state, replace(expected, instances=without))


def test_an_instance_object_in_version_2_5_is_unreadable(filled):
    """Nova's Instance object lacks the field `hidden` in version 2.5, and the agent needs this field."""
    with client_of(filled.bus(), {**MANIFEST, "InstanceList": "2.5", "Instance": "2.5"}) as client:
        state = read(ConductorState(client), world().consumers)
    assert state.instances
    assert all("the Instance lacks hidden" in instance.problem for instance in state.instances)


def test_the_agent_accepts_objects_in_a_newer_minor_version(filled):
    """The agent asks nova-conductor for an older minor version, and reads the newer objects that it gets."""
    with client_of(filled.bus(), {**MANIFEST, "Instance": "2.1", "Flavor": "1.0"}) as client:
        answer = client.class_action("InstanceList", "get_by_host", [HOST], {}, Deadline.after(30))
        state = read(ConductorState(client), world().consumers)

    assert {each["nova_object.version"] for each in answer["nova_object.data"]["objects"]} == {MANIFEST["Instance"]}
    assert same(state, world().expected)


def test_conductor_converts_instances_to_an_older_version(filled):
    """On the agent's request, nova-conductor converts instance objects to the older object version 2.5."""
    with client_of(filled.bus(), {**MANIFEST, "InstanceList": "2.6", "Instance": "2.5"}) as client:
        newest = client.class_action("InstanceList", "get_by_host", [HOST], {}, Deadline.after(30))
        older = client.backport(newest, Deadline.after(30))

    assert {each["nova_object.version"] for each in older["nova_object.data"]["objects"]} == {"2.5"}


def test_extra_specs_read_through_conductor_are_unchanged(filled, source):
    """A flavor's extra specs reach the agent through nova-conductor as they are in nova's database."""
    state = read(source, world().consumers)

    assert LARGE in {each.new_flavor for each in state.instances}
