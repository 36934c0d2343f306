"""Start and stop a real Placement server for the demo and the tests.

The server (agent.demo.placement_server) runs in its own process: it needs 100 MiB, and about two seconds to start,
mostly to import Placement.
"""

from __future__ import annotations

import enum
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path

from agent.errors import PlacementUnavailable

START_TIMEOUT_S = 60.0
STOP_TIMEOUT_S = 10.0
# The token for Placement's noauth2; it is not a secret.
TOKEN = "admin"


class Lifetime(enum.Enum):
    """Whether the server exits with the process that started it, or keeps running (``demo --keep``)."""

    WITH_US = "with-us"
    KEPT = "kept"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacementServer:
    """A server that answers at ``url`` to requests with ``X-Auth-Token: admin``."""

    url: str
    folder: Path
    process: subprocess.Popen[bytes]

    @property
    def pid(self) -> int:
        """The server's process id."""
        return self.process.pid

    @property
    def access_log(self) -> Path:
        """The access log, one line for each request: method, path, status, microversion, global request id."""
        return self.folder / "access.log"

    def stop(self) -> None:
        """Terminate the server and wait for its exit. A second call has no effect."""
        self.process.terminate()
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(STOP_TIMEOUT_S)
        _kill(self.process)


def start_placement(
    folder: Path,
    connection: str | None = None,
    lifetime: Lifetime = Lifetime.WITH_US,
    port: int = 0,
    waiting: Callable[[], AbstractContextManager[None]] = nullcontext,
    *,
    cell: Path | None = None,
    python: str = sys.executable,
) -> PlacementServer:
    """Start a Placement server with its files in ``folder``, and return when the server accepts requests.

    ``connection``: an SQLAlchemy URL of an empty or up-to-date database; by default SQLite in the folder. ``port``: 0
    means a free port. ``waiting`` returns a context manager that is active while this function waits for the server:
    only this wait may be interrupted by a signal. ``cell``: a SQLite database of a nova cell; the server process also
    writes heartbeats into it, as a nova-conductor does. ``python``: an interpreter with Placement installed.

    If the server does not start, raises PlacementUnavailable with the end of its log. After any exception, no process
    is left running.
    """
    folder = folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "port").unlink(missing_ok=True)
    command = [python, "-m", "agent.demo.placement_server", "--folder", str(folder), "--port", str(port)]
    command += ["--connection", connection] if connection else []
    command += ["--until-stdin-closes"] if lifetime is Lifetime.WITH_US else []
    command += ["--cell", str(cell)] if cell else []
    with (folder / "placement.log").open("ab") as log:
        process = subprocess.Popen(
            command,
            cwd=Path(__file__).parents[2],
            stdin=subprocess.PIPE if lifetime is Lifetime.WITH_US else subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            # In a session of its own, the server does not receive the operator's Ctrl-C: it must run until the demo
            # stops it.
            start_new_session=True,
        )
    try:
        with waiting():
            found = wait_for_port(folder, process)
    except BaseException:
        _kill(process)
        raise
    return PlacementServer(url=f"http://127.0.0.1:{found}", folder=folder, process=process)


def wait_for_port(folder: Path, process: subprocess.Popen[bytes]) -> int:
    """Wait until the server accepts requests, and return its port. Raises PlacementUnavailable if it does not start."""
    end = time.monotonic() + START_TIMEOUT_S
    pause = threading.Event()
    while time.monotonic() < end and process.poll() is None:
        if (folder / "port").exists():
            return int((folder / "port").read_text())
        pause.wait(0.01)
    last = (folder / "placement.log").read_text(errors="replace").strip().splitlines()[-3:]
    raise PlacementUnavailable(f"the server did not start in {folder}: {' / '.join(last) or 'it wrote nothing'}")


def _kill(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait(STOP_TIMEOUT_S)
    if process.stdin is not None:
        process.stdin.close()
