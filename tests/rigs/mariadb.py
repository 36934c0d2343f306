"""A private MariaDB on a free loopback port: real, small, and removed after the test.

The server never reads the machine's own configuration or data (``--no-defaults``, its own folder) and is always stopped
by its pid. All clients use TCP with a password, as an agent does. ``pause`` freezes the process, which looks like a
hung server: the kernel still accepts connections and the server does not answer.
"""

import contextlib
import getpass
import os
import random
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pymysql

from tests.rigs.wait import until

USER = "stocktake"
PASSWORD = "rig-secret-7c1"
START_TIMEOUT_S = 120.0
# Measured: 1 s from nothing to the first answer, 0.2 s for a restart, 65 MiB resident, 26 MiB of disk.
SMALL = (
    "--innodb-buffer-pool-size=32M",
    "--innodb-log-file-size=8M",
    # 2: a commit reaches the kernel, not the disk. It survives kill() and costs no fsync.
    "--innodb-flush-log-at-trx-commit=2",
    "--innodb-doublewrite=0",
    "--key-buffer-size=1M",
    "--performance-schema=0",
    "--skip-log-bin",
)


def available() -> bool:
    """Whether this machine has the server's programs (Debian: mariadb-server-core)."""
    return _program("mariadbd") is not None and _program("mariadb-install-db") is not None


