"""The pace of one client's requests to a real Placement, and to a Placement that is slow or overloaded.

An answer's delay is measured with the test's own clock, which only advances where a test advances it. A busy machine
therefore makes no answer late and no pause shorter.
"""

import threading
import time
from collections.abc import Callable, Iterator

import pytest
import requests

from agent.placement.http.client import MINIMUM, PlacementClient
from agent.placement.http.rate_control import NO_ANSWER_SPREAD_S, PATIENCE, Manners
from agent.placement.http.throttled_session import PacedSession
from agent.placement.wire import parse_aggregates, parse_providers
from tests.rigs.gateway import Answer, Asked, Dropped, Gateway, gateway
from tests.rigs.mariadb import free_port
from tests.rigs.placement import Rest, client_of, new_uuid

SLOW_S = 0.05
LATE_S = 0.2
MIDDLE = 0.5


class Waits:
    """The waits of a session, recorded instead of slept; every random draw is the middle of its range.

    ``now`` is the session's clock, in seconds.
    """

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self.now = 1000.0

    def session(self, manners: Manners | None = None) -> PacedSession:
        """Return a session whose waits are recorded here."""
        return PacedSession(
            manners or Manners(slow_s=SLOW_S), self.seconds.append, lambda: MIDDLE, monotonic=lambda: self.now
        )

    def late(self, *methods: str) -> Callable[[Asked], None]:
        """Return a gateway hook that makes the answers to these methods late."""

        def after(asked: Asked) -> None:
            self.now += LATE_S if asked.method in methods else 0.0

        return after


@pytest.fixture
def waits() -> Waits:
    return Waits()


@pytest.fixture
def gate(rest: Rest) -> Iterator[Gateway]:
    with gateway(rest.server.url) as gate:
        yield gate


Paced = Callable[..., PlacementClient]


@pytest.fixture
def paced(tmp_path, waits) -> Paced:
    """Return a factory of clients as configured, each with a session whose waits are recorded."""

    def make(url: str, manners: Manners | None = None) -> PlacementClient:
        client = client_of(tmp_path, url, connect_retries=0, status_code_retries=0)
        session = waits.session(manners)
        client._adapter.session.session = client._session = session
        return client

    return make


def test_the_client_saves_the_end_time_of_its_last_request(gate, paced):
    """The client saves the time at which Placement answered, and not the time at which the request began."""
    ended: list[float] = []
    gate.after = lambda _asked: ended.append(time.monotonic())
    client = paced(gate.url)
    client.maximum()
    assert client.sent_at >= ended[-1]


def look(client: PlacementClient) -> None:
    client.get(f"/resource_providers?in_tree={new_uuid()}", MINIMUM, parse_providers)


def mean_pause_s(late_s: float) -> float:
    return PATIENCE * late_s


def test_the_client_does_not_pause_if_placement_is_fast(rest, paced, waits):
    client = paced(rest.server.url)
    for _ in range(10):
        look(client)
    assert waits.seconds == []
    assert client.requests == 11


def test_the_client_pauses_after_a_slow_answer(gate, paced, waits):
    """The agent waits before its next read if Placement's last answer was slow, to spare the server."""
    client = paced(gate.url)
    look(client)
    gate.after = waits.late("GET")
    look(client)
    assert waits.seconds == []
    look(client)
    assert waits.seconds == [pytest.approx(mean_pause_s(LATE_S - SLOW_S))]


def test_slow_answers_delay_only_reads(rest, gate, paced, waits):
    """After slow answers of Placement, the agent sends further writes at once, and waits before its next read."""
    root = rest.make_provider()
    client = paced(gate.url)
    generation = client.get(f"/resource_providers/{root}/aggregates", MINIMUM, parse_aggregates).generation
    gate.after = waits.late("PUT")
    for number in range(3):
        body = {"resource_provider_generation": generation + number, "aggregates": [new_uuid()]}
        client.put(f"/resource_providers/{root}/aggregates", MINIMUM, body, nothing_of)
    assert waits.seconds == []
    assert gate.writes == [f"PUT /resource_providers/{root}/aggregates"] * 3
    look(client)
    # Three pauses are due; the time that passed between the writes is deducted.
    assert waits.seconds == [pytest.approx(3 * mean_pause_s(LATE_S - SLOW_S) - 2 * LATE_S)]


