"""NovaSql with a MariaDB that is down, frozen, killed, locked or absent: a timely error without secrets; recovery."""

import contextlib
import datetime
import socket
import threading
import time
from dataclasses import replace

import pytest
import sqlalchemy
from sqlalchemy import event

from agent.demo import cell
from agent.errors import SourceUnavailable
from agent.ports import Deadline
from agent.sources.nova.engine import PING_S, statement_limit
from agent.sources.nova.sql import NovaSql
from tests.rigs.cell_worlds import HOST, world
from tests.rigs.mariadb import PASSWORD, MariaDb, available, free_port

NOBODY = frozenset()
# The time that a loaded machine of two cores needs beyond the deadline; a read that hangs would never end.
GRACE_S = 15.0
# A generous deadline for reads that are answered, if only with a refusal: those tests do not check the deadline.
ENOUGH_S = 20.0


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """A server for this module alone, since the tests damage it; it is started again before each test."""
    if not available():
        pytest.skip("MariaDB is not installed (mariadb-server-core)")
    rig = MariaDb(tmp_path_factory.mktemp("victim"))
    try:
        rig.start()
        url = rig.create_database("cell")
        engine = sqlalchemy.create_engine(url)
        cell.create_tables(engine)
        world().fill(engine)
        engine.dispose()
        yield rig
    finally:
        rig.stop()


@pytest.fixture
def source_of():
    """Return a function that makes the source of a URL; the source's threads end with the test."""
    with contextlib.ExitStack() as stack:
        yield lambda url: stack.enter_context(contextlib.closing(NovaSql(url)))


@pytest.fixture
def source(server, source_of):
    return source_of(server.url("cell"))


def read(source, seconds=20.0):
    return source.read(HOST, NOBODY, Deadline.after(seconds))


def refusal(source, seconds=2.0):
    """Return the error of a failing read; check that it came in time and does not contain the password."""
    begin = time.monotonic()
    with pytest.raises(SourceUnavailable) as caught:
        read(source, seconds)
    took_s = time.monotonic() - begin
    assert took_s < max(seconds, PING_S) + GRACE_S
    assert PASSWORD not in str(caught.value)
    assert "127.0.0.1" in str(caught.value)
    return str(caught.value)


@contextlib.contextmanager
def on_statement(source, word, act):
    """Call ``act`` once, right before the first statement that contains ``word``."""
    todo = [act]
    engine = source._database._engine

    def look(_connection, _cursor, statement, *_rest):
        if word in statement and todo:
            todo.pop()()

    event.listen(engine, "before_cursor_execute", look)
    try:
        yield
        assert not todo, f"no statement with {word} came"
    finally:
        event.remove(engine, "before_cursor_execute", look)


def test_a_killed_database_makes_reads_fail_until_restart(server, source):
    """Nova's database is killed, so the agent's read fails. A read after the database's restart succeeds."""
    good = read(source)
    server.kill()
    try:
        refusal(source)
    finally:
        server.start()

    assert replace(read(source), now=None, pulse_at=None) == replace(good, now=None, pulse_at=None)


def test_a_first_read_fails_while_the_database_is_down(server, source_of):
    """The agent's first read fails while nova's database is down. A read after the database's start succeeds."""
    server.stop()
    source = source_of(server.url("cell"))
    try:
        assert "2003" in refusal(source, ENOUGH_S)
    finally:
        server.start()

    assert read(source).service == world().expected.service


def test_a_database_restart_between_two_reads_causes_no_error(server, source):
    good = read(source)
    server.restart()

    assert replace(read(source), now=None, pulse_at=None) == replace(good, now=None, pulse_at=None)


def test_a_first_read_of_a_frozen_database_ends_with_an_error(server, source_of):
    """If nova's database is frozen, the agent's first read ends with an error after a time limit.

    A read after the freeze succeeds.
    """
    source = source_of(server.url("cell"))
    with server.paused():
        refusal(source)

    assert read(source).service == world().expected.service


def test_a_second_read_of_a_frozen_database_ends_with_an_error(server, source):
    """If nova's database freezes after a first read, the second read ends with an error after a time limit."""
    read(source)
    with server.paused():
        refusal(source)

    assert read(source).service == world().expected.service


