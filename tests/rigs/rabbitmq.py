"""A private RabbitMQ on free loopback ports, with its own port mapper: real, and removed after the test.

It reads nothing of the machine's own broker: node name, cookie, data, log and plugins are in ``folder``. The rig stops
the Erlang VM and the port mapper by their pids.
"""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

from tests.rigs.mariadb import free_port
from tests.rigs.wait import until

USER = "stocktake"
PASSWORD = "rig-broker-5d2"
PROGRAM = "/usr/lib/rabbitmq/bin/rabbitmq-server"
CONTROL = "/usr/lib/rabbitmq/bin/rabbitmqctl"
START_TIMEOUT_S = 240.0


def available() -> bool:
    """Whether this machine has the broker (Debian: rabbitmq-server)."""
    return Path(PROGRAM).exists() and shutil.which("epmd") is not None


class RabbitMq:
    """One private broker. Call ``start`` first and ``stop`` at the end."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = 0
        self._epmd_port = 0
        self._dist_port = 0
        self._process: subprocess.Popen[bytes] | None = None
        self._epmd: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """oslo.messaging's transport_url, with the password."""
        return f"rabbit://{USER}:{PASSWORD}@127.0.0.1:{self.port}/"

    @property
    def pid(self) -> int:
        """The broker's process id."""
        assert self._process is not None, "the broker was not started"
        return self._process.pid

    @property
    def is_running(self) -> bool:
        """Whether the rig has started the broker and has neither stopped nor killed it since."""
        return self._process is not None

    @property
    def log(self) -> str:
        """The end of the broker's log, for a failed test to show."""
        return (self.folder / "broker.log").read_text(errors="replace")[-4000:]

    def start(self) -> None:
        """Start the broker and wait until it listens. After a stop it has the same ports and queues as before."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self.port = self.port or free_port()
        self._epmd_port = self._epmd_port or free_port()
        self._dist_port = self._dist_port or free_port()
        self._configure()
        if self._epmd is None:
            self._epmd = self._spawn(["epmd", "-address", "127.0.0.1", "-port", str(self._epmd_port)])
            until(lambda: _listens(self._epmd_port), START_TIMEOUT_S, "epmd listens")
        self._process = self._spawn([PROGRAM], **self.environment())
        until(self._answers, START_TIMEOUT_S, f"RabbitMQ in {self.folder} listens")

    def stop(self) -> None:
        """Stop the broker and the port mapper. Safe to call twice, and on a frozen broker."""
        self.stop_broker()
        if self._epmd is not None:
            _end(self._epmd)
            self._epmd = None

    def stop_broker(self) -> None:
        """Stop only the broker; ``start`` restarts it on the same port."""
        if self._process is not None:
            _end(self._process)
            self._process = None

    def kill(self) -> None:
        """Kill the broker, which acts like a crash."""
        assert self._process is not None, "the broker was not started"
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait(60)
        self._process = None

    @contextlib.contextmanager
    def paused(self) -> Iterator[None]:
        """Freeze the broker during a block: connections stay open and the broker does not answer."""
        os.killpg(self.pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.killpg(self.pid, signal.SIGCONT)

    def _configure(self) -> None:
        (self.folder / "rabbitmq.conf").write_text(
            f"listeners.tcp.1 = 127.0.0.1:{self.port}\n"
            f"default_user = {USER}\ndefault_pass = {PASSWORD}\n"
            "vm_memory_high_watermark.absolute = 512MB\ndisk_free_limit.absolute = 50MB\n"
        )
        (self.folder / "enabled_plugins").write_text("[].\n")

    def virtual_host(self, name: str) -> str:
        """Add a virtual host, whose exchanges and queues are apart from those of ``url``; return its transport_url."""
        for command in (["add_vhost", name], ["set_permissions", "-p", name, USER, ".*", ".*", ".*"]):
            environment = {**os.environ, **self.environment()}
            subprocess.run([CONTROL, "-q", *command], env=environment, check=True, capture_output=True, timeout=180)
        return f"{self.url}{name}"

    def environment(self) -> dict[str, str]:
        """Return the environment with which RabbitMQ's own programs address this broker."""
        at = self.folder
        return {
            "HOME": str(at),
            "ERL_EPMD_ADDRESS": "127.0.0.1",
            "ERL_EPMD_PORT": str(self._epmd_port),
            "RABBITMQ_NODENAME": f"rig{self.port}@localhost",
            "RABBITMQ_MNESIA_BASE": str(at / "mnesia"),
            "RABBITMQ_LOG_BASE": str(at / "log"),
            "RABBITMQ_CONF_ENV_FILE": str(at / "none"),
            "RABBITMQ_CONFIG_FILE": str(at / "rabbitmq"),
            "RABBITMQ_ADVANCED_CONFIG_FILE": str(at / "none"),
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(at / "enabled_plugins"),
            "RABBITMQ_PID_FILE": str(at / "rabbit.pid"),
            "RABBITMQ_DIST_PORT": str(self._dist_port),
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "-kernel inet_dist_use_interface {127,0,0,1}",
        }

    def _spawn(self, command: list[str], **environment: str) -> "subprocess.Popen[bytes]":
        with (self.folder / "broker.log").open("ab") as log:
            # The broker is a shell script around the Erlang VM, so it gets its own process group.
            return subprocess.Popen(
                command, stdout=log, stderr=log, env={**os.environ, **environment}, start_new_session=True
            )

    def _answers(self) -> bool:
        assert self._process is not None
        status = self._process.poll()
        assert status is None, f"RabbitMQ ended with {status}:\n{self.log}"
        return _listens(self.port)


@contextlib.contextmanager
def running(folder: Path) -> Iterator[RabbitMq]:
    """Yield a started broker and stop it in any case: the body of a fixture."""
    broker = RabbitMq(folder)
    try:
        broker.start()
        yield broker
    finally:
        broker.stop()


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _end(process: "subprocess.Popen[bytes]") -> None:
    for number in (signal.SIGCONT, signal.SIGTERM):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
    try:
        process.wait(60)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(60)
