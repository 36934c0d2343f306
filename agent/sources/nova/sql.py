"""Read the cloud's state of one host from nova's cell database, in one read-only transaction with a few statements.

The statements select instances by host, not by node (later stages of the audit check the node). The statements also
select each instance that a migration, an evacuation or a consumer in Placement names: that instance may be on another
host or deleted.

The server may have closed the pooled connection, so the source tries each read twice within the deadline. PyMySQL
cannot limit every wait (such as the look-up of the server's name), so all database calls run on one separate thread.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Set
from dataclasses import dataclass
from typing import Any, TypeVar

from sqlalchemy import Connection, Executable, Result
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from agent.deadlines.reader_thread import LAST_WORDS_S, ReaderThread, Unanswered
from agent.errors import SourceDenied, SourceInconsistent, SourceUnavailable
from agent.model.nova import AllMigrations, ComputeHost, LightState, NovaState, Pulse, StateSign
from agent.model.snapshot import STATE
from agent.ports import Deadline
from agent.sources.nova import sign_tables, tables
from agent.sources.nova.all_migrations import all_migrations
from agent.sources.nova.columns import COLUMNS
from agent.sources.nova.compute_hosts import compute_hosts_from_rows
from agent.sources.nova.documents import Row, chunks, texts
from agent.sources.nova.engine import CellDatabase, cell_database
from agent.sources.nova.guest_rows_cache import LastGuests
from agent.sources.nova.light import light_state
from agent.sources.nova.rows import CellRows, pulse_from, state_from_rows
from agent.sources.nova.tables import Query

T = TypeVar("T")

# MariaDB's error codes about the user, the password and the user's rights. The source does not try again after these
# errors, because a second try would fail too.
_DENIED = frozenset({1044, 1045, 1142, 1143, 1698, 1820, 1862, 4151})
# MariaDB's error codes for lock wait, deadlock, Galera node not ready, server gone, connection lost, unknown column and
# unknown table. After one of the last two codes, the second try checks the schema and names what is missing.
WORTH_REPEATING = frozenset({1205, 1213, 1047, 2006, 2013, 1054, 1146})


class NovaSql:
    """Implements StateSource with a cell database, for one caller at a time. One separate thread uses the database."""

    name = STATE

    def __init__(self, url: str) -> None:
        """Take a SQLAlchemy URL of MariaDB or SQLite. Raises ConfigError for any other database."""
        self._database: CellDatabase = cell_database(url)
        self._schema_checked = False
        self._guests = LastGuests()
        self._thread = ReaderThread(STATE)

    @property
    def shown(self) -> str:
        """The database's URL without the password."""
        return self._database.shown

    def read(self, host: str, consumers: frozenset[str], deadline: Deadline, node_uuid: str | None = None) -> NovaState:
        """See StateSource. Raises SourceUnavailable.

        Raises SourceInconsistent if the database lacks a table or column, or if a row of the service or node is
        malformed.
        """
        wanted = _Wanted(host=host, consumers=consumers, node_uuid=node_uuid)
        return self._bounded(lambda: self._read(wanted, deadline), deadline)

    def light(self, last: NovaState, consumers: frozenset[str], deadline: Deadline) -> LightState:
        """See StateSource. Raises SourceUnavailable and SourceInconsistent."""
        return self._bounded(lambda: self._light(last, consumers, deadline), deadline)

    def pulse(self, host: str, deadline: Deadline) -> Pulse:  # noqa: ARG002 - the statement reads all services
        """See StateSource. Raises SourceUnavailable and SourceInconsistent."""
        return self._bounded(lambda: self._tried_twice(lambda: self._pulse(deadline), deadline), deadline)

    def migrations_of(
        self,
        host: str,  # noqa: ARG002 - the statement reads the heartbeats of all services
        instances: frozenset[str],
        deadline: Deadline,
    ) -> AllMigrations:
        """See StateSource. Raises SourceUnavailable and SourceInconsistent."""
        return self._bounded(
            lambda: self._tried_twice(lambda: self._migrations(instances, deadline), deadline), deadline
        )

    def compute_hosts(self, deadline: Deadline) -> tuple[ComputeHost, ...]:
        """Return the hosts of the cell's nova-compute services. Raises SourceUnavailable and SourceInconsistent."""
        rows = self._bounded(lambda: self._tried_twice(lambda: self._services(deadline), deadline), deadline)
        return compute_hosts_from_rows(rows)

    def close(self) -> None:
        """Stop the thread, and close the connection unless the thread hangs."""
        if self._thread.stop():
            self._database.close()

    def _bounded(self, ask: Callable[[], T], deadline: Deadline) -> T:
        """Run ``ask`` on the thread for database calls; stop waiting for ``ask`` shortly after the deadline.

        ``ask`` may hang: PyMySQL may hang in a look-up of the server's name, or on an incomplete message of the server.
        """
        try:
            return self._thread.call(ask, deadline.plus(LAST_WORDS_S))
        except Unanswered as error:
            raise SourceUnavailable(STATE, f"{self._database.shown}: {error.message}") from error

    def _read(self, wanted: _Wanted, deadline: Deadline) -> NovaState:
        rows = self._tried_twice(lambda: self._rows(wanted, deadline), deadline)
        return state_from_rows(wanted.host, rows, self._guests.parsed(rows))

    def _light(self, last: NovaState, consumers: frozenset[str], deadline: Deadline) -> LightState:
        return self._tried_twice(lambda: self._signs(last, consumers, deadline), deadline)

    def _signs(self, last: NovaState, consumers: frozenset[str], deadline: Deadline) -> LightState:
        with self._database.snapshot(deadline) as connection:
            clock, *heartbeats = connection.execute(self._database.pulse).one()
            statements = _Statements(connection, deadline)
            services = statements.rows(tables.services_of(last.host))
            signs = statements.signs(sign_tables.signs_of(last.host))
            signs += _signs_elsewhere(statements, last, consumers)
        return light_state(last.host, services, pulse_from(clock, heartbeats), clock, StateSign(parts=signs))

    def _tried_twice(self, ask: Callable[[], T], deadline: Deadline) -> T:
        try:
            return ask()
        except SQLAlchemyError as error:
            self._schema_checked = False
            if not _worth_repeating(error) or deadline.left_s() <= 0:
                raise self._unavailable(error) from error
        try:
            return ask()
        except SQLAlchemyError as error:
            self._schema_checked = False
            raise self._unavailable(error) from error

    def _pulse(self, deadline: Deadline) -> Pulse:
        with self._database.snapshot(deadline) as connection:
            clock, *heartbeats = connection.execute(self._database.pulse).one()
        return pulse_from(clock, heartbeats)

    def _migrations(self, instances: frozenset[str], deadline: Deadline) -> AllMigrations:
        with self._database.snapshot(deadline) as connection:
            clock, *heartbeats = connection.execute(self._database.pulse).one()
            rows = _Statements(connection, deadline).named(tables.migrations_of_instances, instances)
        return all_migrations(instances, rows, pulse_from(clock, heartbeats))

    def _services(self, deadline: Deadline) -> tuple[Row, ...]:
        with self._database.snapshot(deadline) as connection:
            return _Statements(connection, deadline).rows(tables.compute_services())

    def _rows(self, wanted: _Wanted, deadline: Deadline) -> CellRows:
        with self._database.snapshot(deadline) as connection:
            if not self._schema_checked:
                self._check_schema(connection)
                self._schema_checked = True
            return _cell_rows(_Statements(connection, deadline), self._database, wanted)

    def _check_schema(self, connection: Connection) -> None:
        found: dict[str, set[str]] = {}
        for table, column in connection.execute(self._database.known_columns):
            found.setdefault(str(table).lower(), set()).add(str(column).lower())
        missing = [
            f"{table}.{column}" if table in found else table
            for table, columns in COLUMNS.items()
            for column in columns
            if column not in found.get(table, ())
        ]
        if missing:
            names = ", ".join(dict.fromkeys(missing))
            raise SourceInconsistent(
                STATE, f"{self._database.shown} is not a cell database that this agent can read: it has no {names}"
            )

    def _unavailable(self, error: Exception) -> SourceUnavailable:
        cause = error.orig if isinstance(error, DBAPIError) and error.orig is not None else error
        kind = SourceDenied if cause.args and cause.args[0] in _DENIED else SourceUnavailable
        return kind(STATE, f"{self._database.shown}: {type(cause).__name__} {cause}")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Wanted:
    """What one read selects: the arguments of NovaSql.read."""

    host: str
    consumers: frozenset[str]
    node_uuid: str | None


