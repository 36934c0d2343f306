"""Open the cell database read-only, and limit every wait to the deadline of the read.

Three facts shape this module:

- SQLite creates a missing file unless the URI has ``mode=ro``.
- A frozen MariaDB still accepts connections, so every read from the socket needs a limit, not only the connect.
- If the client disconnects, the server still finishes the statement, unless the server has a limit too.

Only NovaSql's thread may use this module, because each object stores the deadline of the current read.
"""

from __future__ import annotations

import contextlib
import struct
import urllib.parse
import zlib
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
    import sqlite3

    from agent.sources.nova.connection import BoundedConnection

# The time-out of SQLAlchemy's ping that detects a stale pooled connection; the read's deadline does not limit the ping.
PING_S = 1.0
# The default of sql_select_limit in MariaDB and MySQL.
EVERY_ROW = 2**64 - 1
# The shortest time-out to set: MariaDB takes 0 as "no limit".
SHORTEST_S = 0.01
RECYCLE_S = 280
# The errors that PyMySQL passes on unchanged. These errors occur if the server is not a MySQL server, if the server
# requires an authentication plug-in that is not installed (RuntimeError), or if the URL has an option unknown to
# PyMySQL (TypeError).
NO_CONVERSATION = (OSError, struct.error, ValueError, TypeError, LookupError, AssertionError, RuntimeError)


# A part of the SQL statement ``_PULSE``: it selects the plausible heartbeats of undeleted services. The pulse is the
# two newest of these heartbeats. Each conductor, scheduler and nova-compute writes a heartbeat every
# ``report_interval``, so the newest heartbeats show how old the rows are. A heartbeat that is a minute ahead of the
# database's clock is not plausible: a service with a wrong clock wrote it, perhaps long ago.
_TRUE = "FROM services WHERE deleted = 0 AND last_seen_up < {ahead}"
_PULSE = (
    "SELECT {now}, (SELECT MAX(last_seen_up) "
    + _TRUE
    + "), (SELECT last_seen_up "
    + _TRUE
    + " ORDER BY last_seen_up DESC LIMIT 1 OFFSET 1)"
)


class CellDatabase(Protocol):
    """A cell database of nova: MariaDB or SQLite.

    ``pulse`` selects the database's clock and the two newest heartbeats of nova's services.
    """

    shown: str
    pulse: TextClause
    known_columns: TextClause

    def snapshot(self, deadline: Deadline) -> contextlib.AbstractContextManager[Connection]:
        """Open a connection in one read-only transaction with a consistent view; no statement outlasts the deadline."""
        ...

    def close(self) -> None:
        """Close every connection; the next snapshot opens a new connection."""
        ...


def cell_database(url: str) -> CellDatabase:
    """Return the cell database at a SQLAlchemy URL. Raises ConfigError unless the URL is for SQLite or PyMySQL."""
    try:
        parsed = make_url(url)
    except ArgumentError as error:
        raise ConfigError("[state] connection: not a database URL (dialect://user:password@host/name)") from error
    shown = _shown(parsed)
    if parsed.drivername in {"sqlite", "sqlite+pysqlite"}:
        if not parsed.database or parsed.database == ":memory:" or parsed.database.startswith("file:"):
            raise ConfigError(f"[state] connection: {shown} names no file; write sqlite:////the/path")
        return SqliteCell(parsed.database)
    if parsed.drivername in {"mysql+pymysql", "mariadb+pymysql"}:
        if not parsed.database:
            raise ConfigError(f"[state] connection: {shown} names no database")
        return MariaDbCell(parsed)
    raise ConfigError(
        f"[state] connection: {shown} is not supported; the agent reads mysql+pymysql:// and sqlite:/// databases"
    )


