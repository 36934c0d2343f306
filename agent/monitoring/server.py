"""Serve HTTP GET and HEAD on a unix socket or a TCP port, with few resources and without delaying an audit.

At most 4 connections are served at a time, and further connections get 503. Each request may take 5 s and 8 KiB. Each
connection has a daemon thread, which ends after one answer. The thread takes no lock that an audit uses.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import socket
import socketserver
import stat
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from typing import Any

from agent.deadlines.bounded_reads import BoundedReads
from agent.monitoring.address import Address

MOST_CONNECTIONS = 4
REQUEST_S = 5.0
REQUEST_BYTES = 8192
_TEXT = "text/plain; charset=utf-8"
_BUSY = b"HTTP/1.0 503 Service Unavailable\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One HTTP answer; ``headers`` are further (name, value) pairs."""

    status: int
    body: bytes
    content_type: str = _TEXT
    headers: tuple[tuple[str, str], ...] = ()


#: A function that returns the answer for one path; its argument is the request's header Accept. Any thread may call the
#: function, and the function must not block.
Page = Callable[[str], Answer]


class _LimitedReads(BoundedReads):
    """The raw stream of a connection: no request is longer than REQUEST_BYTES or takes longer than REQUEST_S."""

    left_bytes = REQUEST_BYTES

    def readinto(self, buffer: Any) -> int | None:  # noqa: ANN401 - typeshed's WriteableBuffer
        """Read into ``buffer``, and return the number of bytes read. A request has at most REQUEST_BYTES in all.

        Raises ConnectionError if REQUEST_BYTES were already read.
        """
        if not self.left_bytes:
            raise ConnectionError(f"the request is longer than {REQUEST_BYTES} bytes")
        came = super().readinto(memoryview(buffer)[: self.left_bytes])
        self.left_bytes -= came or 0
        return came


class _Handler(BaseHTTPRequestHandler):
    server_version = "stocktake"
    sys_version = ""
    protocol_version = "HTTP/1.0"
    server: HttpServer

    timeout = REQUEST_S

    def setup(self) -> None:
        super().setup()
        ends_at = time.monotonic() + REQUEST_S
        raw = socket.SocketIO(self.connection, "r")
        self.rfile = io.BufferedReader(_LimitedReads(raw, self.connection, lambda: ends_at - time.monotonic()))

    def do_GET(self) -> None:
        self._answer()

    def do_HEAD(self) -> None:
        self._answer()

    def _answer(self) -> None:
        page = self.server.pages.get(self.path.partition("?")[0])
        answer = Answer(status=404, body=b"not found\n") if page is None else page(self.headers.get("Accept", ""))
        self.send_response(answer.status)
        for name, value in (("Content-Type", answer.content_type), *answer.headers):
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(answer.body)))
        self.send_header("Connection", "close")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(answer.body)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:  # noqa: ARG002
        """Send an error response whose body is only the error's name.

        For a method other than GET and HEAD, the status is 405. The base class would send 501.
        """
        code = 405 if code == HTTPStatus.NOT_IMPLEMENTED else code
        body = f"{HTTPStatus(code).phrase.lower()}\n".encode()
        self.send_response(code)
        if code == HTTPStatus.METHOD_NOT_ALLOWED:
            self.send_header("Allow", "GET, HEAD")
        self.send_header("Content-Type", _TEXT)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Log nothing, because a line for each scrape would fill the log."""

    def address_string(self) -> str:
        """Return a constant. The base class would look up a name, and the client of a unix socket has no address."""
        return "-"


class HttpServer(socketserver.ThreadingMixIn, socketserver.TCPServer):
    """One listening socket with a thread that accepts connections. ``pages`` maps a path to its page."""

    daemon_threads = True
    block_on_close = False
    allow_reuse_address = True
    request_queue_size = 16

    def __init__(self, address: Address, pages: Mapping[str, Page], mode: int = 0o660, group: int = -1) -> None:
        """Bind the socket; a unix socket gets ``mode`` and ``group``. Raises OSError if the address cannot be used."""
        self.pages = pages
        self._address, self._mode, self._group = address, mode, group
        self._free = threading.BoundedSemaphore(MOST_CONNECTIONS)
        if address.is_unix:
            self.address_family = socket.AF_UNIX
            _remove_stale(address.path)
        elif ":" in address.host:
            self.address_family = socket.AF_INET6
        super().__init__(address.path if address.is_unix else (address.host, address.port), _Handler)  # type: ignore[arg-type]
        self._thread = threading.Thread(target=self.serve_forever, args=(0.5,), name="monitoring", daemon=True)

    def server_bind(self) -> None:
        """Bind the socket. A unix socket never has a more permissive mode than ``mode``, not even for a moment."""
        if not self._address.is_unix:
            super().server_bind()
            return
        # Linux creates the socket's file with the mode of the socket, so the socket gets a strict mode first. A change
        # of the umask would have the same effect, but would also change the mode of files that other threads create
        # meanwhile.
        os.fchmod(self.fileno(), 0o600)
        super().server_bind()
        try:
            if self._group != -1:
                os.chown(self._address.path, -1, self._group)
            os.chmod(self._address.path, self._mode)
        except OSError:
            with contextlib.suppress(OSError):
                os.unlink(self._address.path)
            raise

    def start(self) -> None:
        """Start the thread that accepts connections."""
        self._thread.start()

    def end(self) -> None:
        """Stop accepting connections, close the socket and remove a unix socket's file.

        Answers that have begun are completed.
        """
        if self._thread.is_alive():
            self.shutdown()
        self.server_close()
        if self._address.is_unix:
            with contextlib.suppress(OSError):
                os.unlink(self._address.path)

    def process_request(self, request: Any, client_address: Any) -> None:  # noqa: ANN401 - socketserver's
        """Serve the connection on a thread, or answer 503 if MOST_CONNECTIONS are served already."""
        if not self._free.acquire(blocking=False):
            with contextlib.suppress(OSError):
                request.settimeout(0.1)
                request.sendall(_BUSY)
            self.shutdown_request(request)
            return
        try:
            super().process_request(request, client_address)
        except RuntimeError:  # No further thread could be started: close the connection.
            self._free.release()
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:  # noqa: ANN401 - socketserver's
        """Serve the connection, then free its place for the next connection."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._free.release()

    def handle_error(self, *_: object) -> None:
        """Ignore the error of one connection: a client that disconnects early needs no log line."""


def _remove_stale(path: str) -> None:
    """Remove a socket file whose server is gone.

    Raises OSError if a server uses the socket or the file is not a socket.
    """
    try:
        if not stat.S_ISSOCK(os.lstat(path).st_mode):
            raise OSError(errno.EEXIST, "the file exists and is no socket", path)
    except FileNotFoundError:
        return
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(1.0)
        try:
            probe.connect(path)
        except ConnectionRefusedError:
            os.unlink(path)
            return
        except OSError as error:
            if error.errno == errno.ENOENT:
                return
            raise
    raise OSError(errno.EADDRINUSE, os.strerror(errno.EADDRINUSE), path)