@dataclass(frozen=True, slots=True)
class _Statements:
    """Runs the statements of one transaction. After the deadline, raises SourceUnavailable and starts no statement."""

    connection: Connection
    deadline: Deadline

    def _result(self, statement: Executable) -> Result[*tuple[Any, ...]]:
        if self.deadline.left_s() <= 0:
            raise SourceUnavailable(STATE, "the cell database was not read in time")
        return self.connection.execute(statement)

    def rows(self, statement: Executable) -> tuple[Row, ...]:
        result = self._result(statement)
        columns = tuple(result.keys())
        return tuple(dict(zip(columns, row, strict=True)) for row in result)

    def signs(self, statement: Executable) -> tuple[tuple[str, object], ...]:
        """Return the name of each set of rows, with the number of its rows and their checksum (sign_tables.py)."""
        return tuple((str(name), (int(count), int(checksum))) for name, count, checksum in self._result(statement))

    def named(self, statement: Callable[[Iterable[str]], Query], uuids: Set[str]) -> tuple[Row, ...]:
        """Return the rows that ``statement`` selects for ``uuids``, with one query for each chunk of uuids."""
        return tuple(row for chunk in chunks(uuids) for row in self.rows(statement(chunk)))


def _cell_rows(statements: _Statements, database: CellDatabase, wanted: _Wanted) -> CellRows:
    """Return nova's rows about the host, its instances, and the consumers that Placement lists for the host."""
    host, consumers = wanted.host, wanted.consumers
    clock, *heartbeats = statements.connection.execute(database.pulse).one()
    here = statements.rows(tables.instances_of(host))
    moving = statements.rows(tables.migrations_in_progress(host))
    evacuated = statements.rows(tables.finished_evacuations(host))
    seen = texts(here, "uuid")
    recorded = statements.named(tables.migrations_named, consumers - seen - texts(moving, "uuid"))
    others = (consumers | texts((*moving, *evacuated, *recorded), "instance_uuid")) - seen
    return CellRows(
        now=clock,
        heartbeats=tuple(heartbeats),
        services=statements.rows(tables.services_of(host)),
        nodes=_nodes(statements, wanted),
        instances=here + statements.named(tables.instances_named, others),
        boot_disks=statements.rows(tables.boot_disks_of(host)) + statements.named(tables.boot_disks_named, others),
        migrations=moving + recorded,
        finished_evacuations=evacuated,
        pci_devices=statements.rows(tables.pci_devices_of(host)),
    )