def test_a_read_fails_by_its_deadline_if_the_database_freezes(server, source):
    """If nova's database freezes during a read, the read fails by its deadline. A later read succeeds."""
    read(source)
    try:
        with on_statement(source, "FROM migrations", server.pause):
            refusal(source, 3.0)
    finally:
        server.resume()

    assert read(source).service == world().expected.service


def test_a_running_read_fails_if_the_database_is_killed(server, source):
    """If nova's database is killed, the agent's running read fails and does not hang.

    After the database has started again, a read succeeds.
    """
    read(source)
    try:
        with on_statement(source, "FROM migrations", server.kill):
            refusal(source)
    finally:
        server.start()

    assert read(source).service == world().expected.service


def test_a_read_is_repeated_after_its_connection_was_killed(server, source):
    """The database server kills the agent's connection during a read. The agent connects again and returns the data."""
    good = read(source)

    def kill_connections():
        for (number,) in server.execute("SELECT id FROM information_schema.processlist WHERE db = 'cell'"):
            server.execute(f"KILL {number}")

    with on_statement(source, "FROM migrations", kill_connections):
        again = read(source)

    assert replace(again, now=None, pulse_at=None) == replace(good, now=None, pulse_at=None)


def test_a_locked_table_makes_reads_fail_until_the_unlock(server, source):
    """Another client locks a table of nova's database, so the agent's read fails. A read after the unlock succeeds."""
    read(source)
    engine = sqlalchemy.create_engine(server.url("cell"))
    with engine.connect() as locker:
        locker.exec_driver_sql("LOCK TABLES migrations WRITE")
        refusal(source, 0.5)
        locker.exec_driver_sql("UNLOCK TABLES")
    engine.dispose()

    assert read(source).service == world().expected.service


def test_max_statement_time_does_not_exceed_the_deadline(source):
    """A read of nova's database in MariaDB must end within 30 s.

    The agent sets MariaDB's max_statement_time for this read to at most 30 s.
    """
    read(source)
    with source._database.snapshot(Deadline.after(30)) as connection:
        limit_s = connection.exec_driver_sql("SELECT @@SESSION.max_statement_time").scalar()

    assert 0 < float(limit_s) <= 30


def test_a_read_is_consistent_on_a_read_committed_server(server, source_of):
    """Even if the default isolation is READ COMMITTED, the agent's read sees no row that is added meanwhile."""
    server.execute("SET GLOBAL TRANSACTION ISOLATION LEVEL READ COMMITTED")
    source = source_of(server.url("cell"))
    count = "SELECT COUNT(*) FROM instances"
    try:
        with source._database.snapshot(Deadline.after(20)) as connection:
            before = connection.exec_driver_sql(count).scalar()
            server.execute("INSERT INTO cell.instances (id, uuid, deleted) VALUES (5000, 'another', 5000)")
            assert connection.exec_driver_sql(count).scalar() == before
    finally:
        server.execute("DELETE FROM cell.instances WHERE id = 5000")
        server.execute("SET GLOBAL TRANSACTION ISOLATION LEVEL REPEATABLE READ")


def test_a_low_sql_select_limit_cuts_off_no_rows(server, source_of):
    """The MariaDB server has sql_select_limit = 1, and the agent still reads every row of nova."""
    before = read(source_of(server.url("cell")), ENOUGH_S)
    server.execute("SET GLOBAL sql_select_limit = 1")
    try:
        cut = read(source_of(server.url("cell")), ENOUGH_S)
    finally:
        server.execute("SET GLOBAL sql_select_limit = DEFAULT")
    assert len(before.instances) > 1
    assert (cut.instances, cut.migrations) == (before.instances, before.migrations)


