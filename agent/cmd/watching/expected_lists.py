"""Read every 300 s which hosts should send messages: from a cell's nova-compute services, or from a file.

If a later read fails, ``watch`` keeps the last list that was read and shows the problem, because an unknown list is not
an empty list.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

from agent.config.loaded import Loaded
from agent.config.options.rabbit import bus_options_from
from agent.config.options.state import state_options_from
from agent.errors import AgentError, SourceUnavailable
from agent.fleet.expected import ExpectedHost, hosts_from_text
from agent.fleet.view import ExpectedHosts
from agent.model.nova import ComputeHost, StateKind
from agent.ports import Deadline

#: Seconds from a successful read of a list to the next read.
AGAIN_S = 300.0
#: Seconds until a list that could not be read is read again.
RETRY_S = 30.0
DEADLINE_S = 20.0

Read = Callable[[], tuple[ExpectedHost, ...]]


class ExpectedList:
    """A list of expected hosts. A thread of its own reads the list again and again until ``close``."""

    def __init__(self, read: Read) -> None:
        self._read = read
        self._value = ExpectedHosts(hosts=None)
        self._closing = threading.Event()
        self._first = threading.Event()
        self._thread = threading.Thread(target=self._live, name="watch-expected", daemon=True)

    @property
    def value(self) -> ExpectedHosts:
        """The list from the last successful read, with the error of the last read if that failed."""
        return self._value

    def start(self) -> None:
        """Start the thread that reads the list; return at once."""
        self._thread.start()

    def wait_first(self, timeout_s: float) -> bool:
        """Wait until the first read has succeeded or failed; return False if it still runs after ``timeout_s``."""
        return self._first.wait(timeout_s)

    def close(self) -> None:
        """Start no further read; a read that hangs continues in its thread."""
        self._closing.set()

    def _live(self) -> None:
        while not self._closing.is_set():
            try:
                self._value = ExpectedHosts(hosts=self._read())
            except AgentError as error:
                self._value = ExpectedHosts(hosts=self._value.hosts, problem=str(error))
            self._first.set()
            self._closing.wait(AGAIN_S if self._value.problem is None else RETRY_S)


def from_file(path: str) -> Read:
    """Return a function that reads the list from a file.

    The function raises SourceUnavailable if the file cannot be read, SourceInconsistent if a line is malformed.
    """

    def read() -> tuple[ExpectedHost, ...]:
        try:
            text = Path(path).read_text(encoding="utf-8")
        except (OSError, ValueError) as error:
            words = (error.strerror if isinstance(error, OSError) else None) or str(error)
            raise SourceUnavailable("expected", f"{path}: {words}") from error
        return hosts_from_text(text)

    return read


def from_nova(loaded: Loaded) -> Read | None:
    """Return a function that reads the hosts of the cell's nova-compute services; None if [state] source is none.

    The function raises SourceUnavailable if the state source cannot be read, SourceInconsistent if its answer is
    malformed.
    """
    options = state_options_from(loaded)
    if options.kind is StateKind.CONDUCTOR:
        return lambda: _expected(_by_conductor(loaded))
    connection = options.connection
    return None if connection is None else lambda: _expected(_by_sql(connection))


def _expected(hosts: tuple[ComputeHost, ...]) -> tuple[ExpectedHost, ...]:
    return tuple(ExpectedHost(host=each.host, disabled=each.disabled) for each in hosts)


def _by_sql(connection: str) -> tuple[ComputeHost, ...]:
    # Import late: SQLAlchemy takes 20 MiB.
    from agent.sources.nova.sql import NovaSql

    source = NovaSql(connection)
    try:
        return source.compute_hosts(Deadline.after(DEADLINE_S))
    finally:
        source.close()


def _by_conductor(loaded: Loaded) -> tuple[ComputeHost, ...]:
    from agent.bus.transport import Bus
    from agent.conductor.client import ConductorClient
    from agent.conductor.reader import ConductorState

    options = bus_options_from(loaded)
    assert options is not None, "state_options_from requires a transport_url"
    client = ConductorClient(Bus(options))
    try:
        return ConductorState(client).compute_hosts(Deadline.after(DEADLINE_S))
    finally:
        client.close()
