"""A host with several addresses: all attempts share the request's time-out, and any address may answer."""

import contextlib
import socket
from collections.abc import Iterator
from typing import Any

import pytest
import requests

from agent.placement.http.transport import is_over, within
from tests.rigs.gateway import Answer, gateway

NAME = "placement.example"
BODY = b'{"a": 1}'


def named(monkeypatch: pytest.MonkeyPatch, *addresses: str) -> list[str]:
    """Make the resolver return these addresses for NAME; return the list that records each address that is tried."""
    resolved, tried = socket.getaddrinfo, []

    def of_name(host: Any, *more: Any, **options: Any) -> Any:
        if host == NAME:
            return [each for address in addresses for each in resolved(address, *more, **options)]
        tried.append(str(host))
        return resolved(host, *more, **options)

    monkeypatch.setattr(socket, "getaddrinfo", of_name)
    return tried


@contextlib.contextmanager
def silent() -> Iterator[int]:
    """Yield the port of a listener that neither accepts nor refuses a connection: its queue is full."""
    with contextlib.ExitStack() as opened:
        listener = opened.enter_context(socket.create_server(("127.0.0.1", 0), backlog=0))
        for _ in range(4):
            waiting = opened.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(listener.getsockname())
        yield listener.getsockname()[1]


def test_all_addresses_of_a_host_share_one_time_limit(session, monkeypatch):
    """Placement's host name has 100 silent addresses. The agent gives up after one time limit for all of them."""
    named(monkeypatch, *["127.0.0.1"] * 100)
    with silent() as port, within(0.3):
        # It would take more than an hour if each address had the time-out to itself.
        with pytest.raises(requests.ConnectTimeout, match=r"Connection to 127\.0\.0\.1 timed out"):
            session.get(f"http://{NAME}:{port}/", timeout=60)
        assert is_over()


def test_the_next_address_is_tried_after_a_refused_connection(session, monkeypatch):
    """Placement's host name has several addresses. The first one refuses the connection, and the second one answers."""
    tried = named(monkeypatch, "127.0.0.2", "127.0.0.1", "127.0.0.3")
    with gateway() as gate, within(60):
        gate.before = lambda _asked: Answer(status=200, body=BODY)
        port = gate.url.rpartition(":")[2]
        assert session.get(f"http://{NAME}:{port}/", timeout=60).content == BODY
        assert tried == ["127.0.0.2", "127.0.0.1"]


def test_an_unknown_host_name_appears_in_the_error(session, monkeypatch):
    """The name of Placement's host cannot be resolved. The agent looks it up once, and its error contains the name."""
    asked = []

    def unknown(host: Any, *_more: Any, **_options: Any) -> Any:
        asked.append(host)
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    said = f"Failed to resolve '{NAME}' .*Name or service not known"
    with within(60), pytest.raises(requests.ConnectionError, match=said) as error:
        session.get(f"http://{NAME}:1/", timeout=60)
    assert "Connection aborted" not in str(error.value)
    assert asked == [NAME]


def test_a_too_long_host_name_raises_request_exception(session):
    """A part of a host name may have 63 characters. With 64, the agent's connection raises RequestException."""
    name = "a" * 64 + ".example"
    with within(60), pytest.raises(requests.RequestException, match=name):
        session.get(f"http://{name}:1/", timeout=60)


def test_only_ipv4_is_looked_up_if_there_is_no_ipv6(session, monkeypatch):
    """On a host without IPv6, the agent resolves the name of Placement's host to IPv4 addresses only."""
    asked = []

    def of_family(_host: Any, _port: Any, family: int = 0, *_more: Any, **_options: Any) -> Any:
        asked.append(family)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", 1))]

    monkeypatch.setattr(socket, "getaddrinfo", of_family)
    monkeypatch.setattr("urllib3.util.connection.HAS_IPV6", False)
    with within(60), pytest.raises(requests.ConnectionError):
        session.get(f"http://{NAME}:1/", timeout=60)
    assert set(asked) == {socket.AF_INET}


def test_a_link_local_ipv6_address_keeps_its_scope_id(session, monkeypatch):
    tried = []

    def of_link(host: Any, *_more: Any, **_options: Any) -> Any:
        tried.append(host)
        return [(socket.AF_INET6, socket.SOCK_STREAM, 6, "", ("fe80::1", 1, 0, 7))] if host == NAME else []

    monkeypatch.setattr(socket, "getaddrinfo", of_link)
    with within(60), pytest.raises(requests.RequestException):
        session.get(f"http://{NAME}:1/", timeout=60)
    assert tried == [NAME, "fe80::1%7"]
