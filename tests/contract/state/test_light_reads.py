"""A light read of either source, with the released nova-conductor and MariaDB: the sign changes with the rows."""

import datetime

import pytest

from agent.conductor.reader import ConductorState
from agent.demo import cell
from agent.model.nova import PciRow
from agent.ports import Deadline
from agent.sources.nova.sql import NovaSql
from tests.rigs.cell_worlds import HOST, NODE, T0, instance, migration, uuid, world
from tests.rigs.conductor_reads import client_of

pytestmark = pytest.mark.xdist_group("conductor")

ELSEWHERE = {"host": "cmp2", "node": "cmp2.example.org"}
LATER = T0 + datetime.timedelta(seconds=1)
CONSUMERS = world().consumers


@pytest.fixture
def filled(conductor_cell):
    conductor_cell.empty()
    world().fill(conductor_cell.engine)
    return conductor_cell


@pytest.fixture
def client(conductor_cell):
    with client_of(conductor_cell.bus()) as client:
        yield client


@pytest.fixture
def conductor(client):
    return ConductorState(client)


@pytest.fixture
def sql(conductor_cell):
    source = NovaSql(conductor_cell.url)
    yield source
    source.close()


@pytest.fixture(params=["conductor", "sql"])
def source(request):
    return request.getfixturevalue(request.param)


def full(source):
    return source.read(HOST, CONSUMERS, Deadline.after(30))


def light(source, last):
    return source.light(last, CONSUMERS, Deadline.after(30))


def report_of_compute(connection, age_s):
    connection.exec_driver_sql(
        f"UPDATE services SET last_seen_up = UTC_TIMESTAMP() - INTERVAL {age_s} SECOND WHERE id = 1"
    )


def test_the_digest_of_unchanged_rows_stays_the_same(filled, source):
    """If no row of nova changes, two quick reads of the agent return the same digest."""
    last = full(source)
    first, second = light(source, last), light(source, last)
    again = first.renewed(last)
    now = full(source)

    assert first.sign == second.sign
    assert first.sign.parts
    assert again.service == now.service
    assert again.instances is last.instances
    assert abs(again.now - now.now) < datetime.timedelta(seconds=5)


def archive(connection):
    connection.exec_driver_sql("SET FOREIGN_KEY_CHECKS = 0")
    for table, column in (
        ("block_device_mapping", "instance_uuid"),
        ("instance_extra", "instance_uuid"),
        ("instances", "uuid"),
    ):
        cell.remove_rows(connection, table, {column: uuid(4)})
    connection.exec_driver_sql("SET FOREIGN_KEY_CHECKS = 1")


def swap(connection):
    cell.set_columns(connection, "instances", {"uuid": uuid(2)}, **ELSEWHERE)
    cell.set_columns(connection, "instances", {"uuid": uuid(9)}, host=HOST, node=NODE)


# Changes that both sources must see in the next light read. A test makes one after another.
VISIBLE = {
    "a task began": lambda c: cell.set_columns(
        c, "instances", {"uuid": uuid(1)}, task_state="deleting", updated_at=LATER
    ),
    "an instance built": lambda c: cell.add_instance(c, instance(70, created_at=LATER, updated_at=None)),
    "a first save": lambda c: cell.set_columns(
        c, "instances", {"uuid": uuid(70)}, vm_state="error", updated_at=LATER + datetime.timedelta(seconds=1)
    ),
    "a new migration": lambda c: cell.add_migration(c, migration(50, uuid(1), updated_at=None)),
    "a migration's status": lambda c: cell.set_columns(c, "migrations", {"id": 50}, status="post-migrating"),
    "a migration failed": lambda c: cell.set_columns(c, "migrations", {"id": 50}, status="error"),
    "a migration ended": lambda c: cell.set_columns(c, "migrations", {"id": 50}, status="confirmed"),
    "a moving instance elsewhere": lambda c: cell.set_columns(c, "instances", {"uuid": uuid(6)}, task_state="x"),
    "a moving instance deleted": lambda c: cell.set_columns(c, "instances", {"uuid": uuid(6)}, deleted=6),
    "a migration deleted": lambda c: cell.set_columns(c, "migrations", {"id": 1}, deleted=1),
    "an instance deleted": lambda c: cell.delete_instance(c, uuid(1), LATER),
    "an instance archived": archive,
    "an instance moved away": lambda c: cell.set_columns(c, "instances", {"uuid": uuid(3)}, **ELSEWHERE),
    "an instance arrived": lambda c: cell.set_columns(c, "instances", {"uuid": uuid(7)}, host=HOST, node=NODE),
    "one left and one arrived": swap,
    "the service disabled": lambda c: cell.set_columns(c, "services", {"id": 1}, disabled=True),
    "the service deleted": lambda c: cell.set_columns(c, "services", {"id": 1}, deleted=1),
}
# Changes that only the checksums see; over conductor the next full read sees them.
ONLY_SQL = {
    "a flavor document": lambda c: cell.set_columns(c, "instance_extra", {"instance_uuid": uuid(1)}, flavor="{}"),
    "a boot disk": lambda c: cell.set_columns(
        c, "block_device_mapping", {"instance_uuid": uuid(1)}, destination_type="volume"
    ),
    "a name without a time": lambda c: cell.set_columns(c, "instances", {"uuid": uuid(1)}, display_name="renamed"),
    "a node's memory": lambda c: cell.set_columns(c, "compute_nodes", {"id": 1}, memory_mb=7),
    "a PCI device": lambda c: cell.add_pci_device(
        c,
        PciRow(
            id=777,
            compute_node_id=1,
            address="0000:99:00.0",
            vendor_id="8086",
            product_id="1515",
            kind="type-VF",
            status="available",
        ),
    ),
    "an evacuation completed": lambda c: cell.set_columns(
        c, "migrations", {"migration_type": "evacuation", "source_compute": HOST}, status="completed"
    ),
    "a node deleted": lambda c: cell.set_columns(c, "compute_nodes", {"id": 1}, deleted=1),
    "an evacuated instance": lambda c: cell.set_columns(c, "instances", {"uuid": uuid(7)}, vm_state="stopped"),
}


