"""run_audit: the one function that every trigger, and every command, calls. Read this first."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from agent.model.audit import AuditMemory, AuditRequest, AuditResult, Identity
from agent.model.finding import History
from agent.model.settings import Settings
from agent.sources.base import HostSource, PlacementReader, Reporter, StateSource, StorageSource


class HistoryStore(Protocol):
    """Keeps the findings' history between audits and restarts."""

    def load(self) -> History:
        """What was saved last; an empty history where there is none or it is unreadable."""
        ...

    def save(self, history: History) -> None:
        """Replace it atomically. Called under the write lock only."""
        ...


class IdentityFiles(Protocol):
    """The ``compute_id`` files (design 2.3)."""

    def find(self) -> Identity | None:
        """The identity that a file gives. Raises ConfigError on garbage or two that differ."""
        ...

    def create(self) -> Identity:
        """A new one, on disk before this returns."""
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

    def wait(self, seconds: float) -> None:
        """Let that time pass."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """Everything with a side effect that an audit needs, wired by hand in cmd/."""

    state: StateSource
    host: HostSource
    storage: tuple[StorageSource, ...]
    reader: PlacementReader
    reporter: Reporter
    identity_files: IdentityFiles
    history: HistoryStore
    lock: WriteLock
    clock: Clock


def run_audit(
    request: AuditRequest, settings: Settings, parts: Parts, memory: AuditMemory, cancelled: Callable[[], bool]
) -> AuditResult:
    """One audit: read, decide, act.

    Raises ConfigError when the host's identity is lost or ambiguous,
    AuditCancelled when a stop was asked for; anything else that is raised is a bug.
    """
    raise NotImplementedError
