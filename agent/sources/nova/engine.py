"""Open the cell database so that it can only be read, and so that nothing waits past a deadline.

What a newcomer would get wrong: SQLite creates a file that is missing unless told
not to (``mode=ro``); a frozen MariaDB still accepts connections, so every read
from the socket needs a limit, not only connecting; and a statement whose client
has gone away runs on in the server unless the server has a limit too.
One thread, and always the same (NovaSql's): the deadline of the read under way is kept in the object.
"""

from __future__ import annotations

import contextlib
import sqlite3
import struct
import urllib.parse
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import sqlalchemy
from sqlalchemy import Connection, Engine, TextClause, event, text
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError
from sqlalchemy.pool import NullPool

from agent.errors import ConfigError, SourceUnavailable
from agent.model.snapshot import STATE
from agent.ports import Deadline

if TYPE_CHECKING:
    from agent.sources.nova.connection import BoundedConnection

# A pooled connection that went stale is found out by a ping, which no deadline reaches.
PING_S = 1.0
# What MariaDB and MySQL have by default for sql_select_limit.
EVERY_ROW = 2**64 - 1
# MariaDB takes 0 for no limit.
SHORTEST_S = 0.01
RECYCLE_S = 280
# What PyMySQL lets through when the other side is no MySQL server, wants an
# authentication that is not installed (RuntimeError), or the URL has an option
# that PyMySQL does not know (TypeError).
NO_CONVERSATION = (OSError, struct.error, ValueError, TypeError, LookupError, AssertionError, RuntimeError)


# The two newest heartbeats of the live services of the cell that can be true: conductors, schedulers and nova-computes
# each write one every ``report_interval``, so their age is how far the rows are behind. A row that is a minute ahead of
# the clock was written by a clock that was wrong, perhaps long ago.
_TRUE = "FROM services WHERE deleted = 0 AND last_seen_up < {ahead}"
_PULSE = (
    "SELECT {now}, (SELECT MAX(last_seen_up) "
    + _TRUE
    + "), (SELECT last_seen_up "
    + _TRUE
    + " ORDER BY last_seen_up DESC LIMIT 1 OFFSET 1)"
)


class CellDatabase(Protocol):
    """What nova_sql needs to know about one kind of database.

    ``pulse`` gives one row: the database's clock, and the two newest heartbeats of the cell.
    """

    shown: str
    pulse: TextClause
    known_columns: TextClause

    def snapshot(self, deadline: Deadline) -> contextlib.AbstractContextManager[Connection]:
        """A connection inside one read-only transaction that sees one moment; no statement outlives the deadline."""
        ...

    def close(self) -> None:
        """Close every connection; the next snapshot opens a new one."""
        ...


def cell_database(url: str) -> CellDatabase:
    """The database of a SQLAlchemy URL. Raises ConfigError on any but MariaDB/MySQL by PyMySQL and SQLite."""
    try:
        parsed = make_url(url)
    except ArgumentError as error:
        raise ConfigError("[state] connection: not a database URL (dialect://user:password@host/name)") from error
    shown = _shown(parsed)
    if parsed.drivername in {"sqlite", "sqlite+pysqlite"}:
        if not parsed.database or parsed.database == ":memory:" or parsed.database.startswith("file:"):
            raise ConfigError(f"[state] connection: {shown} names no file; say sqlite:////the/path")
        return SqliteCell(parsed.database)
    if parsed.drivername in {"mysql+pymysql", "mariadb+pymysql"}:
        if not parsed.database:
            raise ConfigError(f"[state] connection: {shown} names no database")
        return MariaDbCell(parsed)
    raise ConfigError(
        f"[state] connection: {shown} is a database that cannot be read; mysql+pymysql:// and sqlite:/// can"
    )


class SqliteCell:
    """A SQLite file, opened anew for each read: it may be replaced between two."""

    pulse = text(_PULSE.format(now="datetime('now')", ahead="datetime('now', '+60 seconds')"))
    known_columns = text(
        "SELECT t.name, c.name FROM sqlite_master AS t JOIN pragma_table_info(t.name) AS c WHERE t.type = 'table'"
    )

    def __init__(self, path: str) -> None:
        self.shown = f"sqlite:///{path}"
        self._path = path
        self._engine: Engine | None = None
        self._deadline = Deadline(0.0)

    @contextlib.contextmanager
    def snapshot(self, deadline: Deadline) -> Iterator[Connection]:
        """See CellDatabase; SQLite's own snapshot begins with the first statement that reads."""
        self._deadline = deadline
        if self._engine is None:
            self._engine = sqlalchemy.create_engine("sqlite://", creator=self._open, poolclass=NullPool)
        with self._engine.connect() as connection:
            connection.exec_driver_sql("BEGIN")
            yield connection

    def close(self) -> None:
        """Nothing stays open between two reads."""

    def _open(self) -> sqlite3.Connection:
        deadline = self._deadline
        opened = sqlite3.connect(
            f"file:{urllib.parse.quote(self._path)}?mode=ro",
            uri=True,
            timeout=max(deadline.left_s(), SHORTEST_S),
            isolation_level=None,
        )
        opened.set_progress_handler(lambda: int(deadline.left_s() <= 0), 10_000)
        return opened