def test_the_heartbeat_of_a_deleted_service_is_ignored(server, source_of):
    """The agent ignores the heartbeat of a deleted nova service, even if this heartbeat is the latest one."""
    moment = datetime.datetime(2026, 11, 21, 10, 0, 0)  # noqa: DTZ001 - nova's columns have no zone
    engine = sqlalchemy.create_engine(server.create_database("beating"))
    cell.create_tables(engine)
    with engine.begin() as connection:
        cell.add_heartbeat(connection)
        connection.exec_driver_sql(f"UPDATE services SET last_seen_up = '{moment}' WHERE deleted = 0")
        connection.exec_driver_sql(
            "INSERT INTO services (host, `binary`, topic, report_count, deleted, last_seen_up)"
            " VALUES ('gone', 'nova-scheduler', 'scheduler', 1, 77, UTC_TIMESTAMP())"
        )
    engine.dispose()
    source = source_of(server.url("beating"))
    pulse = source.pulse(HOST, Deadline.after(ENOUGH_S))
    assert (pulse.heartbeat, read(source, ENOUGH_S).heartbeat) == (moment, moment)
    assert pulse.now is not None
    assert abs(pulse.now - datetime.datetime.now(datetime.UTC).replace(tzinfo=None)) < datetime.timedelta(seconds=30)


def test_the_error_about_a_wrong_password_omits_the_password(server, source_of):
    """If nova's database refuses the agent's password, the agent's error does not contain the password."""
    source = source_of(server.url("cell", password="n0t-this"))
    message = refusal(source, ENOUGH_S)

    assert "1045" in message
    assert "n0t-this" not in message


def test_the_error_shows_the_name_of_a_missing_database(server, source_of):
    assert "no_such_cell" in refusal(source_of(server.url("no_such_cell")), ENOUGH_S)


def test_the_error_shows_an_unknown_database_host(source_of):
    """If the host name in the database URL is unknown, the error shows the host name, but no password."""
    source = source_of("mysql+pymysql://nova:s3cret@no-such-host.invalid/nova")
    with pytest.raises(SourceUnavailable, match=r"no-such-host\.invalid") as caught:
        read(source, 5.0)

    assert "s3cret" not in str(caught.value)


def test_a_refused_database_connection_makes_the_read_fail(source_of):
    """Nothing listens on the port in the agent's database URL, and the error has MariaDB's error number 2003."""
    assert "2003" in refusal(source_of(f"mysql+pymysql://nova:{PASSWORD}@127.0.0.1:{free_port()}/nova"), ENOUGH_S)


def test_the_error_shows_an_unknown_option_of_the_database_url(server, source_of):
    source = source_of(f"{server.url('cell')}?no_such_option=1")

    assert "no_such_option" in refusal(source, ENOUGH_S)


@pytest.mark.parametrize(
    "greeting",
    [
        b"SSH-2.0-OpenSSH_9.2\r\n",
        b"HTTP/1.1 400 Bad Request\r\n\r\n",
        b"\x00\x00\x00\x00",
        b"\x01\x00\x00\x00\x0a",
        b"\x05\x00\x00\x00\x0a5.5\x00",
        b"",
        bytes(range(256)) * 64,
    ],
)
def test_a_database_port_of_another_service_makes_the_read_fail(greeting, source_of):
    """If the database URL leads to another service, for example SSH or HTTP, the agent's read fails."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]

        def answer():
            with contextlib.suppress(OSError):
                while True:
                    peer, _address = listener.accept()
                    with peer, contextlib.suppress(OSError):
                        peer.sendall(greeting)
                        peer.shutdown(socket.SHUT_WR)
                        peer.recv(1000)

        thread = threading.Thread(target=answer, daemon=True)
        thread.start()
        refusal(source_of(f"mysql+pymysql://nova:{PASSWORD}@127.0.0.1:{port}/nova"), 1.0)
        listener.shutdown(socket.SHUT_RDWR)
    thread.join(60)
    assert not thread.is_alive()


def test_reads_need_only_the_select_privilege(server, source_of):
    """The agent can read nova's database as a MariaDB user that may only SELECT."""
    source = source_of(server.create_reader("onlyreads", "cell"))
    state = source.read(HOST, world().consumers, Deadline.after(20))

    assert replace(state, now=None, pulse_at=None) == world().expected


def test_the_statement_limit_has_the_unit_of_the_server():
    """The agent limits an SQL statement in seconds on MariaDB, and in milliseconds on MySQL."""
    # MariaDB: seconds with a fraction; MySQL: whole milliseconds (their manuals, server system variables).
    every_row = "sql_select_limit = 18446744073709551615"
    assert statement_limit(1.25, is_mariadb=True) == f"SET SESSION max_statement_time = 1.250, {every_row}"
    assert statement_limit(1.25, is_mariadb=False) == f"SET SESSION max_execution_time = 1250, {every_row}"
