"""Limit the total time of a request, from sending to the last byte of the answer, and the size of the answer.

The time-out of ``requests`` restarts with every byte that arrives, in the headers as well as in the body. So a server
that sends a byte now and then could delay an audit for ever. With this adapter, each attempt to connect and each read
of the socket get only the rest of the total time. Without this adapter, urllib3 would give the whole time-out to every
address of a host.

This module cannot stop a slow name look-up. Instead, agent/placement/http/question_time.py stops waiting for the
look-up. If the resolver answers after the total time, nothing is sent, because no caller waits for Placement's answer
any more.

A time limit does not limit the size of an answer: gigabytes may arrive in 30 s, and more if they are compressed. So
this module counts the bytes of each piece after urllib3 has decompressed it, and cuts the answer off at the first piece
that exceeds the limit (bounds.py). From version 2.6 on, urllib3 decompresses no more bytes than were requested.
"""

from __future__ import annotations

import contextlib
import contextvars
import http.client
import io
import math
import socket
import time
from collections.abc import Callable, Iterator
from typing import Any

import requests
from keystoneauth1.session import TCPKeepAliveAdapter
from urllib3.exceptions import ConnectTimeoutError
from urllib3.util.connection import allowed_gai_family

from agent.deadlines.bounded_reads import BoundedReads
from agent.placement.http.bounds import OWN, Bound, Tally
from agent.placement.http.urllib3_versions import name_error
from agent.ports import Deadline

_ends_at: contextvars.ContextVar[float | None] = contextvars.ContextVar("request_ends_at", default=None)
_bound: contextvars.ContextVar[Bound] = contextvars.ContextVar("answer_bound", default=OWN)


class TooLarge(requests.RequestException):
    """The answer exceeds its size limit. keystoneauth passes this exception on as the ``original`` of its own error."""

    def __init__(self, problem: str, bound: Bound) -> None:
        super().__init__(problem)
        self.bound = bound


@contextlib.contextmanager
def within(seconds: float | None) -> Iterator[None]:
    """Limit the total time of the requests that this thread sends inside the ``with`` block; None means no limit."""
    token = _ends_at.set(None if seconds is None else time.monotonic() + seconds)
    try:
        yield
    finally:
        _ends_at.reset(token)


@contextlib.contextmanager
def bounded(bound: Bound) -> Iterator[None]:
    """Limit the size of each answer that this thread receives inside the ``with`` block. Elsewhere ``OWN`` applies."""
    token = _bound.set(bound)
    try:
        yield
    finally:
        _bound.reset(token)


def is_over() -> bool:
    """Whether the time limit of the enclosing ``within`` block has passed."""
    ends_at = _ends_at.get()
    return ends_at is not None and time.monotonic() >= ends_at


class _CountedReads(BoundedReads):
    """The raw stream of a socket. No read outlasts the time limit (``within``). ``came_bytes``: the received bytes."""

    came_bytes = 0

    def readinto(self, buffer: Any) -> int | None:  # noqa: ANN401 - typeshed's WriteableBuffer
        """Read from the socket and count the bytes. Raises TimeoutError once the time limit (``within``) has passed."""
        came = super().readinto(buffer)
        self.came_bytes += came or 0
        return came


class _BoundedResponse(http.client.HTTPResponse):
    """An HTTP answer that must arrive completely before the time limit (``within``) has passed."""

    def __init__(self, sock: socket.socket, *args: Any, **options: Any) -> None:  # noqa: ANN401 - handed on
        super().__init__(sock, *args, **options)
        ends_at = _ends_at.get()
        left_s = (lambda: math.inf) if ends_at is None else Deadline(ends_at).left_s
        self._reads = _CountedReads(self.fp.detach(), sock, left_s)
        self.fp = io.BufferedReader(self._reads)

    @property
    def came_bytes(self) -> int:
        """The number of bytes received from the network, headers included."""
        return self._reads.came_bytes


class _BoundedSends:
    """Mixin for a urllib3 connection that sends nothing once the time limit (``within``) has passed."""

    sock: socket.socket | None

    def connect(self) -> None:
        """Connect as urllib3 does. Raises TimeoutError if the time limit passed before the TLS handshake ended."""
        super().connect()  # type: ignore[misc] # of what this is mixed into
        if self.sock is not None:
            _bounded_socket(self.sock, _ends_at.get())

    def send(self, data: Any) -> None:  # noqa: ANN401 - handed on
        """Send as urllib3 does. Raises TimeoutError if the time limit (``within``) has passed."""
        if self.sock is not None:
            _bounded_socket(self.sock, _ends_at.get())
        super().send(data)  # type: ignore[misc] # of what this is mixed into


