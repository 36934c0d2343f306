"""The heartbeat of a cell in which no nova service runs: one row of ``services``, updated twice a second.

If a cell has no recent heartbeat, the agent assumes that it reads an old replica. One thread keeps alive every cell
that the agents of the tests read. A cell whose database is gone is dropped.
"""

from __future__ import annotations

import contextlib
import threading
from pathlib import Path

import sqlalchemy
from sqlalchemy import Connection, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.pool import NullPool

from agent.demo import cell

EVERY_S = 0.5


class Heart:
    """Keep cells alive from ``keep`` until ``forget``."""

    def __init__(self) -> None:
        self._urls: set[str] = set()
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._thread: threading.Thread | None = None

    def keep(self, url: str) -> None:
        """Write a heartbeat now, and one each half second while the database exists; raise if the first beat fails."""
        _beat(url)
        with self._lock:
            self._urls.add(url)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="cell-heart", daemon=True)
                self._thread.start()

    def forget(self, url: str) -> None:
        """Stop the heartbeat of that cell."""
        with self._lock:
            self._urls.discard(url)

    def _run(self) -> None:
        while not self._wake.wait(EVERY_S):
            with self._lock:
                # Hold the lock, so that nothing is written after forget() has returned.
                for url in sorted(self._urls):
                    if _is_gone(url):
                        self._urls.discard(url)
                        continue
                    with contextlib.suppress(SQLAlchemyError):  # locked, or a server that a test has stopped
                        _beat(url)


_HEART = Heart()
keep, forget = _HEART.keep, _HEART.forget


def beat(connection: Connection) -> None:
    """Write one heartbeat by the database's own clock."""
    now = "datetime('now')" if connection.dialect.name == "sqlite" else "UTC_TIMESTAMP()"
    where = f"host = '{cell.HEART_HOST}' AND deleted = 0"
    if connection.execute(text(f"UPDATE services SET last_seen_up = {now} WHERE {where}")).rowcount == 0:
        cell.add_heartbeat(connection)


def _beat(url: str) -> None:
    path = make_url(url).database if url.startswith("sqlite") else None
    # Mode "rw": otherwise SQLite would create a database file that a test has removed.
    opened = f"sqlite:///file:{path}?mode=rw&uri=true" if path else url
    # Short time-outs: the beat must not wait for a lock that the test's agent has.
    arguments = {"timeout": 0.5} if path else {"connect_timeout": 1, "read_timeout": 1, "write_timeout": 1}
    engine = sqlalchemy.create_engine(opened, poolclass=NullPool, connect_args=arguments)
    try:
        with engine.begin() as connection:
            beat(connection)
    finally:
        engine.dispose()


def _is_gone(url: str) -> bool:
    path = make_url(url).database if url.startswith("sqlite") else None
    return path is not None and not Path(path).exists()
