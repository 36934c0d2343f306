"""Time and size bounds of a whole request, on real sockets: a response that stops, kept connections, proxies."""

import contextlib
import random
import socket
import threading
import time
import zlib

import pytest
import requests

from agent.placement.http.bounds import MIB, Bound
from agent.placement.http.transport import bounded, is_over, within
from tests.rigs.gateway import Answer, Framing, gateway

BODY = b'{"a": 1}'
ONE_MIB = Bound(subject="a test", most_bytes=MIB, most_memory_bytes=8 * MIB, remedy="look there")


def stopping_after(text: bytes) -> tuple[socket.socket, str]:
    """Return a listener that sends ``text`` on its first connection and then leaves it open, and the listener's URL."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        # The client may have given up before this thread runs.
        with contextlib.suppress(OSError):
            connection, _ = listener.accept()
            with connection:
                connection.recv(65536)
                connection.sendall(text)
                connection.recv(65536)  # until the client gives up

    threading.Thread(target=serve, daemon=True).start()
    return listener, f"http://127.0.0.1:{listener.getsockname()[1]}/"


def streaming(head: bytes) -> tuple[socket.socket, str, threading.Event]:
    """Return a listener that sends ``head`` and 64 MiB in chunks, its URL, and an event: the client stopped reading."""
    listener = socket.create_server(("127.0.0.1", 0))
    refused = threading.Event()

    def serve() -> None:
        connection, _ = listener.accept()
        with connection:
            try:
                connection.recv(65536)
                connection.sendall(head)
                for _ in range(64):
                    connection.sendall(b"100000\r\n" + b" " * MIB + b"\r\n")
            except OSError:
                refused.set()

    threading.Thread(target=serve, daemon=True).start()
    return listener, f"http://127.0.0.1:{listener.getsockname()[1]}/", refused


@pytest.mark.parametrize(
    "text",
    [b"", b"HTTP/1.1 2", b"HTTP/1.1 200 OK\r\nContent-Le", b"HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\n{"],
    ids=["nothing", "status line", "headers", "body"],
)
def test_a_stalled_response_ends_at_the_total_time_limit(session, text):
    """Placement sends part of a response and then stops. The request fails at the agent's total time limit."""
    listener, url = stopping_after(text)
    began = time.monotonic()
    with listener, within(0.5), pytest.raises(requests.RequestException, match="timed out"):
        session.get(url, timeout=60)
    assert 0.4 < time.monotonic() - began < 20


def test_a_request_without_a_total_limit_ends_at_its_timeout(session):
    """Placement stops in the middle of a response. Without a total time limit, the request ends at its read timeout."""
    listener, url = stopping_after(b"HTTP/1.1 2")
    with listener, within(None), pytest.raises(requests.ReadTimeout):
        session.get(url, timeout=0.3)


def test_a_time_limit_does_not_affect_the_next_request(session):
    """A request with a total time limit of 2 s is answered. The next request on the same connection may take longer."""
    with gateway() as gate:
        gate.before = lambda _asked: Answer(status=200, body=BODY)
        with within(2.0):
            assert session.get(gate.url, timeout=20).content == BODY
        while_late = threading.Event()

        def late(_asked):
            while_late.wait(2.2)
            return Answer(status=200, body=BODY)

        gate.before = late
        assert session.get(gate.url, timeout=20).content == BODY
        with within(20):
            assert session.get(gate.url, timeout=20).content == BODY


def test_the_total_time_limit_applies_through_a_proxy(session):
    """An HTTP proxy sends one byte now and then, and the request still ends at the agent's total time limit."""
    with gateway() as gate:
        gate.before = lambda _asked: Answer(status=200, body=BODY * 100, byte_every_s=0.05)
        session.proxies = {"http": gate.url}
        began = time.monotonic()
        with within(0.5), pytest.raises(requests.RequestException, match="timed out"):
            session.get("http://placement.example/", timeout=60)
        assert time.monotonic() - began < 20


def test_a_response_one_byte_above_the_limit_is_rejected(session):
    """With a size limit of 1 MiB, a response of 1 MiB is accepted and a response of one byte more is rejected."""
    with gateway() as gate, bounded(ONE_MIB):
        gate.before = lambda _asked: Answer(status=200, body=b" " * MIB)
        assert len(session.get(gate.url, timeout=20).content) == MIB
        gate.before = lambda _asked: Answer(status=200, body=b" " * (MIB + 1))
        with pytest.raises(requests.RequestException, match="larger than 1 MiB"):
            session.get(gate.url, timeout=20)
        gate.before = lambda _asked: Answer(status=200, body=BODY)
        assert session.get(gate.url, timeout=20).content == BODY


@pytest.mark.parametrize("framing", [b"Transfer-Encoding: chunked", b"Content-Length: 1000000000"])
def test_the_connection_of_a_too_large_response_is_closed(session, framing):
    """A response is larger than the agent's limit. The agent closes the connection instead of reading the rest."""
    listener, url, refused = streaming(b"HTTP/1.1 200 OK\r\n" + framing + b"\r\n\r\n")
    with listener, bounded(ONE_MIB), pytest.raises(requests.RequestException, match="larger than 1 MiB") as raised:
        session.get(url, timeout=20)
    assert refused.wait(20)
    assert raised.traceback, "what holds the connection is not closed by having been forgotten"


def test_a_redirect_with_invalid_gzip_is_not_read_to_the_end(session):
    """A redirect announces 1 GB of gzip and sends invalid data; the agent does not read the data to the end."""
    head = b"HTTP/1.1 302 Found\r\nLocation: /x\r\nContent-Encoding: gzip\r\nContent-Length: 1000000000\r\n\r\n"
    listener, url, refused = streaming(head)
    with listener:
        assert session.get(url, timeout=20, allow_redirects=False).status_code == 302
    assert refused.wait(20)


def test_an_inner_time_limit_replaces_the_outer_limit():
    """A `with` block can limit the time of requests to Placement.

    In nested blocks, only the innermost limit applies.
    """
    assert not is_over()
    with within(None):
        assert not is_over()
    with within(0.0):
        assert is_over()
        with within(60.0):
            assert not is_over()
        assert is_over()
    assert not is_over()


@pytest.mark.parametrize("framing", list(Framing))
def test_a_response_that_unpacks_too_large_is_refused(session, framing):
    """The agent refuses a gzip response that unpacks to more than 100 times its size."""
    gzip = (("Content-Encoding", "gzip"),)
    noise = random.Random(7).randbytes(100_000).hex().encode()
    with gateway() as gate, bounded(ONE_MIB):
        body = zlib.compress(b" " * (MIB // 2), wbits=16 + zlib.MAX_WBITS)
        gate.before = lambda _asked: Answer(status=200, body=body, headers=gzip, framing=framing)
        with pytest.raises(requests.RequestException, match="unpacks to more than 100 times its size"):
            session.get(gate.url, timeout=20)
        gate.before = lambda _asked: Answer(
            status=200, body=zlib.compress(noise, wbits=16 + zlib.MAX_WBITS), headers=gzip
        )
        assert session.get(gate.url, timeout=20).content == noise
