"""A complete cell: MariaDB, RabbitMQ, nova's schema by nova's own migrations, and the released nova-conductor.

The conductor is a cell conductor without an API database, which nova supports, so the schema is one migration.
Measured: 25 s from nothing to the first answer, of which MariaDB and RabbitMQ take 6 s. Each test process starts one
cell, and every server process is stopped by its own pid.
"""

import contextlib
import gc
import os
import signal
import subprocess
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import kombu
import sqlalchemy
from kombu.exceptions import OperationalError

from agent.bus.options import BusOptions
from tests.rigs import heart, mariadb, rabbitmq
from tests.rigs.mariadb import MariaDb
from tests.rigs.nova_env import nova_python
from tests.rigs.rabbitmq import RabbitMq
from tests.rigs.releases import chosen
from tests.rigs.wait import until
from tools.make_cell_schema import run_migrations

DATABASE = "cell1"
TOPIC = "conductor"
# nova-conductor writes its heartbeat to the row with its service's id, even if a test has replaced that row by its own.
# So nova-conductor gets an id that no test uses.
FIRST_SERVICE_ID = 1_000_000
START_TIMEOUT_S = 300.0
STOP_TIMEOUT_S = 60.0


def missing() -> str | None:
    """Return why this machine cannot run such a cell; None if it can."""
    if not mariadb.available():
        return "MariaDB is not installed (mariadb-server-core)"
    if not rabbitmq.available():
        return "RabbitMQ is not installed (rabbitmq-server)"
    return None


class Conductor:
    """One nova-conductor process. Call ``start`` first and ``stop`` at the end."""

    def __init__(self, folder: Path, database_url: str, broker_url: str, rabbit: Mapping[str, str]) -> None:
        self.folder = folder
        self.database_url = database_url
        self.broker_url = broker_url
        self.rabbit = rabbit
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        """The pid of nova-conductor's first process; its workers descend from it."""
        assert self._process is not None, "nova-conductor was not started"
        return self._process.pid

    @property
    def log(self) -> str:
        """The end of the log so far, for a failed test to show."""
        return (self.folder / "conductor.log").read_text(errors="replace")[-6000:]

    def start(self) -> None:
        """Start nova-conductor and wait until it accepts calls."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self._configure()
        program = nova_python().parent / "nova-conductor"
        with (self.folder / "conductor.log").open("ab") as log:
            # nova-conductor forks workers, so it gets its own process group.
            self._process = subprocess.Popen(
                [str(program), "--config-file", str(self._config)],
                stdout=log,
                stderr=log,
                env=os.environ if chosen().on_eventlet else {**os.environ, "OS_NOVA_DISABLE_EVENTLET_PATCHING": "1"},
                start_new_session=True,
            )
        until(self._answers, START_TIMEOUT_S, f"nova-conductor takes calls; its log:\n{self.folder}")

    def stop(self) -> None:
        """Kill nova-conductor and its workers at once: a graceful stop has no time limit. Safe to call twice."""
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait(STOP_TIMEOUT_S)
            self._process = None

    @property
    def _config(self) -> Path:
        return self.folder / "nova.conf"

    def _configure(self) -> None:
        rabbit = "".join(f"{name} = {value}\n" for name, value in self.rabbit.items())
        self._config.write_text(
            f"[DEFAULT]\nhost = control\nstate_path = {self.folder}\ntransport_url = {self.broker_url}\n"
            f"[database]\nconnection = {self.database_url}\nmax_retries = -1\nretry_interval = 1\n"
            # The part of nova-conductor that builds instances requires a [placement] section; no test makes it call
            # Placement.
            "[placement]\nauth_type = none\nendpoint_override = http://127.0.0.1:9\n"
            f"[conductor]\nworkers = 1\n[oslo_concurrency]\nlock_path = {self.folder}\n"
            f"[oslo_messaging_rabbit]\n{rabbit}"
        )

    def _answers(self) -> bool:
        assert self._process is not None
        status = self._process.poll()
        assert status is None, f"nova-conductor ended with {status}:\n{self.log}"
        return consumers(self.broker_url, TOPIC) > 0


@dataclass(frozen=True)
class Cell:
    """A running cell; ``engine`` writes its rows, ``bus`` returns how an agent reaches its conductor."""

    database: MariaDb
    broker: RabbitMq
    conductor: Conductor
    engine: sqlalchemy.Engine

    @property
    def url(self) -> str:
        """SQLAlchemy's URL of the cell database, for a state source that reads the database directly."""
        return self.database.url(DATABASE)

    def bus(
        self,
        *,
        url: str | None = None,
        response_timeout_s: float = 20.0,
        rabbit: tuple[tuple[str, object], ...] = (),
    ) -> BusOptions:
        """Return an agent's bus options; ``url`` replaces the broker's URL, ``rabbit`` sets [oslo_messaging_rabbit]."""
        return BusOptions(url=url or self.broker.url, response_timeout_s=response_timeout_s, rabbit=rabbit)

    def empty(self) -> None:
        """Delete every row of the tables that tests fill."""
        tables = (
            "block_device_mapping",
            "compute_nodes",
            "instance_extra",
            "instances",
            "migrations",
            "pci_devices",
            "services",
        )
        with self.engine.begin() as connection:
            connection.exec_driver_sql("SET FOREIGN_KEY_CHECKS = 0")
            for table in tables:
                connection.exec_driver_sql(f"DELETE FROM {table}")
            connection.exec_driver_sql("SET FOREIGN_KEY_CHECKS = 1")
            heart.beat(connection)

    @contextlib.contextmanager
    def read_late(self, seconds: int) -> Iterator[None]:
        """Make the newest heartbeat ``seconds`` old during the block, as if nova-conductor read a stopped replica.

        Call ``empty`` first, because it stops nova-conductor's own heartbeat.
        """
        heart.forget(self.url)
        with self.engine.begin() as connection:
            aged = f"UPDATE services SET last_seen_up = UTC_TIMESTAMP() - INTERVAL {seconds} SECOND"
            connection.exec_driver_sql(aged)
        try:
            yield
        finally:
            heart.keep(self.url)


