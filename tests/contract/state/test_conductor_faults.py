"""The parts between an agent and its conductor die, hang or refuse: a clear error in time, then good reads again."""

import contextlib
import gc
import time

import pytest

from agent.bus.transport import Bus
from agent.conductor import client as client_module
from agent.conductor.client import ConductorClient
from agent.conductor.reader import ConductorState
from agent.errors import SourceError, SourceUnavailable
from agent.ports import Deadline
from tests.rigs.cell_worlds import HOST, uuid, world
from tests.rigs.conductor import TOPIC, consumers
from tests.rigs.conductor_reads import state_of
from tests.rigs.mariadb import free_port
from tests.rigs.rabbitmq import PASSWORD, USER
from tests.rigs.wait import until

pytestmark = [
    pytest.mark.xdist_group("conductor"),
    # amqp does not close the socket of a broken connection; the garbage collector does.
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),
]


@pytest.fixture(autouse=True)
def collected():
    """Collect the garbage while the filterwarnings mark applies, and not in a later test."""
    yield
    gc.collect()


DEADLINE_S = 4.0
# A generous deadline for reads that are answered, if only with a refusal: those tests do not check the deadline.
ENOUGH_S = 20.0
# Extra time for a busy machine of two cores; with the deadline it is less than the answers' time-out of 20 s.
SLACK_S = 12.0


@pytest.fixture
def filled(conductor_cell):
    conductor_cell.empty()
    world().fill(conductor_cell.engine)
    return conductor_cell


@pytest.fixture
def source(filled):
    """A source that has read once, so that its connections are open."""
    with state_of(filled.bus()) as source:
        assert read(source, 30).service is not None
        yield source


def read(source, deadline_s=DEADLINE_S):
    return source.read(HOST, frozenset({uuid(1)}), Deadline.after(deadline_s))


def failure(source, deadline_s=DEADLINE_S):
    """Return the error of a failing read; check that it came in time and does not contain the password."""
    started = time.monotonic()
    with pytest.raises(SourceError) as raised:
        read(source, deadline_s)
    assert time.monotonic() - started < deadline_s + SLACK_S
    assert PASSWORD not in str(raised.value)
    return raised.value


def taken_up(cell):
    """Wait until conductor accepts calls again."""
    until(lambda: consumers(cell.broker.url, TOPIC) > 0, 240, "nova-conductor takes calls again")


@contextlib.contextmanager
def without_broker(cell):
    cell.broker.kill()
    try:
        yield
    finally:
        cell.broker.start()
        taken_up(cell)


def test_a_stopped_conductor_makes_reads_fail_until_restart(filled, source):
    """The agent's read fails in time with an error about nova-conductor. After the restart a read succeeds."""
    filled.conductor.stop()
    try:
        error = failure(source)
    finally:
        filled.conductor.start()

    assert isinstance(error, SourceUnavailable)
    assert all(
        part in error.message for part in ("topic conductor", "nova-conductor and its database", filled.bus().shown)
    )
    assert read(source, 30).service is not None


def test_rpc_response_timeout_ends_a_read_before_its_deadline(filled):
    """nova-conductor is stopped. The agent's read has a deadline of 30 s and fails after rpc_response_timeout, 2 s."""
    filled.conductor.stop()
    try:
        with state_of(filled.bus(response_timeout_s=2)) as source:
            started = time.monotonic()
            error = failure(source, 30)
            took_s = time.monotonic() - started
    finally:
        filled.conductor.start()

    assert "within 2 s" in error.message
    assert took_s < 2 + SLACK_S


def test_a_killed_broker_makes_reads_fail_until_restart(filled, source):
    """The error of the agent's reads mentions the message broker. After the broker's restart a read succeeds."""
    with without_broker(filled):
        errors = [failure(source), failure(source)]

    assert all(f"message broker {filled.bus().shown}" in error.message for error in errors)
    assert until(lambda: good(source), 120, "the source reads again")


def good(source):
    with contextlib.suppress(SourceUnavailable):
        return read(source, ENOUGH_S).service is not None


def test_a_first_read_without_a_broker_fails(filled):
    """The message broker is down at the agent's first read. After the broker's start a read succeeds."""
    with state_of(filled.bus()) as source:
        with without_broker(filled):
            error = failure(source, 10)

        assert f"message broker {filled.bus().shown}: the agent cannot reach the broker" in error.message
        assert read(source, 30).service is not None


