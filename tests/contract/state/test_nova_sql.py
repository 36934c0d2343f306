"""NovaSql against real databases: it reads the same state from the same rows, with few statements and no write."""

import contextlib
import datetime
import json
import uuid as uuid_module
from dataclasses import replace

import pytest
import sqlalchemy
from sqlalchemy import event

from agent.demo import cell
from agent.errors import ConfigError, SourceInconsistent, SourceUnavailable
from agent.ports import Deadline
from agent.sources.nova.sql import NovaSql
from tests.rigs.cell_worlds import HOST, LARGE, SMALL, T0, instance, migration, uuid, world

NOBODY = frozenset()


@pytest.fixture
def filled(cell_url):
    engine = sqlalchemy.create_engine(cell_url)
    world().fill(engine)
    yield engine
    engine.dispose()


@pytest.fixture
def source(cell_url):
    source = NovaSql(cell_url)
    yield source
    source.close()


def read(source, consumers=NOBODY):
    return source.read(HOST, consumers, Deadline.after(20))


def fill_and_read(url):
    engine = sqlalchemy.create_engine(url)
    world().fill(engine)
    engine.dispose()
    source = NovaSql(url)
    try:
        return read(source, world().consumers)
    finally:
        source.close()


def test_rows_in_the_database_are_read_back_unchanged(filled, source):
    """The test writes rows of nova into SQLite or MariaDB, and the agent reads the same values."""
    state = read(source, world().consumers)

    assert replace(state, now=None, pulse_at=None) == world().expected


def test_rows_in_a_database_made_by_nova_are_read_unchanged(nova_cell_url):
    """Nova's own migrations create the tables, the test writes rows, and the agent reads the same values."""
    assert replace(fill_and_read(nova_cell_url), now=None, pulse_at=None) == world().expected


def test_the_time_of_a_read_is_the_database_time_in_utc(filled, source):
    """The agent takes the time of a read from the clock of nova's database, in UTC."""
    before = datetime.datetime.now(datetime.UTC).replace(tzinfo=None, microsecond=0)
    now = read(source).now
    after = datetime.datetime.now(datetime.UTC).replace(tzinfo=None)

    assert before <= now <= after


def test_unchanged_instances_come_from_the_cache(filled, source):
    """One instance changed in nova.

    The agent's next read shows the change and takes all other instances from the cache.
    """
    first, second = read(source), read(source)
    with filled.begin() as connection:
        cell.set_columns(connection, "services", {"host": HOST}, last_seen_up=T0 + datetime.timedelta(days=9))
    third = read(source)
    with filled.begin() as connection:
        cell.set_columns(connection, "instances", {"uuid": uuid(1)}, task_state="deleting")
    changed = read(source)

    assert second.instances is first.instances
    assert third.instances is first.instances
    assert third.service.last_seen_up == T0 + datetime.timedelta(days=9)
    assert changed.instances == tuple(
        replace(each, task_state="deleting") if each.uuid == uuid(1) else each for each in first.instances
    )


def test_the_agent_reads_only_instances_related_to_its_host(filled, source):
    """The agent reads the instances that run on its host, move to or from it, or were evacuated from it."""
    state = read(source)

    # 5, 6 and 7 come through migrations and evacuations of this host.
    assert [each.uuid for each in state.instances] == [uuid(number) for number in (1, 2, 3, 4, 5, 6, 7)]
    assert [each.id for each in state.migrations] == [1, 2, 3, 4]


def test_s31_a_migration_with_a_null_status_is_ignored(filled, source):
    with filled.begin() as connection:
        cell.set_columns(connection, "migrations", {"id": 1}, status=None)
    state = read(source)

    assert [each.id for each in state.migrations] == [2, 3, 4]
    assert state.unreadable == ()


def test_a_migration_marked_as_deleted_is_ignored(filled, source):
    with filled.begin() as connection:
        cell.set_columns(connection, "migrations", {"id": 1}, deleted=1)

    assert [each.id for each in read(source).migrations] == [2, 3, 4]


def test_only_the_newest_100_finished_evacuations_are_read(filled, source):
    with filled.begin() as connection:
        for number in range(1000, 1120):
            newer = T0 + datetime.timedelta(hours=number)
            # A row that was never updated is ordered by created_at.
            row = migration(number, uuid(7), kind="evacuation", status="done", created_at=newer, updated_at=None)
            cell.add_migration(connection, row)

    assert [each.id for each in read(source).finished_evacuations] == list(range(1020, 1120))


def test_an_instance_deleted_by_nova_is_read_as_deleted(filled, source):
    with filled.begin() as connection:
        cell.delete_instance(connection, uuid(2), T0)
    state = read(source, frozenset({uuid(2)}))
    [deleted] = [each for each in state.instances if each.uuid == uuid(2)]

    assert deleted.deleted
    assert deleted.deleted_at == T0
    assert deleted.flavor == SMALL
    assert 1 not in [each.id for each in state.migrations]


