"""Give a whole request a time within which it must be over, sent, answered and read, and its answer a size.

What a newcomer would get wrong: the time-out of ``requests`` starts anew with every
byte that arrives, so a server that sends one now and then holds an audit up for ever,
in the headers as well as in the body. Here each read of the socket waits no longer
than what is left of the whole. So does each address of a host that is tried in vain:
urllib3 gives every one of them the whole time-out. Looking up a name is the resolver's
own time, which agent/placement/http/question_time.py does not wait for. What comes of it after
the end is not used: nothing is sent that nobody waits for any more.

Nor is that time a bound on what arrives in it: gigabytes come in 30 s, and more where
they come packed. Each piece is counted as it is unpacked, and the first one too many
ends the answer (``bounds``); urllib3 unpacks piece by piece (2.6 and later: no more of
it than was asked for).
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
from urllib3.exceptions import ConnectTimeoutError, NameResolutionError
from urllib3.util.connection import allowed_gai_family

from agent.deadlines.bounded_reads import BoundedReads
from agent.placement.http.bounds import OWN, Bound, Tally
from agent.ports import Deadline

_ends_at: contextvars.ContextVar[float | None] = contextvars.ContextVar("request_ends_at", default=None)
_bound: contextvars.ContextVar[Bound] = contextvars.ContextVar("answer_bound", default=OWN)


class TooLarge(requests.RequestException):
    """An answer of which no more is taken; keystoneauth hands it on as the ``original`` of its own error."""

    def __init__(self, problem: str, bound: Bound) -> None:
        super().__init__(problem)
        self.bound = bound


@contextlib.contextmanager
def within(seconds: float | None) -> Iterator[None]:
    """All that this thread sends and reads in the block must be over by then; None: no bound."""
    token = _ends_at.set(None if seconds is None else time.monotonic() + seconds)
    try:
        yield
    finally:
        _ends_at.reset(token)


@contextlib.contextmanager
def bounded(bound: Bound) -> Iterator[None]:
    """No answer to what this thread asks in the block may be larger; outside of all blocks ``OWN`` holds."""
    token = _bound.set(bound)
    try:
        yield
    finally:
        _bound.reset(token)


def is_over() -> bool:
    """Whether the time of the block is used up."""
    ends_at = _ends_at.get()
    return ends_at is not None and time.monotonic() >= ends_at


class _CountedReads(BoundedReads):
    """The raw stream of a socket, each read of which ends when the whole must; ``came_bytes`` counts what came."""

    came_bytes = 0

    def readinto(self, buffer: Any) -> int | None:  # noqa: ANN401 - typeshed's WriteableBuffer
        """As the stream's. Raises TimeoutError."""
        came = super().readinto(buffer)
        self.came_bytes += came or 0
        return came


class _BoundedResponse(http.client.HTTPResponse):
    """An answer whose status line, headers and body are read within the time of the block that asked."""

    def __init__(self, sock: socket.socket, *args: Any, **options: Any) -> None:  # noqa: ANN401 - handed on
        super().__init__(sock, *args, **options)
        ends_at = _ends_at.get()
        left_s = (lambda: math.inf) if ends_at is None else Deadline(ends_at).left_s
        self._reads = _CountedReads(self.fp.detach(), sock, left_s)
        self.fp = io.BufferedReader(self._reads)

    @property
    def came_bytes(self) -> int:
        """How much of it came over the network, headers and all."""
        return self._reads.came_bytes


class _BoundedSends:
    """Part of a connection of urllib3's, that sends nothing once the time of the block that asked is over."""

    sock: socket.socket | None

    def connect(self) -> None:
        """As urllib3's. Raises TimeoutError where the end came during the handshake of TLS, or before."""
        super().connect()  # type: ignore[misc] # of what this is mixed into
        if self.sock is not None:
            _bounded_socket(self.sock, _ends_at.get())

    def send(self, data: Any) -> None:  # noqa: ANN401 - handed on
        """As urllib3's, of a kept connection too. Raises TimeoutError, and nothing is sent after the end."""
        if self.sock is not None:
            _bounded_socket(self.sock, _ends_at.get())
        super().send(data)  # type: ignore[misc] # of what this is mixed into


