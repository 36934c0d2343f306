"""An HTTP server in Placement's place: it passes requests on, answers them itself, or lets a test intervene.

The server runs in the test and sees requests, not bytes. So a test can kill the agent between two writes without any
hook in the agent. It uses keep-alive like a real server.
"""

from __future__ import annotations

import contextlib
import enum
import http.client
import socket
import struct
import threading
import urllib.parse
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import BinaryIO

WRITES = frozenset({"PUT", "POST", "DELETE"})
_HOP_BY_HOP = frozenset({"connection", "keep-alive", "transfer-encoding", "content-length", "host", "date", "server"})


class Framing(enum.Enum):
    """How the response indicates the end of its body."""

    HONEST = "its length is given"
    TOO_LONG = "a greater length than comes, and then the connection ends"
    UNTIL_CLOSE = "no length: it ends with the connection"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The answer to the agent; with ``byte_every_s`` its body is sent byte by byte at that interval.

    The body is sent ``times`` times, one after the other.
    """

    status: int
    body: bytes = b""
    headers: tuple[tuple[str, str], ...] = (("Content-Type", "application/json"),)
    framing: Framing = Framing.HONEST
    byte_every_s: float = 0.0
    times: int = 1


class Dropped(Exception):
    """Raised by a hook to close the connection without an answer."""


class Reset(Dropped):
    """Raised by a hook to close the connection with a reset."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One request as received; ``path`` includes the query, header names are in lower case."""

    method: str
    path: str
    headers: Mapping[str, str] = field(default_factory=dict, compare=False, repr=False)

    @property
    def is_write(self) -> bool:
        """Whether the request would change something."""
        return self.method in WRITES


class Gateway:
    """A server in front of ``target``, or without a target if ``before`` answers every request.

    ``before`` sees each request first: an Answer is sent as it is, None passes the request on. ``after`` sees the
    request when the target has carried it out and before the answer is sent. ``change`` may then replace the answer.
    All three may raise Dropped or Reset.
    """

    def __init__(self, target: str = "") -> None:
        self.target = urllib.parse.urlsplit(target)
        self.before: Callable[[Asked], Answer | None] = lambda _asked: None
        self.after: Callable[[Asked], None] = lambda _asked: None
        self.change: Callable[[Asked, Answer], Answer] = lambda _asked, answer: answer
        self.seen: list[Asked] = []
        self._ended = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    @property
    def writes(self) -> list[str]:
        """METHOD and path of the writing requests so far."""
        return [f"{asked.method} {asked.path}" for asked in self.seen if asked.is_write]

    def clear(self) -> None:
        """Pass on all requests from now on."""
        self.before, self.after = lambda _asked: None, lambda _asked: None
        self.change = lambda _asked, answer: answer

    def close(self) -> None:
        """Stop listening, and stop every answer that is still being sent byte by byte."""
        self._ended.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def carry(self, asked: Asked, body: bytes, headers: dict[str, str]) -> Answer:
        """Return the answer to one request."""
        # A test may see this request and then change ``before``: the change applies to the next request.
        before = self.before
        self.seen.append(asked)
        answer = before(asked)
        if answer is None:
            answer = self._pass_on(asked, body, headers)
            self.after(asked)
            answer = self.change(asked, answer)
        return answer

    def _pass_on(self, asked: Asked, body: bytes, headers: dict[str, str]) -> Answer:
        connection = http.client.HTTPConnection(self.target.netloc, timeout=120)
        with contextlib.closing(connection):
            connection.request(asked.method, asked.path, body or None, headers)
            reply = connection.getresponse()
            kept = tuple(pair for pair in reply.getheaders() if pair[0].lower() not in _HOP_BY_HOP)
            return Answer(status=reply.status, body=reply.read(), headers=kept)

    def _send_body(self, to: BinaryIO, answer: Answer) -> None:
        if not answer.byte_every_s:
            for _ in range(answer.times):
                to.write(answer.body)
            return
        for byte in answer.body:
            to.write(bytes([byte]))
            self._ended.wait(answer.byte_every_s)

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        gateway = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def serve(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                headers = {name: value for name, value in self.headers.items() if name.lower() not in _HOP_BY_HOP}
                try:
                    names = {name.lower(): value for name, value in headers.items()}
                    asked = Asked(method=self.command, path=self.path, headers=names)
                    self.reply(gateway.carry(asked, body, headers))
                except Reset:
                    _reset(self.connection)
                    self.close_connection = True
                except (Dropped, OSError):
                    self.close_connection = True

            do_GET = do_PUT = do_POST = do_DELETE = serve  # noqa: N815 - http.server's own names

            def reply(self, answer: Answer) -> None:
                self.send_response(answer.status)
                for name, value in answer.headers:
                    self.send_header(name, value)
                if answer.framing is not Framing.HONEST:
                    self.close_connection = True
                if answer.framing is not Framing.UNTIL_CLOSE and answer.status != 204:
                    more = 100 if answer.framing is Framing.TOO_LONG else 0
                    self.send_header("Content-Length", str(len(answer.body) * answer.times + more))
                self.end_headers()
                gateway._send_body(self.wfile, answer)

            def log_message(self, *_arguments: object) -> None:
                """Log nothing: pytest's output is for tests."""

        return Handler


def _reset(connection: socket.socket) -> None:
    """Close with a reset. The socket is detached: otherwise its thread's own shutdown would come first."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    socket.close(connection.detach())


@contextlib.contextmanager
def gateway(target: str = "") -> Iterator[Gateway]:
    """Yield a gateway and close it after the block."""
    made = Gateway(target)
    try:
        yield made
    finally:
        made.close()
