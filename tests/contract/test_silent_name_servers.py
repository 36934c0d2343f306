"""Three name servers never answer, so the resolver takes a minute: no read waits longer than its deadline.

A lookup cannot be cut short: one thread does it, and later reads start no second thread. Once the name servers answer,
the same process reads again.
"""

import pytest
import sqlalchemy

from agent.demo import cell
from tests.rigs import mariadb, silent_names
from tests.rigs.cell_worlds import HOST, world
from tests.rigs.placement import new_uuid
from tests.rigs.silent_names import program_among
from tests.rigs.stopwatch import FOR_EVER_S, SLACK_S
from tests.rigs.wait import until

pytestmark = pytest.mark.skipif(silent_names.missing() is not None, reason=str(silent_names.missing()))

DEADLINE_S = 3.0
NAME = "controller.cloud.example.org"
# Prints a line for each try of ``read``: its seconds, the number of threads with the given name, and the error.
PROGRAM = """
import json, sys, threading, time
from agent.errors import AgentError
{given}
while True:
    began, said = time.monotonic(), ""
    try:
        read()
    except AgentError as error:
        said = str(error)
    took_s = time.monotonic() - began
    threads = [thread.name for thread in threading.enumerate() if thread.name == {thread!r}]
    print(json.dumps([took_s, len(threads), said]), flush=True)
    if not said:
        break
    threading.Event().wait(max(0.0, 0.5 - took_s))
"""
SQL = f"""
from agent.ports import Deadline
from agent.sources.nova.sql import NovaSql
source = NovaSql(sys.argv[1])
read = lambda: source.read({HOST!r}, frozenset(), Deadline.after({DEADLINE_S}))
"""

CONDUCTOR = f"""
from agent.bus.options import BusOptions
from agent.bus.transport import Bus
from agent.conductor.client import ConductorClient
from agent.conductor.reader import ConductorState
from agent.ports import Deadline
source = ConductorState(ConductorClient(Bus(BusOptions(url=sys.argv[1]))))
read = lambda: source.read({HOST!r}, frozenset(), Deadline.after({DEADLINE_S}))
"""
PLACEMENT = f"""
from pathlib import Path
from agent.placement import wire
from agent.placement.http.client import MINIMUM
from agent.placement.http.throttled_session import TIMEOUTS_A_QUESTION
from tests.rigs.placement import client_of
client = client_of(Path(sys.argv[2]), sys.argv[1], timeout={DEADLINE_S} / TIMEOUTS_A_QUESTION)
read = lambda: client.get("/resource_providers?name=nobody", MINIMUM, wire.parse_providers)
"""
# Sends one write first. The program then reads until a read works; by then the lookup of the write has ended.
WRITE_FIRST = """
client._maximum = MINIMUM
try:
    client.put(sys.argv[3], MINIMUM, None, wire.nothing)
except AgentError as error:
    print(json.dumps(str(error)), flush=True)
"""


@pytest.fixture
def names(tmp_path):
    with silent_names.silent_names(tmp_path) as made:
        yield made


def attend(names, given, thread, *arguments, deadline_s=DEADLINE_S):
    """Check that three reads fail in time with one lookup thread, and that a read works once the servers answer."""
    with program_among(names, PROGRAM.format(given=given, thread=thread), *arguments) as program:
        laps = [program.line(FOR_EVER_S) for _ in range(3)]
        print(f"{thread}: {[round(took_s, 2) for took_s, _, _ in laps]}")
        assert names.asked > 0
        assert all(said for _, _, said in laps)
        assert max(took_s for took_s, _, _ in laps) <= deadline_s + SLACK_S
        assert [threads for _, threads, _ in laps] == [1, 1, 1]
        assert len({said for _, _, said in laps}) == 1, "a finding is confirmed by equal words"
        names.answers.set()
        last = laps[-1]
        while last[2]:
            last = program.line(FOR_EVER_S)
            assert last[0] <= deadline_s + SLACK_S
        return laps[0][2]


def named(url):
    """Return the URL with the server's name instead of its address."""
    return url.replace("127.0.0.1", NAME)


@pytest.fixture(scope="module")
def database(tmp_path_factory):
    if not mariadb.available():
        pytest.skip("MariaDB is not installed (mariadb-server-core)")
    with mariadb.running(tmp_path_factory.mktemp("mariadb")) as server:
        engine = sqlalchemy.create_engine(server.create_database("cell"))
        cell.create_tables(engine)
        world().fill(engine)
        engine.dispose()
        yield server


def test_a_database_read_ends_in_time_without_dns(names, database):
    """The name servers do not answer; the agent's read of nova's cell database still ends at its deadline."""
    assert NAME in attend(names, SQL, "reader-state", named(database.url("cell")))


def test_a_placement_read_ends_in_time_without_dns(names, placement, tmp_path):
    """The name servers do not answer; the agent's read of Placement still ends at its deadline."""
    assert NAME in attend(names, PLACEMENT, "reader-placement", named(placement.server.url), str(tmp_path))


def test_a_timed_out_write_is_not_sent_after_dns_recovers(names, placement, tmp_path):
    """A write to Placement timed out in its DNS lookup; the agent does not send it after DNS answers again."""
    trait = f"/traits/CUSTOM_{new_uuid().replace('-', '').upper()}"
    program = PROGRAM.format(given=PLACEMENT + WRITE_FIRST, thread="reader-placement")
    with program_among(names, program, named(placement.server.url), str(tmp_path), trait) as running:
        assert "no complete answer within 3 s" in running.line(FOR_EVER_S)
        names.answers.set()
        until(lambda: not running.line(FOR_EVER_S)[2], FOR_EVER_S, "a read of the same client")
    assert placement.request("GET", trait).status_code == 404


@pytest.mark.xdist_group("conductor")
def test_a_conductor_read_ends_in_time_without_dns(names, conductor_cell):
    """The name servers do not answer; the agent's read through nova-conductor still ends at its deadline."""
    conductor_cell.empty()
    world().fill(conductor_cell.engine)
    assert NAME in attend(names, CONDUCTOR, "reader-state", named(conductor_cell.broker.url))
