"""The heartbeat of a cell in which no nova service runs: one row of ``services``, updated twice a second.

If a cell has no recent heartbeat, the agent assumes that it reads an old replica. One thread keeps alive every cell
that the agents of the tests read. The heartbeat of a cell ends with the test that started it (tests/conftest.py), with
``forget``, or when the cell's database is gone.
"""

from __future__ import annotations

import contextlib
import threading
from pathlib import Path

import sqlalchemy
from sqlalchemy import Connection, Engine, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.pool import NullPool

from agent.demo import cell

EVERY_S = 0.5


class Heart:
    """Keep cells alive from ``keep`` until ``forget``."""

    def __init__(self) -> None:
        self._engines: dict[str, Engine] = {}
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._thread: threading.Thread | None = None

    def keep(self, url: str) -> None:
        """Write a heartbeat now, and one each half second while the database exists; raise if the first beat fails."""
        engine = _engine(url)
        _beat(engine)
        with self._lock:
            self._engines[url] = engine
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="cell-heart", daemon=True)
                self._thread.start()

    def kept(self) -> frozenset[str]:
        """Return the cells that this object keeps alive."""
        with self._lock:
            return frozenset(self._engines)

    def forget(self, url: str) -> None:
        """Stop the heartbeat of that cell."""
        with self._lock:
            self._engines.pop(url, None)

    def _run(self) -> None:
        while not self._wake.wait(EVERY_S):
            with self._lock:
                # Hold the lock, so that nothing is written after forget() has returned.
                for url, engine in tuple(self._engines.items()):
                    if _is_gone(url):
                        del self._engines[url]
                        continue
                    with contextlib.suppress(SQLAlchemyError):  # locked, or a server that a test has stopped
                        _beat(engine)


_HEART = Heart()
keep, kept, forget = _HEART.keep, _HEART.kept, _HEART.forget


def beat(connection: Connection) -> None:
    """Write one heartbeat by the database's own clock."""
    now = "datetime('now')" if connection.dialect.name == "sqlite" else "UTC_TIMESTAMP()"
    where = f"host = '{cell.HEART_HOST}' AND deleted = 0"
    if connection.execute(text(f"UPDATE services SET last_seen_up = {now} WHERE {where}")).rowcount == 0:
        cell.add_heartbeat(connection)


def _beat(engine: Engine) -> None:
    with engine.begin() as connection:
        if engine.dialect.name == "sqlite":
            # Without waiting for the disk, which took most of a beat's time.
            connection.execute(text("PRAGMA synchronous = OFF"))
        beat(connection)


def _engine(url: str) -> Engine:
    """Return an engine that connects for each beat: a test may replace the database."""
    path = make_url(url).database if url.startswith("sqlite") else None
    # Mode "rw": otherwise SQLite would create a database file that a test has removed.
    opened = f"sqlite:///file:{path}?mode=rw&uri=true" if path else url
    # Short time-outs: the beat must not wait for a lock that the test's agent has. Without ssl_disabled, PyMySQL 1.2
    # reads all certificates of the machine for each connection.
    limits = {"connect_timeout": 1, "read_timeout": 1, "write_timeout": 1}
    arguments = {"timeout": 0.5} if path else limits | {"ssl_disabled": True}
    return sqlalchemy.create_engine(opened, poolclass=NullPool, connect_args=arguments)


def _is_gone(url: str) -> bool:
    path = make_url(url).database if url.startswith("sqlite") else None
    return path is not None and not Path(path).exists()
