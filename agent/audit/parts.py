"""Protocols of the objects with side effects that an audit needs; agent/cmd and agent/daemon supply the objects."""

from __future__ import annotations

import contextlib
import random
import uuid
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Protocol

from agent.errors import AuditCancelled
from agent.host_files.journal import Journal
from agent.model.audit import AuditRequest, Identity, Publish
from agent.model.finding import History
from agent.model.host.store import StoreRecord
from agent.model.settings import Role, Settings
from agent.model.snapshot import Reading
from agent.ports import (
    AllocationWriter,
    HostSource,
    ImageSource,
    PlacementReader,
    ProviderNames,
    RecordWriter,
    Reporter,
    Reshaper,
    StateSource,
    StorageSource,
)


class HistoryStore(Protocol):
    """Keeps the findings' history across audits and restarts."""

    def load(self) -> History:
        """Return the saved history; an empty one if nothing was saved or the file is unreadable."""
        ...

    def changed(self) -> History | None:
        """Return the history that another process has saved since this store last loaded or saved, else None."""
        ...

    def save(self, history: History) -> bool:
        """Replace the saved history atomically; return False if that fails. The caller holds the write lock."""
        ...


class StoreMemory(Protocol):
    """Remembers, across audits and restarts, from which file system or volume group DISK_GB was last computed."""

    @property
    def path(self) -> str:
        """The path of store.json, the file with the saved StoreRecord."""
        ...

    def load(self) -> StoreRecord | None:
        """Return the saved record; None if nothing was saved or the file is unreadable."""
        ...

    def save(self, record: StoreRecord) -> bool:
        """Replace the saved record atomically; return False if that fails. The caller holds the write lock."""
        ...

    def put(self, record: StoreRecord) -> None:
        """Replace the saved record; raise ConfigError if that fails. Only ``adopt`` and its ``undo`` call this."""
        ...


class IdentityFiles(Protocol):
    """The ``compute_id`` files, in which nova-compute and the agent store the host's uuid."""

    def find(self) -> Identity | None:
        """Return the identity from the files, None if there is no file.

        Raises ConfigError if a file does not contain a valid uuid or if two files differ.
        """
        ...

    @property
    def may_be_elsewhere(self) -> bool:
        """Whether the identity may be in a file that this process has no permission to read."""
        ...

    def create(self) -> Identity:
        """Create a uuid for this host, write it to a file on disk, and return it as an Identity."""
        ...


class OwnIdentityFile(Protocol):
    """The only ``compute_id`` file that the agent may write, for ``adopt`` and its ``undo``."""

    @property
    def own_path(self) -> str:
        """The path of the agent's own ``compute_id`` file, whether or not the file exists."""
        ...

    def own_text(self) -> str | None:
        """Return the text of the file ``own_path``, None if there is no file. Raises ConfigError if the read fails."""
        ...

    def put_own(self, text: str | None) -> None:
        """Replace the text of the file ``own_path``; None removes the file. Raises ConfigError if that fails."""
        ...


class WriteLock(Protocol):
    """The lock that lets only one process of this host write at a time."""

    def hold(self) -> AbstractContextManager[None]:
        """Take the lock for the duration of a ``with`` block. Raises LockHeld if another process has the lock."""
        ...


class Clock(Protocol):
    """The only source of time for an audit."""

    def now(self) -> str:
        """Return the time as ISO 8601 in UTC, with milliseconds and a Z."""
        ...

    def monotonic(self) -> float:
        """Return the monotonic time in seconds."""
        ...

    def boot(self) -> str:
        """Return the id of the machine's current boot; ``monotonic`` counts from this boot."""
        ...

    def wait(self, seconds: float) -> None:
        """Wait for this number of seconds; return earlier if a stop is requested."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """Everything with a side effect that an audit needs.

    Some parts may be None:

    - ``images`` if guests' disk files are not read (the demo);
    - ``allocations`` if no consumer's allocations are ever written;
    - ``records`` if the state source cannot write compute node records;
    - ``store`` if no file remembers from which file system or volume group DISK_GB was computed;
    - ``journal``, ``reshaper``, ``names`` (to rename providers) and ``own_file`` (the agent's ``compute_id`` file),
      which only heal and adopt need.

    The functions:

    - ``random`` returns a number in [0, 1) for jitter, ``new_id`` an audit id.
    - ``request_scope`` returns a context manager that puts the audit id on every request to Placement.
    - ``reading`` takes the name of a source and returns a context manager. Each read of the source runs inside this
      context manager. If the agent must stop, the agent may abandon the read.
    - ``notes`` returns texts about problems of the agent's own files.
    - ``late`` returns the sources that the next audit must not read, each with its failed read. In a command, these are
      the sources that did not answer an earlier audit of the same command. In the daemon, the result is empty.
    - ``tried`` returns the number of requests to Placement that the process has sent or tried to send.
    """

    state: StateSource
    host: HostSource
    storage: tuple[StorageSource, ...]
    reader: PlacementReader
    reporter: Reporter
    identity_files: IdentityFiles
    history: HistoryStore
    lock: WriteLock
    clock: Clock
    images: ImageSource | None = None
    allocations: AllocationWriter | None = None
    reshaper: Reshaper | None = None
    records: RecordWriter | None = None
    journal: Journal | None = None
    names: ProviderNames | None = None
    own_file: OwnIdentityFile | None = None
    store: StoreMemory | None = None
    random: Callable[[], float] = random.random
    new_id: Callable[[], str] = lambda: str(uuid.uuid4())
    request_scope: Callable[[str], AbstractContextManager[object]] = contextlib.nullcontext
    reading: Callable[[str], AbstractContextManager[object]] = contextlib.nullcontext
    notes: Callable[[], tuple[str, ...]] = tuple
    late: Callable[[], dict[str, Reading[Any]]] = dict
    tried: Callable[[], int] = int


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditTask:
    """One audit to run: its request, settings and parts. ``cancelled`` returns whether a stop was requested.

    ``began`` and ``read_by`` are the start and the end of the audit's reads, in monotonic seconds. ``late`` maps the
    name of each source that did not answer before the deadline to its failed Reading. The audit does not ask such a
    source again.
    """

    request: AuditRequest
    settings: Settings
    parts: Parts
    cancelled: Callable[[], bool]
    late: dict[str, Reading[Any]] = field(default_factory=dict)
    began: float = 0.0
    read_by: float = 0.0

    def may_publish(self) -> bool:
        """Return whether the role and the request let this audit write anything."""
        return self.settings.role is not Role.OBSERVER and self.request.publish is Publish.BY_ROLE

    def owns(self) -> bool:
        """Return whether this audit may write the provider tree. Only an agent in role owner may."""
        return self.settings.role is Role.OWNER and self.may_publish()

    def stop_if_cancelled(self) -> None:
        """Raise AuditCancelled if a stop was requested."""
        if self.cancelled():
            raise AuditCancelled("the audit ended early, because a stop was requested")
