"""One of several processes that serve a real Placement on one port: benchmarks.fleet starts them.

``python -m benchmarks.fleet_server --folder F --port N --connection URL --threads N``

The kernel distributes connections among the processes that listen with SO_REUSEPORT, as a front end would. Each process
writes ``access-PID.log`` with one line per request: arrival (UNIX time) and duration (seconds) in this process, then
status, method, path and global request id. The process ends when its standard input is closed, so at the latest when
its parent ends.
"""

# ruff: noqa: E402 (nothing of oslo may be imported before eventlet is out)
from __future__ import annotations

import sys

sys.modules["eventlet"] = None  # type: ignore[assignment]

import argparse
import os
import socket
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import waitress.server

from agent.demo import placement_server as single

Application = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]

#: Fleets keep their connections open. waitress's own limit is 100 connections.
CONNECTIONS = 20_000
BACKLOG = 4096


def main(argv: list[str] | None = None) -> int:
    """Serve until standard input is closed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fleet_server")
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--connection", required=True)
    parser.add_argument("--threads", type=int, default=4)
    options = parser.parse_args(argv)
    folder = options.folder / f"server-{os.getpid()}"
    folder.mkdir(parents=True)
    application = single._placement(folder, options.connection)
    with (options.folder / f"access-{os.getpid()}.log").open("a", buffering=1) as log:
        server = waitress.server.create_server(
            logged(application, log.write),
            sockets=[listening(options.port)],
            threads=options.threads,
            connection_limit=CONNECTIONS,
            backlog=BACKLOG,
            # select() supports only 1,024 descriptors.
            asyncore_use_poll=True,
            # A quiet agent sends a request once a minute and keeps its connection, as behind any front end.
            channel_timeout=300,
        )
        (options.folder / f"ready-{os.getpid()}").touch()
        single.threading.Thread(target=single._end_with_parent, daemon=True).start()
        single.signal.signal(single.signal.SIGTERM, single._end)
        server.run()
    return 0


def listening(port: int) -> socket.socket:
    """Return a socket on a port that other processes may share."""
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    listener.bind(("127.0.0.1", port))
    return listener


def logged(application: Application, write: Callable[[str], object]) -> Application:
    """Return ``application`` with one log line per request."""

    def serve(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        began = time.time()
        statuses: list[str] = []

        def start(status: str, headers: list[tuple[str, str]], *failure: object) -> object:
            statuses.append(status[:3])
            return start_response(status, headers, *failure)

        try:
            return application(environ, start)
        finally:
            query = environ.get("QUERY_STRING")
            path = environ["PATH_INFO"] + (f"?{query}" if query else "")
            request_id = environ.get("HTTP_X_OPENSTACK_REQUEST_ID", "-")
            status = statuses[-1] if statuses else "500"
            seconds = time.time() - began
            write(f"{began:.3f} {seconds:.4f} {status} {environ['REQUEST_METHOD']} {path} {request_id}\n")

    return serve


if __name__ == "__main__":
    sys.exit(main())