class _BoundedConnect:
    """Mixin for a urllib3 connection that tries the server's addresses until the time limit (``within``) has passed.

    This mixin fits only a connection class whose ``_new_conn`` is urllib3's own.
    """

    port: int
    timeout: float | None
    _dns_host: str

    def _new_conn(self) -> socket.socket:
        """Connect as urllib3 does, but try an address only for the rest of the time limit (``within``).

        Raises what urllib3 raises.
        """
        ends_at, host, patience_s = _ends_at.get(), self._dns_host, self.timeout
        connect: Callable[[], socket.socket] = super()._new_conn  # type: ignore[misc] # of what this is mixed into
        if ends_at is None:
            return connect()
        failed: Exception = ConnectTimeoutError(self, f"Connection to {host} timed out")
        try:
            for address in self._addresses(host):
                left_s = ends_at - time.monotonic()
                if left_s <= 0:
                    break
                self._dns_host, self.timeout = address, min(patience_s or left_s, left_s)
                try:
                    return _bounded_socket(connect(), ends_at)
                except Exception as error:  # noqa: BLE001 - raised again if no other address works
                    failed = error
            raise failed
        finally:
            self._dns_host, self.timeout = host, patience_s
            del failed  # The error's traceback refers to this frame, and the frame to the error: break the cycle.

    def _addresses(self, host: str) -> list[str]:
        """Resolve ``host`` and return its addresses in the resolver's order; IPv6 addresses only if this host has IPv6.

        A link-local address includes its scope.
        """
        try:
            family = allowed_gai_family()
            found = socket.getaddrinfo(host.strip("[]"), self.port, family, socket.SOCK_STREAM)
        except socket.gaierror as error:
            raise name_error(host, self, error) from error
        except UnicodeError as error:
            raise OSError(f"Failed to resolve '{host}' ({error})") from error
        return [_text(address) for *_, address in found]


def _bounded_socket(sock: socket.socket, ends_at: float | None) -> socket.socket:
    """Return ``sock`` with a time-out that ends by ``ends_at``.

    If ``ends_at`` has passed already, close ``sock`` and raise TimeoutError.
    """
    if ends_at is not None:
        left_s = ends_at - time.monotonic()
        if left_s <= 0:
            sock.close()
            raise TimeoutError("timed out")
        patience_s = sock.gettimeout()
        sock.settimeout(left_s if patience_s is None else min(patience_s, left_s))
    return sock


def _text(address: tuple[Any, ...]) -> str:
    """Return a link-local address with its scope, ``fe80::1%2`` for interface 2; any other address unchanged."""
    host, scope = str(address[0]), address[3] if len(address) > 3 else 0
    return f"{host}%{scope}" if scope and "%" not in host else host


class _BoundedBody:
    """Wraps a response of urllib3 for the library ``requests``. A body larger than ``bound`` raises TooLarge."""

    def __init__(self, raw: Any, bound: Bound) -> None:  # noqa: ANN401 - urllib3's
        self._raw = raw
        self._bound = bound
        self._on_the_wire = getattr(raw, "_original_response", None)  # private in urllib3 2; there is no public access

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - urllib3's own
        return getattr(self._raw, name)

    def stream(self, *args: Any, **options: Any) -> Iterator[bytes]:  # noqa: ANN401 - handed on
        """Yield the body in pieces. If the body is too large, close the connection and raise TooLarge."""
        tally = Tally(self._bound)
        for piece in self._raw.stream(*args, **options):
            tally.add(piece)
            problem = tally.problem(getattr(self._on_the_wire, "came_bytes", None))
            if problem is not None:
                self._raw.close()
                raise TooLarge(problem, self._bound)
            yield piece

    def read(self, *_args: Any, **_options: Any) -> bytes:  # noqa: ANN401 - as urllib3 has it
        """Close the connection and return no bytes.

        ``requests`` calls this method only to discard the body of a redirect after it failed to read the body.
        """
        self._raw.close()
        return b""


class BoundedAdapter(TCPKeepAliveAdapter):
    """Limits the time of requests (``within``) and the size of answers (``bounded``), also through a proxy."""

    def build_response(self, *args: Any, **options: Any) -> requests.Response:  # noqa: ANN401 - handed on
        """Build the response as ``requests`` does, and limit its body before any of the body is read."""
        response = super().build_response(*args, **options)
        response.raw = _BoundedBody(response.raw, _bound.get())
        return response

    def init_poolmanager(self, *args: Any, **options: Any) -> None:  # noqa: ANN401 - handed on
        """Create the pool manager as ``requests`` does; its connections obey the time limit of ``within``."""
        super().init_poolmanager(*args, **options)
        self.poolmanager.pool_classes_by_scheme = _bounded(self.poolmanager.pool_classes_by_scheme)

    def proxy_manager_for(self, proxy: str, **options: Any) -> Any:  # noqa: ANN401 - urllib3's
        """Return the pool manager of ``requests`` for the proxy. Its connections obey the time limit (``within``)."""
        manager = super().proxy_manager_for(proxy, **options)
        manager.pool_classes_by_scheme = _bounded(manager.pool_classes_by_scheme)
        return manager


def _bounded(pools: dict[str, Any]) -> dict[str, Any]:
    return {scheme: _bounded_pool(pool) for scheme, pool in pools.items()}


def _bounded_pool(pool: Any) -> Any:  # noqa: ANN401 - urllib3's pool classes, one for each scheme
    if issubclass(pool.ConnectionCls.response_class, _BoundedResponse):
        return pool
    # _BoundedConnect does not fit a SOCKS connection. Such a connection has its own ``_new_conn``, because the SOCKS
    # proxy, and not this host, looks up names.
    is_plain = pool.ConnectionCls._new_conn.__module__ == "urllib3.connection"
    bounds = (_BoundedConnect, _BoundedSends) if is_plain else (_BoundedSends,)
    bases = (*bounds, pool.ConnectionCls)
    connection = type(pool.ConnectionCls.__name__, bases, {"response_class": _BoundedResponse})
    return type(pool.__name__, (pool,), {"ConnectionCls": connection})
