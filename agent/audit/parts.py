"""Everything with a side effect that an audit needs, as protocols; wired by hand in cmd/."""

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
    """Keeps the findings' history between audits and restarts."""

    def load(self) -> History:
        """What was saved last; an empty history where there is none or it is unreadable."""
        ...

    def save(self, history: History) -> bool:
        """Replace it atomically; False where it cannot be written. Called under the write lock only."""
        ...


class StoreMemory(Protocol):
    """Keeps which store DISK_GB counted last, between audits and restarts."""

    @property
    def path(self) -> str:
        """The file."""
        ...

    def load(self) -> StoreRecord | None:
        """What was saved last; None where nothing was, or where it cannot be read."""
        ...

    def save(self, record: StoreRecord) -> bool:
        """Replace it atomically; False where it cannot be written. Called under the write lock only."""
        ...

    def put(self, record: StoreRecord) -> None:
        """The same for ``adopt`` and its ``undo``. Raises ConfigError."""
        ...


class IdentityFiles(Protocol):
    """The ``compute_id`` files (design 2.3)."""

    def find(self) -> Identity | None:
        """The identity that a file gives. Raises ConfigError on garbage or two that differ."""
        ...

    def create(self) -> Identity:
        """A new one, on disk before this returns."""
        ...


class OwnIdentityFile(Protocol):
    """The one ``compute_id`` file that is ours to write, for ``adopt`` and its ``undo``."""

    @property
    def own_path(self) -> str:
        """Where it is, or would be."""
        ...

    def own_text(self) -> str | None:
        """What it says, None where it is not there. Raises ConfigError."""
        ...

    def put_own(self, text: str | None) -> None:
        """Replace it, or remove it (None). Raises ConfigError."""
        ...


class WriteLock(Protocol):
    """One writer per host."""

    def hold(self) -> AbstractContextManager[None]:
        """Hold it for a block. Raises LockHeld."""
        ...


class Clock(Protocol):
    """Time, so that nothing else asks for it."""

    def now(self) -> str:
        """ISO 8601 UTC with milliseconds and a Z."""
        ...

    def monotonic(self) -> float:
        """Seconds that never go back."""
        ...

    def boot(self) -> str:
        """Which start of the machine this is: ``monotonic`` counts from it."""
        ...

    def wait(self, seconds: float) -> None:
        """Let that time pass, or less where a stop was asked for."""
        ...


def _new_id() -> str:
    return str(uuid.uuid4())


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """Everything with a side effect that an audit needs, wired by hand in cmd/.

    ``images`` is None where nobody asks for guests' disk files (the demo), ``allocations``
    where no consumer is ever written, ``records`` where the state source cannot write compute node records,
    ``store`` where the store is remembered in memory alone, ``journal``, ``reshaper``, ``names`` and ``own_file``
    where nothing is healed or adopted. ``random`` gives [0, 1) for jitter; ``new_id`` an audit id; ``request_scope``
    makes every request to Placement inside it bear that id; ``reading`` is entered around each read, which a
    stop may leave behind; ``notes`` says what is wrong with the agent's own files.
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
    new_id: Callable[[], str] = _new_id
    request_scope: Callable[[str], AbstractContextManager[object]] = contextlib.nullcontext
    reading: Callable[[], AbstractContextManager[object]] = contextlib.nullcontext
    notes: Callable[[], tuple[str, ...]] = tuple


@dataclass(frozen=True, slots=True, kw_only=True)
class Errand:
    """One audit to run: what was asked for, by whose decisions, with what, and whether a stop was asked for.

    ``began`` and ``read_by`` are when its reads began and had ended, in monotonic seconds.
    ``late`` are the readings of sources that used up their whole deadline in it: they are not waited for once more.
    """

    request: AuditRequest
    settings: Settings
    parts: Parts
    cancelled: Callable[[], bool]
    late: dict[str, Reading[Any]] = field(default_factory=dict)
    began: float = 0.0
    read_by: float = 0.0

    def may_publish(self) -> bool:
        """Whether the role and the request let this audit write anything."""
        return self.settings.role is not Role.OBSERVER and self.request.publish is Publish.BY_ROLE

    def owns(self) -> bool:
        """Whether this audit writes the provider tree itself, and not consumers of our own beside a nova-compute."""
        return self.settings.role is Role.OWNER and self.may_publish()

    def stop_if_cancelled(self) -> None:
        """Raise AuditCancelled when a stop was asked for."""
        if self.cancelled():
            raise AuditCancelled("the service is stopping")
