"""Ways for a network to fail: a requests transport that follows a script, and a TCP proxy that misbehaves.

The transport decides per request and knows what was asked; everything that it
does not interfere with goes to the real server. The proxy knows bytes only, so
it serves for any protocol.
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
    """The connection is refused; the server sees nothing."""


@dataclass(frozen=True)
class LoseAnswer:
    """The server carries the request out and the answer never comes."""


@dataclass(frozen=True)
class Answer:
    """Something else answers; the server sees nothing."""

    status: int
    body: bytes = b""
    headers: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Truncate:
    """The server's answer ends after so many bytes, and nobody says that it was longer."""

    after_bytes: int


@dataclass(frozen=True)
class Meanwhile:
    """Something happens just before the request reaches the server."""

    action: Callable[[], object]


Fault = Refuse | LoseAnswer | Answer | Truncate | Meanwhile
Script = Callable[[requests.PreparedRequest], Fault | None]


def always(fault: Fault) -> Script:
    """Each request."""
    return lambda _request: fault


def on_write(number: int, fault: Fault) -> Script:
    """The ``number``-th request that writes, counted from 1."""
    return on_match(number, lambda request: request.method in WRITES, fault)


def on_path(number: int, ending: str, fault: Fault) -> Script:
    """The ``number``-th request whose path, with its query, ends so."""
    return on_match(number, lambda request: str(request.url).endswith(ending), fault)


def on_match(number: int, matches: Callable[[requests.PreparedRequest], bool], fault: Fault) -> Script:
    """The ``number``-th request that ``matches``."""
    seen = 0

    def script(request: requests.PreparedRequest) -> Fault | None:
        nonlocal seen
        seen += bool(matches(request))
        return fault if matches(request) and seen == number else None

    return script


class ScriptedAdapter(HTTPAdapter):
    """Mount it where the usual adapter would be; ``sent`` are (method, url) of all that was tried."""

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
                # Left open, the socket would warn in whichever test the collector runs in.
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
    """``[placement] timeout`` is so much for a block; a loaded machine needs more before and after it."""
    session = client._adapter.session
    before, session.timeout = session.timeout, timeout_s
    try:
        yield
    finally:
        session.timeout = before


def carried_out_late(queued: list[requests.PreparedRequest]) -> None:
    """Somebody answered for the server, which had the request in its queue and carries it out now."""
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
    """Listens on a free loopback port before ``target``; what is said here may change at any time.

    An answer that trickles goes on as it began: better weather is for what comes after it. Of each connection the
    first ``quick_answers`` are passed on whole.
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
        """End every connection that is open now; each one's own thread closes it."""
        for open_socket in tuple(self._open):
            with contextlib.suppress(OSError):
                open_socket.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Stop listening and drop everything."""
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
        """Both directions in one thread: a reset is only sent by a close that nobody else's recv holds up."""
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
    # shutdown, too: close alone does not wake a thread that waits in accept or recv.
    with contextlib.suppress(OSError):
        open_socket.shutdown(socket.SHUT_RDWR)
    open_socket.close()


@contextlib.contextmanager
def proxied(target: tuple[str, int], weather: Weather = Weather.FAIR) -> Iterator[TcpProxy]:
    """A proxy before ``target`` for a block."""
    proxy = TcpProxy(target=target, weather=weather)
    try:
        yield proxy
    finally:
        proxy.close()