def test_reads_fail_until_a_frozen_broker_resumes(filled, source):
    """If the message broker freezes, the agent's reads from nova-conductor fail until the broker resumes."""
    with filled.broker.paused():
        errors = [failure(source, 3) for _ in range(2)]
    taken_up(filled)

    assert all(isinstance(error, SourceUnavailable) for error in errors)
    assert until(lambda: good(source), 120, "the source reads again")


def test_a_first_read_with_a_frozen_broker_fails(filled):
    """The message broker is frozen at the agent's first read. A read succeeds after the broker resumes."""
    with state_of(filled.bus()) as source:
        with filled.broker.paused():
            error = failure(source, 3)
        taken_up(filled)

        assert "message broker" in error.message
        assert until(lambda: good(source), 120, "the source reads again")


def test_closing_the_client_does_not_hang_on_a_frozen_broker(filled):
    """The agent closes its connection to a frozen message broker, and the call returns within seconds."""
    client = ConductorClient(Bus(filled.bus()))
    with filled.broker.paused():
        failure(ConductorState(client), 1)
        started = time.monotonic()
        client.close()
        took_s = time.monotonic() - started
    taken_up(filled)

    assert took_s < SLACK_S


def test_the_error_about_a_wrong_password_shows_the_user(filled):
    """The message broker refuses the agent's password. The error shows the user and not the password."""
    with state_of(filled.bus(url=filled.broker.url.replace(PASSWORD, "something-else"))) as source:
        errors = [failure(source, ENOUGH_S), failure(source, ENOUGH_S)]

    for error in errors:
        assert f"refuses user '{USER}'" in error.message
        assert "something-else" not in error.message
    assert errors[0].message == errors[1].message


def test_a_missing_virtual_host_is_reported(filled):
    """The message broker lacks the virtual host in transport_url. The agent's error mentions the virtual host."""
    with state_of(filled.bus(url=f"{filled.broker.url}nowhere")) as source:
        error = failure(source, ENOUGH_S)

    assert "virtual host" in error.message


def test_the_agent_reads_with_amqp_durable_queues_set(filled):
    """The agent can read from nova-conductor even if amqp_durable_queues is set for the agent and not for nova."""
    with state_of(filled.bus(rabbit=(("amqp_durable_queues", True),))) as source:
        assert read(source, 30).service is not None


def test_reads_fail_if_no_conductor_listens_on_the_broker(filled, monkeypatch):
    """The agent's error says that nobody answered on the topic conductor."""
    monkeypatch.setattr(client_module, "EXCHANGE", "nobody-s")
    with state_of(filled.bus()) as source:
        errors = [failure(source), failure(source)]

    assert all("no answer on topic conductor" in error.message for error in errors)


def test_a_refused_broker_connection_is_reported(filled):
    """No message broker listens on the port in transport_url.

    The agent's error says that it cannot reach the broker.
    """
    with state_of(filled.bus(url=f"rabbit://{USER}:{PASSWORD}@127.0.0.1:{free_port()}/")) as source:
        error = failure(source, 10)

    assert "cannot reach the broker" in error.message


def test_an_unknown_transport_driver_is_reported(filled):
    """transport_url begins with an unknown driver. The error of the agent's read contains the driver's name."""
    with state_of(filled.bus(url=f"no-such-driver://{USER}:{PASSWORD}@127.0.0.1/")) as source:
        error = failure(source)

    assert "no-such-driver" in error.message


def test_reads_fail_while_the_conductor_database_is_down(filled, source):
    """While nova-conductor's database is down, the agent's reads fail. After the restart, reads succeed."""
    filled.database.kill()
    try:
        error = failure(source)
    finally:
        filled.database.start()

    assert isinstance(error, SourceUnavailable)
    assert "nova-conductor" in error.message
    assert until(lambda: good(source), 120, "conductor has its database again")


def test_reads_fail_while_the_conductor_database_is_frozen(filled, source):
    """The agent's reads fail while nova-conductor's database is frozen, and succeed after the database resumes."""
    with filled.database.paused():
        error = failure(source, 3)

    assert "nova-conductor" in error.message
    assert until(lambda: good(source), 120, "conductor has its database again")