@pytest.mark.parametrize(
    ("column", "text"),
    [
        ("flavor", None),
        ("flavor", ""),
        ("flavor", "{cut off"),
        ("flavor", json.dumps({"cur": None, "old": None, "new": None})),
        ("migration_context", "[]"),
    ],
)
def test_broken_json_affects_only_its_own_instance(filled, source, column, text):
    """One instance has broken or missing JSON in nova's database.

    The agent reports it as unreadable and reads all others.
    """
    with filled.begin() as connection:
        cell.set_columns(connection, "instance_extra", {"instance_uuid": uuid(1)}, **{column: text})
    state = read(source, world().consumers)
    broken = state.instances[0]

    assert (broken.uuid, broken.flavor) == (uuid(1), None)
    assert all(part in broken.problem for part in ("instance_extra", uuid(1), column))
    assert state.unreadable == (broken.problem,)
    assert state.instances[1:] == world().expected.instances[1:]


def test_a_missing_instance_extra_row_makes_the_flavor_unknown(filled, source):
    """If an instance has no row in nova's table instance_extra, the agent does not know the flavor."""
    with filled.begin() as connection:
        cell.remove_rows(connection, "instance_extra", {"instance_uuid": uuid(1)})
    state = read(source)

    assert state.instances[0].flavor is None
    assert state.unreadable == (state.instances[0].problem,)


@pytest.mark.parametrize(("image_ref", "volume"), [("", True), (None, True), ("an-image", False)])
def test_an_instance_without_an_image_boots_from_a_volume(filled, source, image_ref, volume):
    """Without a block device row in nova, an instance without an image counts as booted from a volume."""
    with filled.begin() as connection:
        cell.remove_rows(connection, "block_device_mapping", {"instance_uuid": uuid(1)})
        cell.set_columns(connection, "instances", {"uuid": uuid(1)}, image_ref=image_ref)

    assert read(source).instances[0].boots_from_volume is volume


def statements_of(source, consumers):
    """Return the SQL statements of one warm read."""
    read(source, consumers)
    seen = []
    engine = source._database._engine

    def note(_connection, _cursor, statement, *_rest):
        seen.append(statement)

    event.listen(engine, "before_cursor_execute", note)
    read(source, consumers)
    event.remove(engine, "before_cursor_execute", note)
    return seen


def add_instances(engine, numbers):
    with engine.begin() as connection:
        for number in numbers:
            cell.add_instance(connection, instance(number))
    return frozenset(uuid(number) for number in numbers)


def test_more_instances_need_no_more_sql_statements(filled, source):
    """The agent reads 700 more instances with the same number of SQL statements."""
    few = statements_of(source, frozenset({uuid(1)}))
    consumers = add_instances(filled, range(10_000, 10_700))
    many = statements_of(source, consumers)

    assert len(many) == len(few)
    assert sum(statement.lstrip().upper().startswith("SELECT") for statement in many) <= 11


def test_one_sql_query_looks_up_at_most_500_consumers(filled, source):
    """The agent looks up 1001 consumers of Placement in three parts."""
    one = statements_of(source, frozenset({str(uuid_module.UUID(int=1))}))
    many = statements_of(source, frozenset(str(uuid_module.UUID(int=number)) for number in range(1, 1002)))

    assert len(many) - len(one) == 3 * 2  # migrations, instances, boot disks: three lists instead of one


def test_the_error_shows_a_missing_column(filled, source):
    """Nova's database lacks a needed column, and the agent's error contains the column's name."""
    with filled.begin() as connection:
        connection.exec_driver_sql("ALTER TABLE instance_extra DROP COLUMN migration_context")

    with pytest.raises(SourceInconsistent, match=r"instance_extra\.migration_context"):
        read(source)


def test_the_read_error_contains_the_name_of_a_dropped_column(filled, source):
    """A column of nova's database is dropped between two reads. The second read fails with the column's name."""
    read(source)
    with filled.begin() as connection:
        connection.exec_driver_sql("ALTER TABLE block_device_mapping DROP COLUMN destination_type")

    with pytest.raises(SourceInconsistent, match=r"block_device_mapping\.destination_type"):
        read(source)


def test_the_error_shows_a_missing_table(filled, source):
    """Nova's database lacks the table services, and the agent's error contains the table's name."""
    with filled.begin() as connection:
        connection.exec_driver_sql("ALTER TABLE services RENAME TO services_away")

    with pytest.raises(SourceInconsistent, match=r"it has no services$"):
        read(source)
    with filled.begin() as connection:
        connection.exec_driver_sql("ALTER TABLE services_away RENAME TO services")

    assert read(source).service == world().expected.service