def _signs_elsewhere(
    statements: _Statements, last: NovaState, consumers: frozenset[str]
) -> tuple[tuple[str, object], ...]:
    """Return (name, (number of rows, checksum)) of each set of rows that a full read selects by uuid, not by host.

    These are the rows of migrations, of instances that are not on this host, and of the boot disks of these instances.
    """
    here = {each.uuid for each in last.instances if each.host == last.host and not each.deleted}
    moves = {move.instance_uuid for move in (*last.migrations, *last.finished_evacuations)}
    others = (consumers | moves) - here
    wanted = (
        (sign_tables.sign_of_instances, others),
        (sign_tables.sign_of_boot_disks, others),
        (sign_tables.sign_of_migrations, consumers - here),
    )
    return tuple(
        (f"{name} {number}", value)
        for statement, uuids in wanted
        for number, chunk in enumerate(chunks(uuids))
        for name, value in statements.signs(statement(chunk))
    )


def _nodes(statements: _Statements, wanted: _Wanted) -> tuple[Row, ...]:
    """Return the host's undeleted nodes, and also the node ``node_uuid``, which may be deleted or on another host."""
    live = statements.rows(tables.nodes_of(wanted.host))
    if wanted.node_uuid is None or wanted.node_uuid in texts(live, "uuid"):
        return live
    return live + statements.rows(tables.node_named(wanted.node_uuid))


def _worth_repeating(error: Exception) -> bool:
    if not isinstance(error, DBAPIError):
        return False
    arguments = error.orig.args if error.orig is not None else ()
    code = arguments[0] if arguments else None
    return error.connection_invalidated or code in WORTH_REPEATING or str(code).startswith("no such ")
