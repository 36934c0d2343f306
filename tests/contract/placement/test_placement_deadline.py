"""A Placement that answers one byte now and then, in any part of an answer: each request of the client ends in time.

Three time-outs are the bound of a request with all its parts. An old connection goes on trickling; the next good answer
comes on a new connection.
"""

import dataclasses
import threading

import pytest

from agent.errors import PlacementUnavailable
from agent.model.report import Outcome
from agent.placement import wire
from agent.placement.http.client import MINIMUM
from agent.placement.http.throttled_session import TIMEOUTS_A_QUESTION
from tests.rigs.faults import Weather, proxied
from tests.rigs.gateway import gateway
from tests.rigs.one_host import OneHost
from tests.rigs.placement import client_of, new_uuid
from tests.rigs.stopwatch import SLACK_S, lap
from tests.rigs.tls import Authority, tls_before

TIMEOUT_S = 1.0
BOUND_S = TIMEOUTS_A_QUESTION * TIMEOUT_S
BYTE_EVERY_S = 0.5
SENDER = "reader-placement"


def listed(client):
    return client.get("/resource_providers?name=nobody", MINIMUM, wire.parse_providers)


def late(client):
    """Send three requests, check that they fail in time and with the same words; return the longest time."""
    before = senders()
    laps = [lap(lambda: listed(client)) for _ in range(3)]
    assert all(isinstance(one.error, PlacementUnavailable) for one in laps)
    assert max(one.took_s for one in laps) <= BOUND_S + SLACK_S
    assert {str(one.error) for one in laps} == {str(laps[0].error)}
    assert len(senders() - before) <= 1
    return max(one.took_s for one in laps)


def senders():
    return {thread.ident for thread in threading.enumerate() if thread.name == SENDER}


@pytest.fixture
def address(rest):
    host, _, port = rest.server.url.removeprefix("http://").partition(":")
    return host, int(port.rstrip("/"))


def test_the_agent_stops_reading_slow_headers_at_the_deadline(address, tmp_path):
    """Placement sends the headers of an answer slowly, byte by byte. The agent stops reading at the deadline."""
    with proxied(address) as proxy:
        client = client_of(tmp_path, proxy.url, timeout=TIMEOUT_S)
        proxy.weather, proxy.delay_s = Weather.TRICKLE, BYTE_EVERY_S
        print(f"placement headers: {late(client):.2f} s")
        proxy.weather, proxy.delay_s = Weather.FAIR, 0.0
        assert listed(client) == ()


def test_the_agent_stops_reading_a_slow_body_at_the_deadline(rest, tmp_path):
    """Placement sends the body of an answer slowly, byte by byte. The agent stops reading at the deadline."""
    with gateway(rest.server.url) as gate:
        client = client_of(tmp_path, gate.url, timeout=TIMEOUT_S)
        gate.change = lambda _asked, answer: dataclasses.replace(answer, byte_every_s=BYTE_EVERY_S)
        print(f"placement body: {late(client):.2f} s")
        gate.clear()
        assert listed(client) == ()


def test_a_slow_tls_handshake_ends_at_the_deadline(rest, tmp_path):
    """Placement's TLS handshake arrives very slowly, byte by byte. The agent gives up at its deadline."""
    authority = Authority(tmp_path / "ca")
    with tls_before(rest.server.url, authority.certificate("placement")) as door:
        port = int(door.url.rpartition(":")[2])
        with proxied(("127.0.0.1", port)) as proxy:
            client = client_of(tmp_path, proxy.url.replace("http:", "https:"), timeout=TIMEOUT_S, cafile=authority.path)
            proxy.weather, proxy.delay_s = Weather.TRICKLE, BYTE_EVERY_S
            print(f"placement TLS: {late(client):.2f} s")
            proxy.weather, proxy.delay_s = Weather.FAIR, 0.0
            assert listed(client) == ()


def test_slow_redirects_end_at_the_deadline(rest, tmp_path):
    """Placement answers slowly with one redirect after another; the agent's deadline covers the whole chain."""
    with gateway(rest.server.url) as gate:
        client = client_of(tmp_path, gate.url, timeout=TIMEOUT_S)
        gate.change = lambda asked, answer: dataclasses.replace(
            answer,
            status=307,
            headers=(("Location", asked.path),),
            body=b" " * 4,
            byte_every_s=BYTE_EVERY_S,
        )
        assert late(client) >= BOUND_S - SLACK_S


def test_a_write_with_a_slow_answer_is_sent_once(rest, tmp_path):
    """Placement carries out a write and answers too slowly. The agent does not send the write again."""
    with gateway(rest.server.url) as gate:
        one = OneHost(client_of(tmp_path, gate.url, timeout=TIMEOUT_S), new_uuid())
        assert (one.audit().report.outcome, one.audit().report.outcome) == (Outcome.CLEAN, Outcome.CLEAN)
        generation = rest.generation(one.root)
        gate.change = lambda asked, answer: (
            dataclasses.replace(answer, byte_every_s=BYTE_EVERY_S) if asked.is_write else answer
        )
        one.cpus = 8
        gate.seen.clear()
        measured = lap(one.audit)
        print(f"placement write: {measured.took_s:.2f} s")
        assert measured.answer.report.outcome is Outcome.PARTIAL
        assert measured.took_s <= BOUND_S + SLACK_S
        assert len(gate.writes) == 1
        gate.clear()
        gate.seen.clear()
        assert one.audit().report.outcome is Outcome.CLEAN
        assert gate.writes == []
        assert rest.generation(one.root) == generation + 1