class SqliteCell:
    """A SQLite file. Each read opens the file again, because an operator may replace the file between two reads.

    The connection gets MariaDB's functions CRC32 and CONCAT, for sign_tables.py.
    """

    pulse = text(_PULSE.format(now="datetime('now')", ahead="datetime('now', '+60 seconds')"))
    known_columns = text(
        "SELECT t.name, c.name FROM sqlite_master AS t JOIN pragma_table_info(t.name) AS c WHERE t.type = 'table'"
    )

    def __init__(self, path: str) -> None:
        self.shown = f"sqlite:///{path}"
        self._path = path
        self._engine = sqlalchemy.create_engine("sqlite://", creator=self._open, poolclass=NullPool)
        self._deadline = Deadline(0.0)

    @contextlib.contextmanager
    def snapshot(self, deadline: Deadline) -> Iterator[Connection]:
        """See CellDatabase. In SQLite, the consistent view begins with the first statement that reads."""
        self._deadline = deadline
        with self._engine.connect() as connection:
            connection.exec_driver_sql("BEGIN")
            yield connection

    def close(self) -> None:
        """Do nothing: no connection stays open between two reads."""

    def _open(self) -> sqlite3.Connection:
        # Import late: an agent whose cell database is MariaDB does not need SQLite.
        import sqlite3

        deadline = self._deadline
        opened = sqlite3.connect(
            f"file:{urllib.parse.quote(self._path)}?mode=ro",
            uri=True,
            timeout=max(deadline.left_s(), SHORTEST_S),
            isolation_level=None,
        )
        opened.create_function("crc32", 1, lambda words: zlib.crc32(str(words).encode()), deterministic=True)
        opened.create_function("concat", -1, lambda *words: "".join(map(str, words)), deterministic=True)
        opened.set_progress_handler(lambda: int(deadline.left_s() <= 0), 10_000)
        return opened


class MariaDbCell:
    """MariaDB or MySQL, with one pooled connection."""

    pulse = text(_PULSE.format(now="UTC_TIMESTAMP()", ahead="UTC_TIMESTAMP() + INTERVAL 60 SECOND"))
    known_columns = text(
        "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = DATABASE()"
    )

    def __init__(self, url: URL) -> None:
        self.shown = _shown(url)
        # devstack may add the URL option "plugin", which names a devstack package; the agent must not load that
        # package.
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
            is_mariadb = bool(getattr(connection.dialect, "is_mariadb", False))
            connection.exec_driver_sql(statement_limit(self._patience_s(), is_mariadb=is_mariadb))
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
            # Autocommit, because snapshot() itself begins the only transaction, which is read-only and consistent.
            isolation_level="AUTOCOMMIT",
            pool_pre_ping=True,
            pool_recycle=RECYCLE_S,
            pool_size=1,
            max_overflow=0,
            # With a lower isolation level, each SELECT would read the state of the database at a different time.
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
        # Import late: a host whose database is SQLite does not need PyMySQL.
        from agent.sources.nova.connection import BoundedConnection

        patience_s = self._patience_s()
        limits = {"connect_timeout": patience_s, "read_timeout": patience_s, "write_timeout": patience_s}
        return BoundedConnection(*positional, **{**named, **limits}, left_s=self._left_s)

    def _limit_statement(self, connection: Connection, *_statement: object) -> None:
        _limit_socket(connection.connection.dbapi_connection, self._patience_s())


def statement_limit(seconds: float, *, is_mariadb: bool) -> str:
    """Return the SQL that makes the server abort a statement after ``seconds``, and lifts the server's row limit.

    On MySQL, the time is in ms and applies only to SELECT. If an operator has set ``sql_select_limit`` on the server,
    the server returns at most that number of rows without an error, and a missing instance would look deleted.
    """
    limit = f"max_statement_time = {seconds:.3f}" if is_mariadb else f"max_execution_time = {int(seconds * 1000)}"
    return f"SET SESSION {limit}, sql_select_limit = {EVERY_ROW}"


def _shown(url: URL) -> str:
    # Options in the URL's query, such as ssl_key or password, may be secret. So show only the driver, user, server and
    # database.
    return url.difference_update_query(list(url.query)).render_as_string(hide_password=True)


def _limit_ping(dbapi_connection: object, _record: object) -> None:
    if dbapi_connection is not None:
        _limit_socket(dbapi_connection, PING_S)


def _limit_socket(dbapi_connection: object, seconds: float) -> None:
    # PyMySQL applies these two attributes to its socket before each read and write, but has no public way to set them.
    # tests/contract/state/test_nova_sql_faults.py freezes a server to prove that setting them works.
    vars(dbapi_connection).update(_read_timeout=seconds, _write_timeout=seconds)