def nothing_of(_body: object) -> None:
    """Ignore the answer's body, which repeats what the client sent."""


@pytest.mark.parametrize("status", [429, 502, 503, 504])
def test_the_client_pauses_after_http_429_502_503_or_504(gate, paced, waits, status):
    """An overloaded Placement answers with one of these statuses.

    The agent waits longer and longer before its next read.
    """
    client = paced(gate.url)
    look(client)
    gate.before = lambda _asked: Answer(status=status)
    for _ in range(3):
        with pytest.raises(Exception, match=str(status)):
            look(client)
    # The recorded waits take no time, so the first pause is still due when the second, twice as long, is added.
    assert waits.seconds == [pytest.approx(2.0), pytest.approx(2.0 + 4.0)]


def test_the_client_pauses_briefly_after_a_refused_connection(paced, waits):
    client = paced(f"http://127.0.0.1:{free_port()}")
    for _ in range(4):
        with pytest.raises(Exception, match=r"[Cc]onnect"):
            look(client)
    assert waits.seconds == [pytest.approx(number * NO_ANSWER_SPREAD_S * MIDDLE) for number in (1, 2, 3)]


def test_failed_keystone_requests_cause_no_pause(gate, waits):
    """Errors of Keystone do not slow down the agent's requests to Placement."""
    gate.before = lambda _asked: Answer(status=503)
    session = waits.session()
    for _ in range(3):
        assert session.post(f"{gate.url}/v3/auth/tokens", timeout=5).status_code == 503
        assert session.get(gate.url, timeout=5).status_code == 503
    assert waits.seconds == []


def test_idle_time_is_subtracted_from_the_pause(gate, paced, waits):
    """After a slow answer of Placement, idle time since the answer is subtracted from the agent's pause."""
    client = paced(gate.url)
    look(client)
    gate.after = waits.late("GET")
    look(client)
    gate.after = lambda _asked: None
    # The recorded wait takes no time, so the pause is still due; the answers in good time add no further pause.
    pause_s = mean_pause_s(LATE_S - SLOW_S)
    look(client)
    waits.now += pause_s / 4
    look(client)
    assert waits.seconds == [pytest.approx(pause_s), pytest.approx(pause_s * 3 / 4)]
    waits.now += pause_s
    look(client)
    assert len(waits.seconds) == 2
    assert client._session.pace.pushed_s == 0.0


def test_the_client_uses_slow_answer_and_longest_pause(rest, tmp_path):
    """[placement] slow_answer sets which answers count as slow, and longest_pause limits the agent's pause."""
    client = client_of(tmp_path, rest.server.url, slow_answer=0.01, longest_pause=0.2)
    assert client._session._manners == Manners(slow_s=0.01, longest_s=0.2)


@pytest.mark.parametrize(("option", "value"), [("longest_pause", 121), ("longest_pause", -1), ("slow_answer", 0)])
def test_options_for_pauses_have_a_limited_range(rest, tmp_path, option, value):
    """For example, the value 121 of the option longest_pause raises an error that contains the option's name."""
    with pytest.raises(Exception, match=option):
        client_of(tmp_path, rest.server.url, **{option: value})


def test_a_timeout_counts_as_a_slow_answer(gate, waits):
    """A timeout counts as a slow answer of Placement, so the client waits before its next read."""
    session = waits.session()
    headers = {"OpenStack-API-Version": "placement 1.30"}
    over = threading.Event()

    def never(_asked: Asked) -> None:
        waits.now += 0.3
        over.wait(30)
        raise Dropped

    gate.before = never
    with pytest.raises(requests.Timeout):
        session.get(gate.url, headers=headers, timeout=1)
    over.set()
    assert session.pace.best_s == float("inf")
    gate.clear()
    session.get(gate.url, headers=headers, timeout=30)
    # A time-out counts as an answer as late as the time waited, 0.3 s; it does not count as a refused connection.
    assert waits.seconds == [pytest.approx(mean_pause_s(0.3 - 2 * SLOW_S))]