class MariaDbCell:
    """MariaDB or MySQL, one pooled connection."""

    pulse = text(_PULSE.format(now="UTC_TIMESTAMP()", ahead="UTC_TIMESTAMP() + INTERVAL 60 SECOND"))
    known_columns = text(
        "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = DATABASE()"
    )

    def __init__(self, url: URL) -> None:
        self.shown = _shown(url)
        # devstack's "plugin" names a package of its own, which is not for us to load.
        self._url = url.difference_update_query(["plugin"])
        self._engine: Engine | None = None
        self._deadline = Deadline(0.0)

    @contextlib.contextmanager
    def snapshot(self, deadline: Deadline) -> Iterator[Connection]:
        """See CellDatabase."""
        self._deadline = deadline
        if self._engine is None:
            self._engine = self._create_engine()
        with self._connected(self._engine) as connection:
            connection.exec_driver_sql(statement_limit(self._patience_s(), is_mariadb=_is_mariadb(connection)))
            connection.exec_driver_sql("START TRANSACTION READ ONLY")
            yield connection

    def close(self) -> None:
        """See CellDatabase."""
        if self._engine is not None:
            self._engine.dispose()

    def _connected(self, engine: Engine) -> Connection:
        try:
            return engine.connect()
        except NO_CONVERSATION as error:
            raise SourceUnavailable(STATE, f"{self.shown}: {type(error).__name__} {error}") from error

    def _create_engine(self) -> Engine:
        engine = sqlalchemy.create_engine(
            self._url,
            # Autocommit, because the one transaction is begun by hand: read-only and at one moment.
            isolation_level="AUTOCOMMIT",
            pool_pre_ping=True,
            pool_recycle=RECYCLE_S,
            pool_size=1,
            max_overflow=0,
            # At this level, and no lower one, the first SELECT fixes the moment that all the others see.
            connect_args={"init_command": "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ"},
        )
        event.listen(engine, "do_connect", self._opened)
        event.listen(engine, "before_cursor_execute", self._limit_statement)
        event.listen(engine, "checkin", _limit_ping)
        return engine

    def _left_s(self) -> float:
        return self._deadline.left_s()

    def _patience_s(self) -> float:
        return max(self._left_s(), SHORTEST_S)

    def _opened(
        self, _dialect: object, _record: object, positional: Sequence[Any], named: Mapping[str, Any]
    ) -> BoundedConnection:
        # PyMySQL is as little for a host whose database is SQLite as the rest of this class.
        from agent.sources.nova.connection import BoundedConnection

        patience_s = self._patience_s()
        limits = {"connect_timeout": patience_s, "read_timeout": patience_s, "write_timeout": patience_s}
        return BoundedConnection(*positional, **{**named, **limits}, left_s=self._left_s)

    def _limit_statement(self, connection: Connection, *_statement: object) -> None:
        _limit_socket(connection.connection.dbapi_connection, self._patience_s())


def statement_limit(seconds: float, *, is_mariadb: bool) -> str:
    """The statement that makes the server itself end what takes longer, and leave out no row.

    MySQL counts in ms, and only for SELECT. A server whose ``sql_select_limit`` somebody has set answers each SELECT
    with so many rows, without an error: an instance that is left out looks deleted.
    """
    limit = f"max_statement_time = {seconds:.3f}" if is_mariadb else f"max_execution_time = {int(seconds * 1000)}"
    return f"SET SESSION {limit}, sql_select_limit = {EVERY_ROW}"


def _shown(url: URL) -> str:
    # Options may be secrets too (ssl_key, password): only where, who and what remain.
    return url.difference_update_query(list(url.query)).render_as_string(hide_password=True)


def _is_mariadb(connection: Connection) -> bool:
    return bool(getattr(connection.dialect, "is_mariadb", False))


def _limit_ping(dbapi_connection: object, _record: object) -> None:
    if dbapi_connection is not None:
        _limit_socket(dbapi_connection, PING_S)


def _limit_socket(dbapi_connection: object, seconds: float) -> None:
    # PyMySQL sets these on its socket before each read and write, and has no
    # public way to change them; test_nova_sql_faults freezes a server to prove it.
    vars(dbapi_connection).update(_read_timeout=seconds, _write_timeout=seconds)