@contextlib.contextmanager
def running(folder: Path) -> Iterator[Cell]:
    """Start a cell, yield it, and stop everything in any case: the body of a fixture."""
    with contextlib.ExitStack() as stack:
        database = stack.enter_context(mariadb.running(folder / "mariadb"))
        url = database.create_database(DATABASE)
        run_migrations(nova_python(), url, folder)
        database.execute(f"ALTER TABLE `{DATABASE}`.services AUTO_INCREMENT = {FIRST_SERVICE_ID}")
        broker = stack.enter_context(rabbitmq.running(folder / "rabbitmq"))
        conductor = Conductor(folder / "conductor", url, broker.url, {})
        stack.callback(conductor.stop)
        engine = sqlalchemy.create_engine(url, pool_pre_ping=True)
        stack.callback(engine.dispose)
        conductor.start()
        # nova-conductor's own first heartbeat comes some seconds after it accepts calls. It sends none after a test has
        # removed its row.
        heart.keep(url)
        stack.callback(heart.forget, url)
        yield Cell(database=database, broker=broker, conductor=conductor, engine=engine)


def consumers(broker_url: str, queue: str) -> int:
    """Return how many consumers a queue has; 0 if there is no such queue or no broker."""
    address = broker_url.replace("rabbit://", "amqp://", 1).rstrip("/") + "//"
    try:
        with kombu.Connection(address, connect_timeout=2) as connection:
            return int(connection.default_channel.queue_declare(queue, passive=True).consumer_count)
    except (OSError, OperationalError, *_errors(address)):
        pass  # a starting broker accepts connections before it speaks AMQP: kombu raises OperationalError
    _collect_sockets()
    return 0


def _errors(address: str) -> tuple[type[Exception], ...]:
    unused = kombu.Connection(address)
    return (*unused.channel_errors, *unused.connection_errors)


def _collect_sockets() -> None:
    """Collect sockets of broken connections, which amqp leaves open: the collector would warn in a later test."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()
