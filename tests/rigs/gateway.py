"""An HTTP server that stands where Placement is expected: passes requests on, answers for it, or lets a test step in.

It belongs to the test and knows requests, not bytes: so a test can kill the agent
between two writes without any hook in the agent. Keep-alive as a real server has it.
"""

from __future__ import annotations

import contextlib
import http.client
import threading
import urllib.parse
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

WRITES = frozenset({"PUT", "POST", "DELETE"})
_HOP_BY_HOP = frozenset({"connection", "keep-alive", "transfer-encoding", "content-length", "host", "date", "server"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What goes back to the agent."""

    status: int
    body: bytes = b""
    headers: tuple[tuple[str, str], ...] = (("Content-Type", "application/json"),)


class Dropped(Exception):
    """Raised by a hook: the connection ends without an answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One request as it came; ``path`` with its query."""

    method: str
    path: str

    @property
    def is_write(self) -> bool:
        """Whether it would change something."""
        return self.method in WRITES


class Gateway:
    """Before the server at ``target``, or alone where ``before`` answers everything.

    ``before`` sees each request first: an Answer is sent as it is, None passes the request on. ``after`` sees it
    when the target has carried it out and its answer is not sent yet. Both may raise Dropped.
    """

    def __init__(self, target: str = "") -> None:
        self.target = urllib.parse.urlsplit(target)
        self.before: Callable[[Asked], Answer | None] = lambda _asked: None
        self.after: Callable[[Asked], None] = lambda _asked: None
        self.seen: list[Asked] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    @property
    def writes(self) -> list[str]:
        """METHOD path of the requests that write, so far."""
        return [f"{asked.method} {asked.path}" for asked in self.seen if asked.is_write]

    def close(self) -> None:
        """Stop listening."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def carry(self, asked: Asked, body: bytes, headers: dict[str, str]) -> Answer:
        """The answer to one request."""
        self.seen.append(asked)
        answer = self.before(asked)
        if answer is None:
            answer = self._pass_on(asked, body, headers)
            self.after(asked)
        return answer

    def _pass_on(self, asked: Asked, body: bytes, headers: dict[str, str]) -> Answer:
        connection = http.client.HTTPConnection(self.target.netloc, timeout=30)
        with contextlib.closing(connection):
            connection.request(asked.method, asked.path, body or None, headers)
            reply = connection.getresponse()
            kept = tuple(pair for pair in reply.getheaders() if pair[0].lower() not in _HOP_BY_HOP)
            return Answer(status=reply.status, body=reply.read(), headers=kept)

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        gateway = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def serve(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                headers = {name: value for name, value in self.headers.items() if name.lower() not in _HOP_BY_HOP}
                try:
                    self.reply(gateway.carry(Asked(method=self.command, path=self.path), body, headers))
                except (Dropped, OSError):
                    self.close_connection = True

            do_GET = do_PUT = do_POST = do_DELETE = serve  # noqa: N815 - http.server's own names

            def reply(self, answer: Answer) -> None:
                self.send_response(answer.status)
                for name, value in answer.headers:
                    self.send_header(name, value)
                if answer.status != 204:
                    self.send_header("Content-Length", str(len(answer.body)))
                self.end_headers()
                self.wfile.write(answer.body)

            def log_message(self, *_arguments: object) -> None:
                """Nothing: pytest's output is for tests."""

        return Handler


@contextlib.contextmanager
def gateway(target: str = "") -> Iterator[Gateway]:
    """One for a block."""
    made = Gateway(target)
    try:
        yield made
    finally:
        made.close()