def unseen(filled, source, changes):
    """Make one change after another; return the names of those that the next light read does not see."""
    missed = []
    for name, change in changes.items():
        last = full(source)
        before = light(source, last).sign
        with filled.engine.begin() as connection:
            change(connection)
        if not light(source, last).sign.changed_since(before):
            missed.append(name)
    return missed


def test_a_quick_read_detects_changes_of_instances(filled, source):
    """The agent's quick read returns a new digest after an instance, a migration or a nova service changed."""
    assert unseen(filled, source, VISIBLE) == []


def test_a_quick_sql_read_does_not_rely_on_updated_at(filled, sql):
    """The agent's quick database read detects changes of nova's rows even if updated_at stays the same."""
    assert unseen(filled, sql, ONLY_SQL) == []


def test_a_quick_conductor_read_makes_four_calls(filled, client, conductor):
    """The agent's quick read of a host with 44 instances makes four calls to nova-conductor."""
    with filled.engine.begin() as connection:
        report_of_compute(connection, 5)
        cell.set_columns(connection, "compute_nodes", {"id": 3}, deleted=3)
        cell.set_columns(connection, "instances", {"node": "old-name.example.org"}, node=NODE)
        cell.remove_rows(connection, "migrations", {"source_compute": HOST})
        cell.remove_rows(connection, "migrations", {"dest_compute": HOST})
        for number in range(10_000, 10_040):
            cell.add_instance(connection, instance(number))
    last = conductor.read(HOST, frozenset(), Deadline.after(30))
    client.asked.clear()
    conductor.light(last, frozenset(), Deadline.after(30))

    assert client.asked == [
        ("Service", "get_by_host_and_binary"),
        ("InstanceList", "get_uuids_by_host"),
        ("InstanceList", "get_by_filters"),
        ("MigrationList", "get_in_progress_and_error"),
    ]


@pytest.mark.parametrize(("age_s", "asks"), [(5, False), (40, True), (-30, True)], ids=["recent", "old", "ahead"])
def test_an_old_heartbeat_causes_a_read_of_conductor_heartbeats(filled, client, conductor, age_s, asks):
    """If nova-compute's heartbeat is old or in the future, a quick read also reads nova-conductor's heartbeats."""
    last = full(conductor)
    with filled.engine.begin() as connection:
        report_of_compute(connection, age_s)
    client.asked.clear()
    found = light(conductor, last)

    assert (("ServiceList", "get_by_binary") in client.asked) is asks
    assert abs(found.pulse.now - found.pulse.heartbeat) < datetime.timedelta(seconds=50)
    assert found.service.last_seen_up is not None


def test_a_digest_of_rows_is_unreliable_just_after_a_save(filled, conductor):
    """A digest of nova's rows is unreliable just after a save: two saves within a second have equal times."""
    last = full(conductor)

    def settled_after(seconds):
        with filled.engine.begin() as connection:
            connection.exec_driver_sql(
                f"UPDATE instances SET updated_at = UTC_TIMESTAMP() - INTERVAL {seconds} SECOND"
                f" WHERE uuid = '{uuid(1)}'"
            )
        return light(conductor, last).sign.is_settled

    assert settled_after(120)
    assert not settled_after(1)
    assert not settled_after(-60)
