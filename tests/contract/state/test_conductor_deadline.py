"""A message broker that answers one byte a second, in any phase of a connection: each read over it ends in time."""

import contextlib
import gc

import pytest

from agent.bus.options import BusOptions
from agent.errors import SourceUnavailable
from agent.ports import Deadline
from tests.rigs.cell_worlds import HOST, world
from tests.rigs.conductor_reads import state_of
from tests.rigs.faults import Weather, proxied
from tests.rigs.rabbitmq import PASSWORD
from tests.rigs.stopwatch import SLACK_S, lap, threads_named
from tests.rigs.wait import until

pytestmark = [
    pytest.mark.xdist_group("conductor"),
    # amqp does not close the socket of a broken connection; the garbage collector does.
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),
]

DEADLINE_S = 3.0
BYTE_EVERY_S = 1.0
READER = "reader-state"
# The broker's answers in order: Connection.Start comes first, then the answer to the password.
PHASES = {"greeting": 0, "log-in": 1}


@pytest.fixture(autouse=True)
def collected():
    """Collect the garbage while the filterwarnings mark applies, and not in a later test."""
    yield
    gc.collect()


@pytest.fixture
def proxy(conductor_cell):
    conductor_cell.empty()
    world().fill(conductor_cell.engine)
    with proxied(("127.0.0.1", conductor_cell.broker.port)) as made:
        yield made


@pytest.fixture
def source(proxy, conductor_cell):
    url = conductor_cell.broker.url.replace(f":{conductor_cell.broker.port}/", f":{proxy.port}/")
    with state_of(BusOptions(url=url, response_timeout_s=60)) as made:
        yield made
        proxy.close()


def read(source, seconds=DEADLINE_S):
    return source.read(HOST, frozenset(), Deadline.after(seconds))


def good(source):
    with contextlib.suppress(SourceUnavailable):
        return read(source, 20.0).service is not None


def trickle(proxy, quick_answers=0):
    proxy.weather, proxy.delay_s, proxy.quick_answers = Weather.TRICKLE, BYTE_EVERY_S, quick_answers


def late(source):
    """Run three reads, check that they fail in time and use one thread; return the longest time."""
    laps = [lap(lambda: read(source)) for _ in range(3)]
    assert all(isinstance(one.error, SourceUnavailable) for one in laps)
    assert max(one.took_s for one in laps) <= DEADLINE_S + SLACK_S
    assert PASSWORD not in str(laps[0].error)
    assert threads_named(READER) == 1
    return max(one.took_s for one in laps)


def recovers(proxy, source):
    proxy.weather, proxy.delay_s = Weather.FAIR, 0.0
    proxy.drop_all()
    until(lambda: good(source), 60, "the source reads again")


@pytest.mark.parametrize("phase", PHASES)
def test_a_read_over_a_slow_new_connection_ends_in_time(proxy, source, phase):
    """The message broker sends one byte a second while the agent connects, and the agent's read fails in time."""
    trickle(proxy, PHASES[phase])
    print(f"conductor {phase}: {late(source):.2f} s")
    recovers(proxy, source)


def test_a_read_over_a_slow_open_connection_ends_in_time(proxy, source):
    """The message broker sends one byte a second over an open connection, and the agent's read fails in time."""
    assert read(source, 30.0).service is not None
    trickle(proxy)
    print(f"conductor open connection: {late(source):.2f} s")
    recovers(proxy, source)
