"""Serve a real openstack-placement on the loopback interface, in its own process.

``python -m agent.demo.placement_server --folder F [--port 0] [--connection URL] [--threads N] [--until-stdin-closes]
[--cell FILE]``

The server writes three files into the folder: ``placement.conf``, ``access.log`` (one line for each request: method,
path, status, microversion, global request id) and ``port``, as soon as the server accepts requests. SIGTERM ends the
server. With ``--until-stdin-closes``, the server also exits when its standard input is closed, which happens whenever
the parent process ends; without this option, the server outlives its parent. With ``--cell``, the server also writes
the heartbeat of that cell's nova-conductor (heartbeat.py).

Requests authenticate with ``X-Auth-Token: admin`` (Placement's ``noauth2``), so the server listens on 127.0.0.1 only.
With SQLite the server has one thread: with more threads, Placement answers 500 "database is locked" (measured).
"""

# ruff: noqa: E402 (no oslo library may be imported before eventlet is blocked)
from __future__ import annotations

import sys

sys.modules["eventlet"] = None  # type: ignore[assignment]

import argparse
import os
import signal
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from types import FrameType
from typing import Any

import waitress.server
from oslo_config import cfg
from oslo_log import log as logging
from placement import conf as placement_conf
from placement import db_api, deploy
from placement.db.sqlalchemy import migration

SQLITE_THREADS = 1
SERVER_THREADS = 4

Application = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]


def main(argv: list[str] | None = None) -> int:
    """Serve requests until SIGTERM; with ``--until-stdin-closes``, also until standard input ends."""
    options = _options(argv)
    folder: Path = options.folder
    connection = options.connection or f"sqlite:///{folder / 'placement.sqlite'}"
    # Set the handler before the slow part: a SIGTERM during the start must end the process too.
    signal.signal(signal.SIGTERM, _end)
    if options.until_stdin_closes:
        threading.Thread(target=_end_with_parent, daemon=True).start()
    if options.cell is not None:
        # Import late: the tests run this module in environments of older Placement releases, whose SQLAlchemy is too
        # old for this import.
        from agent.demo.heartbeat import keep_alive

        keep_alive(options.cell)
    application = _placement(folder, connection)
    with (folder / "access.log").open("a", buffering=1) as log:
        threads = SQLITE_THREADS if connection.startswith("sqlite") else options.threads
        server = waitress.server.create_server(
            _logged(_with_roles(application), log.write), host="127.0.0.1", port=options.port, threads=threads
        )
        _write_port(folder, server.effective_port)
        server.run()
    return 0


def _options(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m agent.demo.placement_server", description="Serve Placement")
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--connection", help="SQLAlchemy URL; default: SQLite in the folder")
    parser.add_argument("--threads", type=int, default=SERVER_THREADS)
    parser.add_argument("--until-stdin-closes", action="store_true")
    parser.add_argument("--cell", type=Path, help="a SQLite cell database in which to write nova-conductor's heartbeat")
    return parser.parse_args(argv)


def _placement(folder: Path, connection: str) -> Application:
    """Return Placement's WSGI application, after migrating the database to the current schema."""
    # Placement reads the option ``connection`` while oslo.config parses the files. Code can set an option only after
    # the parsing, so the database URL must be in a file.
    path = folder / "placement.conf"
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        file.write(_configuration(connection))
    conf = cfg.ConfigOpts()
    placement_conf.register_opts(conf)
    logging.register_options(conf)
    conf([], project="placement", default_config_files=[str(path)])
    logging.setup(conf, "placement")
    db_api.configure(conf)
    migration.upgrade("head")
    application: Application = deploy.loadapp(conf)
    return application


def _configuration(connection: str) -> str:
    # Without fsync, SQLite's writes take a third less time (measured). The temporary data need not survive a power cut.
    # Escape "$", because oslo.config treats "$name" as a reference to another option.
    return (
        "[DEFAULT]\ndefault_log_levels = placement.requestlog=WARNING,oslo_policy=ERROR\n"
        "[api]\nauth_strategy = noauth2\n"
        f"[placement_database]\nsqlite_synchronous = false\nconnection = {connection.replace('$', '$$')}\n"
    )


def _with_roles(application: Application) -> Application:
    """Return an application in which the token ``admin`` also has the role ``service``, which a reshape requires."""

    def serve(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        if environ.get("HTTP_X_AUTH_TOKEN") == "admin":
            environ.setdefault("HTTP_X_ROLES", "admin,service")
        return application(environ, start_response)

    return serve


def _logged(application: Application, write: Callable[[str], object]) -> Application:
    """Return ``application`` with an access log. Each line is written before the client gets the answer."""

    def serve(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        def start(status: str, headers: list[tuple[str, str]], *failure: object) -> object:
            write(_line(environ, status))
            return start_response(status, headers, *failure)

        return application(environ, start)

    return serve


def _line(environ: dict[str, Any], status: str) -> str:
    # An example of a line: GET /resource_providers?name=cmp1 200 1.39 req-5d1c
    query = environ.get("QUERY_STRING")
    path = environ["PATH_INFO"] + (f"?{query}" if query else "")
    microversion = environ.get("HTTP_OPENSTACK_API_VERSION", "-").rpartition(" ")[2]
    request_id = environ.get("HTTP_X_OPENSTACK_REQUEST_ID", "-")
    return f"{environ['REQUEST_METHOD']} {path} {status[:3]} {microversion} {request_id}\n"


def _write_port(folder: Path, port: int) -> None:
    """Write the port file. The server's sockets already listen, so a reader of the file can connect at once."""
    draft = folder / "port.new"
    draft.write_text(f"{port}\n")
    draft.replace(folder / "port")


def _end(_number: int, _frame: FrameType | None) -> None:
    sys.exit(0)


def _end_with_parent() -> None:
    while os.read(0, 4096):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    sys.exit(main())