class _BoundedConnect:
    """Part of a connection of urllib3's, that tries the addresses of its host as long as the block that asked has time.

    To be mixed in where ``_new_conn`` is urllib3's own.
    """

    port: int
    timeout: float | None
    _dns_host: str

    def _new_conn(self) -> socket.socket:
        """As urllib3's, which is asked for one address after the other. Raises what urllib3 raises."""
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
                except Exception as error:  # noqa: BLE001 - urllib3's own, and raised where no other address is well
                    failed = error
            raise failed
        finally:
            self._dns_host, self.timeout = host, patience_s
            del failed  # its traceback holds this frame

    def _addresses(self, host: str) -> list[str]:
        """In the resolver's order, of the families that this machine speaks; with the link that one is of."""
        try:
            family = allowed_gai_family()
            found = socket.getaddrinfo(host.strip("[]"), self.port, family, socket.SOCK_STREAM)
        except socket.gaierror as error:
            raise NameResolutionError(host, self, error) from error  # type: ignore[arg-type] # a connection it is
        except UnicodeError as error:
            raise OSError(f"Failed to resolve '{host}' ({error})") from error
        return [_text(address) for *_, address in found]


def _bounded_socket(sock: socket.socket, ends_at: float | None) -> socket.socket:
    """The same, which waits no longer for anything. Raises TimeoutError, and it is closed."""
    if ends_at is not None:
        left_s = ends_at - time.monotonic()
        if left_s <= 0:
            sock.close()
            raise TimeoutError("timed out")
        patience_s = sock.gettimeout()
        sock.settimeout(left_s if patience_s is None else min(patience_s, left_s))
    return sock


def _text(address: tuple[Any, ...]) -> str:
    """``fe80::1%2``, an address of the link with the number 2; others as they are."""
    host, scope = str(address[0]), address[3] if len(address) > 3 else 0
    return f"{host}%{scope}" if scope and "%" not in host else host


class _BoundedBody:
    """urllib3's answer, as requests reads it, whose body ends by an error where it gets larger than ``bound``."""

    def __init__(self, raw: Any, bound: Bound) -> None:  # noqa: ANN401 - urllib3's
        self._raw = raw
        self._bound = bound
        self._on_the_wire = getattr(raw, "_original_response", None)  # of urllib3 2, and no other way to it

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - urllib3's own
        return getattr(self._raw, name)

    def stream(self, *args: Any, **options: Any) -> Iterator[bytes]:  # noqa: ANN401 - handed on
        """As urllib3's. Raises TooLarge, and the connection is closed with what still comes."""
        tally = Tally(self._bound)
        for piece in self._raw.stream(*args, **options):
            tally.add(piece)
            problem = tally.problem(getattr(self._on_the_wire, "came_bytes", None))
            if problem is not None:
                self._raw.close()
                raise TooLarge(problem, self._bound)
            yield piece

    def read(self, *_args: Any, **_options: Any) -> bytes:  # noqa: ANN401 - as urllib3 has it
        """Nothing, and the connection is closed: so requests reads what it throws away, a redirect that is garbled."""
        self._raw.close()
        return b""


class BoundedAdapter(TCPKeepAliveAdapter):
    """The adapter to mount where ``within`` and ``bounded`` are to hold, through a proxy too."""

    def build_response(self, *args: Any, **options: Any) -> requests.Response:  # noqa: ANN401 - handed on
        """As requests calls it, before any of the body is read."""
        response = super().build_response(*args, **options)
        response.raw = _BoundedBody(response.raw, _bound.get())
        return response

    def init_poolmanager(self, *args: Any, **options: Any) -> None:  # noqa: ANN401 - handed on
        """As requests calls it."""
        super().init_poolmanager(*args, **options)
        self.poolmanager.pool_classes_by_scheme = _bounded(self.poolmanager.pool_classes_by_scheme)

    def proxy_manager_for(self, proxy: str, **options: Any) -> Any:  # noqa: ANN401 - urllib3's
        """As requests calls it, for each request that goes through ``proxy``."""
        manager = super().proxy_manager_for(proxy, **options)
        manager.pool_classes_by_scheme = _bounded(manager.pool_classes_by_scheme)
        return manager


def _bounded(pools: dict[str, Any]) -> dict[str, Any]:
    return {scheme: _bounded_pool(pool) for scheme, pool in pools.items()}


def _bounded_pool(pool: Any) -> Any:  # noqa: ANN401 - urllib3's pool classes, one for each scheme
    if issubclass(pool.ConnectionCls.response_class, _BoundedResponse):
        return pool
    # A connection through SOCKS has its own way, and leaves names to its proxy.
    is_plain = pool.ConnectionCls._new_conn.__module__ == "urllib3.connection"
    bounds = (_BoundedConnect, _BoundedSends) if is_plain else (_BoundedSends,)
    bases = (*bounds, pool.ConnectionCls)
    connection = type(pool.ConnectionCls.__name__, bases, {"response_class": _BoundedResponse})
    return type(pool.__name__, (pool,), {"ConnectionCls": connection})