def test_the_agent_reads_in_a_read_only_transaction(filled, source):
    """The database rejects a write in the transaction in which the agent reads nova's data."""
    read(source)
    with (
        source._database.snapshot(Deadline.after(20)) as connection,
        pytest.raises(sqlalchemy.exc.DBAPIError, match=r"(?i)read.?only"),
    ):
        connection.exec_driver_sql("UPDATE services SET version = 1")


def write_an_instance(engine):
    with engine.begin() as writer:
        if engine.dialect.name == "sqlite":
            writer.exec_driver_sql("PRAGMA busy_timeout = 50")
        cell.add_instance(writer, instance(50))


def test_a_read_sees_a_consistent_snapshot_of_the_database(filled, source):
    """Another client's insert during the agent's read of nova's database does not change what the agent reads."""
    with source._database.snapshot(Deadline.after(20)) as connection:
        count = "SELECT COUNT(*) FROM instances"
        before = connection.exec_driver_sql(count).scalar()
        if filled.dialect.name == "sqlite":
            # SQLite instead locks the writer out until the reader has ended.
            with pytest.raises(sqlalchemy.exc.OperationalError, match="locked"):
                write_an_instance(filled)
        else:
            write_an_instance(filled)

        assert connection.exec_driver_sql(count).scalar() == before


def test_no_transaction_stays_open_after_a_read(filled, source):
    read(source)
    if filled.dialect.name == "sqlite":
        write_an_instance(filled)
    else:
        with filled.connect() as connection:
            assert connection.exec_driver_sql("SELECT COUNT(*) FROM information_schema.innodb_trx").scalar() == 0


def test_a_missing_sqlite_file_is_not_created(tmp_path):
    """The agent's read of a missing SQLite file fails and leaves the folder empty."""
    path = tmp_path / "no" / "cell.db"
    with contextlib.closing(NovaSql(f"sqlite:///{path}")) as source:
        with pytest.raises(SourceUnavailable, match=r"no/cell\.db"):
            read(source)
        path.parent.mkdir()
        with pytest.raises(SourceUnavailable):
            read(source)

    assert list(path.parent.iterdir()) == []


def test_a_sqlite_path_may_have_special_characters(tmp_path):
    """The agent reads nova's data from a SQLite file with a blank, `#` and `%` in its name."""
    url = f"sqlite:///{tmp_path / 'a b#c%3fd.db'}"
    engine = sqlalchemy.create_engine(url)
    cell.create_tables(engine)
    engine.dispose()

    assert fill_and_read(url).service == world().expected.service


def test_garbage_in_a_sqlite_file_makes_the_read_fail(tmp_path):
    """The file for nova's SQLite database contains garbage, and the agent raises SourceUnavailable."""
    path = tmp_path / "cell.db"
    path.write_bytes(b"garbage " * 1000)

    with contextlib.closing(NovaSql(f"sqlite:///{path}")) as source:  # noqa: SIM117 - one raises, the other closes
        with pytest.raises(SourceUnavailable, match="not a database"):
            read(source)


def test_a_locked_sqlite_file_makes_the_read_fail_in_time(tmp_path):
    """Another process locks nova's SQLite file, so the agent's read fails in time. A read after the unlock succeeds."""
    url = f"sqlite:///{tmp_path / 'cell.db'}"
    engine = sqlalchemy.create_engine(url)
    cell.create_tables(engine)
    world().fill(engine)
    with contextlib.closing(NovaSql(url)) as source:
        with engine.connect() as writer:
            writer.exec_driver_sql("BEGIN EXCLUSIVE")
            deadline = Deadline.after(0.3)
            with pytest.raises(SourceUnavailable, match="locked"):
                source.read(HOST, NOBODY, deadline)
            assert deadline.at + 4.0 > Deadline.after(0).at
        engine.dispose()
        assert read(source).service == world().expected.service


@pytest.mark.parametrize(
    ("url", "named"),
    [
        ("postgresql://nova:s3cret@db/nova", "postgresql://nova:.*@db/nova is"),
        ("mysql://nova:s3cret@db/nova", r"mysql\+pymysql"),
        ("mysql+pymysql://nova:s3cret@db", "names no database"),
        ("mysql+pymysql://nova@db?password=s3cret", "names no database"),
        ("sqlite://", "names no file"),
        ("nova:s3cret@db", "not a database URL"),
    ],
)
def test_an_unsupported_database_url_is_a_config_error(url, named):
    """The agent refuses a database URL with an unknown driver or no database, and its error omits the password."""
    with pytest.raises(ConfigError, match=named) as caught:
        NovaSql(url)

    assert "s3cret" not in str(caught.value)


def test_the_extra_specs_of_a_flavor_are_read(filled, source):
    assert read(source).instances[1].new_flavor == LARGE
