"""A database that answers one byte a second, in any phase of a connection: each read ends in time."""

import contextlib

import pytest
import sqlalchemy

from agent.demo import cell
from agent.errors import SourceUnavailable
from agent.ports import Deadline
from agent.sources.nova.sql import NovaSql
from tests.rigs.cell_worlds import HOST, world
from tests.rigs.faults import Weather, proxied
from tests.rigs.mariadb import PASSWORD
from tests.rigs.stopwatch import SLACK_S, lap, threads_named
from tests.rigs.wait import until

DEADLINE_S = 3.0
BYTE_EVERY_S = 1.0
READER = "reader-state"
# MariaDB's answers in order: the greeting comes first, then the answer to the password.
PHASES = {"greeting": 0, "log-in": 1, "first statement": 2, "rows": 9}


@pytest.fixture(scope="module")
def filled(mariadb):
    """The shared server, with a filled cell in its database ``deadlines``."""
    url = mariadb.create_database("deadlines")
    engine = sqlalchemy.create_engine(url)
    cell.create_tables(engine)
    world().fill(engine)
    engine.dispose()
    return mariadb


@pytest.fixture
def proxy(filled):
    with proxied(("127.0.0.1", filled.port)) as made:
        yield made


@pytest.fixture
def source(proxy):
    made = NovaSql(f"mysql+pymysql://stocktake:{PASSWORD}@127.0.0.1:{proxy.port}/deadlines")
    yield made
    proxy.close()
    made.close()


def read(source, seconds=DEADLINE_S):
    return source.read(HOST, frozenset(), Deadline.after(seconds))


def good(source):
    with contextlib.suppress(SourceUnavailable):
        return read(source, 20.0).service == world().expected.service


def trickle(proxy, quick_answers=0):
    proxy.weather, proxy.delay_s, proxy.quick_answers = Weather.TRICKLE, BYTE_EVERY_S, quick_answers


def late(source):
    """Run one read, check that it fails in time, and return the measurement."""
    measured = lap(lambda: read(source))
    assert isinstance(measured.error, SourceUnavailable)
    assert measured.took_s <= DEADLINE_S + SLACK_S
    return measured


def recovers(proxy, source):
    """Let the database answer at once again, and wait until the source reads; old connections go on trickling."""
    proxy.weather, proxy.delay_s = Weather.FAIR, 0.0
    until(lambda: good(source), 20, "the source reads again")


@pytest.mark.parametrize("phase", PHASES)
def test_a_read_over_a_slow_new_connection_ends_in_time(proxy, source, phase):
    """While the agent connects to nova's database, the database sends one byte a second. The read fails in time."""
    trickle(proxy, PHASES[phase])
    laps = [late(source) for _ in range(3)]

    print(f"sql {phase}: {max(one.took_s for one in laps):.2f} s")
    assert threads_named(READER) == 1
    assert PASSWORD not in str(laps[0].error)
    recovers(proxy, source)
    assert threads_named(READER) == 1


def test_a_read_over_a_slow_open_connection_fails_in_time(proxy, source):
    """If nova's database sends one byte a second over an open connection, the read fails at the deadline."""
    read(source, 20.0)
    trickle(proxy)
    laps = [late(source) for _ in range(3)]

    print(f"sql open connection: {max(one.took_s for one in laps):.2f} s")
    assert threads_named(READER) == 1
    recovers(proxy, source)