class MariaDb:
    """One private server. Call ``start`` first and ``stop`` at the end.

    ``options`` are appended to the server's command line; of two contradicting options the later one applies.
    """

    def __init__(self, folder: Path, *options: str) -> None:
        self.folder = folder
        self._options = options
        self.port = 0
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        """The server's process id."""
        assert self._process is not None, "the server was not started"
        return self._process.pid

    @property
    def log(self) -> str:
        """The server's log so far, for a failed test to show."""
        return (self.folder / "server.log").read_text(errors="replace")

    def start(self) -> None:
        """Make the data folder if it is missing, start the server, and wait until it answers over TCP."""
        if not self._data.exists():
            self.install()
        self.port = self.port or free_port()
        with (self.folder / "server.log").open("ab") as log:
            self._process = subprocess.Popen(self._command(), stdout=log, stderr=log)
        until(self._answers, START_TIMEOUT_S, f"MariaDB in {self.folder} answers")

    def stop(self) -> None:
        """Stop the server and wait until it exits. Safe to call twice, and on a paused server."""
        process = self._process
        if process is None:
            return
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(signal.SIGCONT)
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(20)
        self._gone()

    def kill(self) -> None:
        """Kill the server, which acts like a crash: it flushes nothing and closes no connection properly."""
        assert self._process is not None, "the server was not started"
        self._process.kill()
        self._process.wait(20)
        self._gone()

    def restart(self) -> None:
        """Stop the server if it runs, then start it on the same port with the same databases."""
        self.stop()
        self.start()

    def pause(self) -> None:
        """Freeze the server with SIGSTOP."""
        os.kill(self.pid, signal.SIGSTOP)

    def resume(self) -> None:
        """Let a frozen server continue."""
        os.kill(self.pid, signal.SIGCONT)

    @contextlib.contextmanager
    def paused(self) -> Iterator[None]:
        """Freeze the server during a block."""
        self.pause()
        try:
            yield
        finally:
            self.resume()

    def create_database(self, name: str) -> str:
        """Make an empty database; return the URL (SQLAlchemy, with password) of a user with all privileges."""
        self.execute(f"CREATE DATABASE `{name}` CHARACTER SET utf8mb3")
        return self.url(name)

    def url(self, name: str, *, user: str = USER, password: str = PASSWORD) -> str:
        """Return the URL of a database for a user."""
        return f"mysql+pymysql://{user}:{password}@127.0.0.1:{self.port}/{name}"

    def create_reader(self, user: str, database: str) -> str:
        """Make a user with SELECT on one database only; return the user's URL."""
        self.execute(f"CREATE OR REPLACE USER '{user}'@'%' IDENTIFIED BY '{PASSWORD}'")
        self.execute(f"GRANT SELECT ON `{database}`.* TO '{user}'@'%'")
        return self.url(database, user=user)

    def execute(self, statement: str) -> tuple[tuple[object, ...], ...]:
        """Run one statement as the administrator on a new connection; return its rows."""
        with self._connect() as connection, connection.cursor() as cursor:
            cursor.execute(statement)
            rows = cursor.fetchall()
            connection.commit()
        return tuple(rows)

    @property
    def _data(self) -> Path:
        return self.folder / "db"

    @property
    def _temporary(self) -> Path:
        # A starting server deletes leftover-looking tables from its tmpdir: in /tmp they might be another server's.
        return self.folder / "tmp"

    def _gone(self) -> None:
        self._process = None
        Path(self._socket).unlink(missing_ok=True)

    def _connect(self) -> "pymysql.Connection[pymysql.cursors.Cursor]":
        # With TLS possible, PyMySQL 1.2 reads all certificates of the machine for each connection.
        return pymysql.connect(
            host="127.0.0.1", port=self.port, user=USER, password=PASSWORD, connect_timeout=5, ssl_disabled=True
        )

    def _answers(self) -> bool:
        assert self._process is not None
        status = self._process.poll()
        assert status is None, f"MariaDB ended with {status}:\n{self.log}"
        try:
            self._connect().close()
        except pymysql.err.OperationalError:
            return False
        return True

    def install(self) -> None:
        """Make the data folder with the rig's user in it; ``start`` calls this method if the folder is missing."""
        self._temporary.mkdir(parents=True, exist_ok=True)
        (self.folder / "init.sql").write_text(
            f"CREATE USER IF NOT EXISTS '{USER}'@'%' IDENTIFIED BY '{PASSWORD}';\n"
            f"GRANT ALL PRIVILEGES ON *.* TO '{USER}'@'%' WITH GRANT OPTION;\n"
        )
        command = [
            _required("mariadb-install-db"),
            "--no-defaults",
            f"--user={getpass.getuser()}",
            f"--datadir={self._data}",
            f"--tmpdir={self._temporary}",
            "--auth-root-authentication-method=socket",
            "--skip-test-db",
            "--skip-name-resolve",
            *SMALL,
        ]
        done = subprocess.run(command, capture_output=True, text=True, timeout=START_TIMEOUT_S, check=False)
        assert done.returncode == 0, f"mariadb-install-db ended with {done.returncode}:\n{done.stdout}\n{done.stderr}"

    def _command(self) -> list[str]:
        return [
            _required("mariadbd"),
            "--no-defaults",
            f"--user={getpass.getuser()}",
            f"--datadir={self._data}",
            f"--socket={self._socket}",
            f"--pid-file={self.folder / 'pid'}",
            f"--init-file={self.folder / 'init.sql'}",
            f"--tmpdir={self._temporary}",
            "--bind-address=127.0.0.1",
            f"--port={self.port}",
            "--skip-name-resolve",
            "--max-connections=200",
            *SMALL,
            *self._options,
        ]

    @property
    def _socket(self) -> str:
        # No client uses the socket, but the server requires one. The path of a UNIX socket has at most 107 bytes, which
        # pytest's folders easily exceed.
        return f"/tmp/stocktake-mariadb-{self.port}-{os.getpid()}.sock"


@contextlib.contextmanager
def running(folder: Path, *options: str) -> Iterator[MariaDb]:
    """Yield a started server and stop it in any case: the body of a fixture. ``options`` as of ``MariaDb``."""
    server = MariaDb(folder, *options)
    try:
        server.start()
        yield server
    finally:
        server.stop()


def free_port() -> int:
    """Return a free loopback port outside the kernel's ephemeral range, so that no other process takes it soon.

    The kernel assigns ephemeral ports to every client and every server without a fixed port, hundreds per second while
    tests run.
    """
    given_away_from = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    for _ in range(100):
        port = random.SystemRandom().randrange(10240, given_away_from) if given_away_from > 16384 else 0
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return int(probe.getsockname()[1])
    raise AssertionError("no port of this machine is free")


def _program(name: str) -> str | None:
    # Servers are installed in sbin, which is not on every user's PATH.
    return shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/sbin:/usr/local/sbin")


def _required(name: str) -> str:
    path = _program(name)
    assert path is not None, f"{name} is not installed (Debian: mariadb-server-core)"
    return path
