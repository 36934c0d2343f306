"""A cell of our own: MariaDB, RabbitMQ, nova's schema by its own migrations, and the released nova-conductor.

It is a cell's conductor: no API database is given to it, which nova supports, so the
schema is one migration. Measured: 25 s from nothing to the first answer, of which 6 s
are MariaDB and RabbitMQ. One per test process; every process is ended by its own pid.
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
from tests.rigs.wait import until
from tools.make_cell_schema import run_migrations

DATABASE = "cell1"
TOPIC = "conductor"
# nova-conductor reports itself alive by its service's id, also when that row is gone and a test's has the id.
FIRST_SERVICE_ID = 1_000_000
START_TIMEOUT_S = 300.0
STOP_TIMEOUT_S = 60.0


def missing() -> str | None:
    """Why there can be no such cell on this machine; None where there can."""
    if not mariadb.available():
        return "MariaDB is not installed (mariadb-server-core)"
    if not rabbitmq.available():
        return "RabbitMQ is not installed (rabbitmq-server)"
    return None


class Conductor:
    """One nova-conductor process. ``start`` before anything else; ``stop`` at the end."""

    def __init__(self, folder: Path, database_url: str, broker_url: str, rabbit: Mapping[str, str]) -> None:
        self.folder = folder
        self.database_url = database_url
        self.broker_url = broker_url
        self.rabbit = rabbit
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def log(self) -> str:
        """What it wrote so far, for a failed test to show."""
        return (self.folder / "conductor.log").read_text(errors="replace")[-6000:]

    def start(self) -> None:
        """Start it and wait until it takes calls."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self._configure()
        program = nova_python().parent / "nova-conductor"
        with (self.folder / "conductor.log").open("ab") as log:
            # A group of its own: it forks its workers.
            self._process = subprocess.Popen(
                [str(program), "--config-file", str(self._config)],
                stdout=log,
                stderr=log,
                env={**os.environ, "OS_NOVA_DISABLE_EVENTLET_PATCHING": "1"},
                start_new_session=True,
            )
        until(self._answers, START_TIMEOUT_S, f"nova-conductor takes calls; its log:\n{self.folder}")

    def stop(self) -> None:
        """End it and its workers at once: a graceful end takes as long as nova likes. Safe to call twice."""
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
            # Its other half, which builds instances, wants a Placement in its configuration; nothing here asks it.
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
    """A cell that runs; ``engine`` writes its rows, ``bus`` is how an agent reaches its conductor."""

    database: MariaDb
    broker: RabbitMq
    conductor: Conductor
    engine: sqlalchemy.Engine

    @property
    def url(self) -> str:
        """SQLAlchemy's URL of the cell database, for a state source that reads it directly."""
        return self.database.url(DATABASE)

    def bus(
        self,
        *,
        url: str | None = None,
        response_timeout_s: float = 20.0,
        rabbit: tuple[tuple[str, object], ...] = (),
    ) -> BusOptions:
        """The options of an agent; ``url`` where another one is wanted, ``rabbit`` of [oslo_messaging_rabbit]."""
        return BusOptions(url=url or self.broker.url, response_timeout_s=response_timeout_s, rabbit=rabbit)

    def empty(self) -> None:
        """Remove every row of the tables that tests fill."""
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
        """For a block the newest heartbeat is so old, as in a replica that nova-conductor reads and that has stopped.

        Only after ``empty``, which makes nova-conductor itself report no more.
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
    """A started cell for a block, everything stopped whatever happens: the body of a fixture."""
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
        # Its own first heartbeat comes some seconds after it takes calls, and none where a test removed its row.
        heart.keep(url)
        stack.callback(heart.forget, url)
        yield Cell(database=database, broker=broker, conductor=conductor, engine=engine)


def consumers(broker_url: str, queue: str) -> int:
    """How many consumers a queue has; 0 where there is no such queue, or no broker."""
    address = broker_url.replace("rabbit://", "amqp://", 1).rstrip("/") + "//"
    try:
        with kombu.Connection(address, connect_timeout=2) as connection:
            return int(connection.default_channel.queue_declare(queue, passive=True).consumer_count)
    except (OSError, OperationalError, *_errors(address)):
        pass  # a broker that is starting listens before it speaks: kombu calls that an OperationalError
    _collect_sockets()
    return 0


def _errors(address: str) -> tuple[type[Exception], ...]:
    unused = kombu.Connection(address)
    return (*unused.channel_errors, *unused.connection_errors)


def _collect_sockets() -> None:
    """amqp leaves the socket of a broken connection to the garbage collector, which would warn in any later test."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()
