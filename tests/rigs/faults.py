"""Network faults: a requests transport that follows a script, and a TCP proxy that misbehaves.

The transport decides per request and knows the method and URL; requests without a fault go to the real server. The
proxy knows only bytes, so it works for any protocol.
"""

import contextlib
import enum
import select
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import requests
from requests.adapters import HTTPAdapter

from agent.placement.http.client import PlacementClient

WRITES = frozenset({"PUT", "POST", "DELETE"})


@dataclass(frozen=True)
class Refuse:
    """The connection is refused; the server does not see the request."""


@dataclass(frozen=True)
class LoseAnswer:
    """The server carries out the request; its answer is lost."""


@dataclass(frozen=True)
class Answer:
    """The test answers instead of the server; the server does not see the request."""

    status: int
    body: bytes = b""
    headers: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Truncate:
    """The server's answer ends after ``after_bytes`` bytes, without a sign that it was longer."""

    after_bytes: int


@dataclass(frozen=True)
class Meanwhile:
    """An action runs just before the request reaches the server."""

    action: Callable[[], object]


Fault = Refuse | LoseAnswer | Answer | Truncate | Meanwhile
Script = Callable[[requests.PreparedRequest], Fault | None]


def always(fault: Fault) -> Script:
    """Return a script that applies the fault to every request."""
    return lambda _request: fault


def on_write(number: int, fault: Fault) -> Script:
    """Return a script that applies the fault to the ``number``-th writing request, counted from 1."""
    return on_match(number, lambda request: request.method in WRITES, fault)


def on_path(number: int, ending: str, fault: Fault) -> Script:
    """Return a script that applies the fault to the ``number``-th request whose path, with its query, ends so."""
    return on_match(number, lambda request: str(request.url).endswith(ending), fault)


def on_match(number: int, matches: Callable[[requests.PreparedRequest], bool], fault: Fault) -> Script:
    """Return a script that applies the fault to the ``number``-th request that ``matches``."""
    seen = 0

    def script(request: requests.PreparedRequest) -> Fault | None:
        nonlocal seen
        seen += bool(matches(request))
        return fault if matches(request) and seen == number else None

    return script


class ScriptedAdapter(HTTPAdapter):
    """An adapter to mount in place of the usual one; ``sent`` lists (method, url) of every attempt."""

    def __init__(self, script: Script) -> None:
        super().__init__()
        self.script = script
        self.sent: list[tuple[str, str]] = []

    def send(self, request: requests.PreparedRequest, *args: Any, **options: Any) -> requests.Response:
        self.sent.append((str(request.method), str(request.url)))
        match self.script(request):
            case Refuse():
                raise requests.ConnectionError("[Errno 111] Connection refused", request=request)
            case LoseAnswer():
                # An open socket would cause a warning in whichever test the collector runs in.
                super().send(request, *args, **options).close()
                raise requests.ReadTimeout("Read timed out", request=request)
            case Answer() as answer:
                return _response(request, answer)
            case Truncate(after_bytes=after):
                whole = super().send(request, *args, **options)
                return _response(request, Answer(whole.status_code, whole.content[:after]))
            case Meanwhile(action=action):
                action()
        return super().send(request, *args, **options)


@contextlib.contextmanager
def impatient(client: PlacementClient, timeout_s: float) -> Iterator[None]:
    """Set ``[placement] timeout`` to ``timeout_s`` during the block; a loaded machine needs more outside it."""
    session = client._adapter.session
    before, session.timeout = session.timeout, timeout_s
    try:
        yield
    finally:
        session.timeout = before


def carried_out_late(queued: list[requests.PreparedRequest]) -> None:
    """Carry out requests that the server had in its queue while a proxy answered for it."""
    with requests.Session() as session:
        for request in queued:
            session.send(request, timeout=120).raise_for_status()


def _response(request: requests.PreparedRequest, answer: Answer) -> requests.Response:
    response = requests.Response()
    response.status_code = answer.status
    response.headers.update(dict(answer.headers))
    response._content = answer.body
    response.url = str(request.url)
    response.request = request
    response.encoding = "utf-8"
    return response


class Weather(enum.Enum):
    """What the proxy does with bytes."""

    FAIR = "passed on"
    CLOSED = "each new connection is closed at once"
    SILENT = "taken and never answered: a half-open connection"
    RESET_AFTER_SEND = "passed to the server; its first answer is a reset"
    TRICKLE = "answers come byte by byte, headers too, ``delay_s`` apart"


@dataclass
class TcpProxy:
    """A proxy on a free loopback port in front of ``target``; its fields may be changed at any time.

    An answer that has begun to trickle continues so: changed weather applies to later answers. The first
    ``quick_answers`` answers of each connection are passed on whole.
    """

    target: tuple[str, int]
    weather: Weather = Weather.FAIR
    delay_s: float = 0.0
    quick_answers: int = 0
    _open: list[socket.socket] = field(default_factory=list)
    _ended: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        threading.Thread(target=self._accept, daemon=True).start()

    def drop_all(self) -> None:
        """Shut down every open connection; each connection's own thread closes it."""
        for open_socket in tuple(self._open):
            with contextlib.suppress(OSError):
                open_socket.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Stop listening and drop all connections."""
        self._ended.set()
        _shut(self._listener)
        self.drop_all()

    def _accept(self) -> None:
        while not self._ended.is_set():
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            if self.weather is Weather.CLOSED:
                _shut(near)
            else:
                threading.Thread(target=self._carry, args=(near,), daemon=True).start()

    def _carry(self, near: socket.socket) -> None:
        """Carry both directions in one thread: close sends a reset only if no other thread is blocked in recv."""
        try:
            with socket.create_connection(self.target) as far:
                self._open += [near, far]
                with contextlib.suppress(OSError):
                    self._exchange(near, far)
                self._open.remove(far)
                self._open.remove(near)
        except OSError:
            pass
        finally:
            near.close()

    def _exchange(self, near: socket.socket, far: socket.socket) -> None:
        answers = 0
        while not self._ended.is_set():
            for ready in select.select([near, far], [], [], 0.2)[0]:
                chunk = ready.recv(65536)
                if not chunk:
                    return
                if ready is near and self.weather is not Weather.SILENT:
                    far.sendall(chunk)
                elif ready is far and self.weather is Weather.RESET_AFTER_SEND:
                    near.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    return
                elif ready is far and self.weather is Weather.TRICKLE and answers >= self.quick_answers:
                    self._trickle(near, chunk, self.delay_s)
                elif ready is far:
                    answers += 1
                    self._ended.wait(0.0 if self.weather is Weather.TRICKLE else self.delay_s)
                    near.sendall(chunk)

    def _trickle(self, near: socket.socket, chunk: bytes, delay_s: float) -> None:
        for byte in chunk:
            near.sendall(bytes([byte]))
            if self._ended.wait(delay_s):
                return


def _shut(open_socket: socket.socket) -> None:
    # shutdown as well: close alone does not wake a thread that is blocked in accept or recv.
    with contextlib.suppress(OSError):
        open_socket.shutdown(socket.SHUT_RDWR)
    open_socket.close()


@contextlib.contextmanager
def proxied(target: tuple[str, int], weather: Weather = Weather.FAIR) -> Iterator[TcpProxy]:
    """Yield a proxy in front of ``target``; close it after the block."""
    proxy = TcpProxy(target=target, weather=weather)
    try:
        yield proxy
    finally:
        proxy.close()
