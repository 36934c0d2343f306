"""Protocols at the edges, and the deadline that every read gets.

Sources raise SourceError, and agent/audit/read.py makes a Reading of it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from agent.model.host.facts import HostFacts
from agent.model.host.storage import GuestFile, StorageFacts
from agent.model.nova import NovaState, Pulse
from agent.model.placement import ConsumerRecord, PlacementView, Provider
from agent.model.plan import Applied, CreateProvider, Plan, PutAllocations, RecordWrite, RenameProvider, Reshape


@dataclass(frozen=True, slots=True)
class Deadline:
    """A point on the monotonic clock by which a read must have ended; ``allowed_s`` is how far off it was at first."""

    at: float
    allowed_s: float = 0.0

    @classmethod
    def after(cls, seconds: float) -> Deadline:
        """The deadline that is ``seconds`` away."""
        return cls(time.monotonic() + seconds, seconds)

    def plus(self, seconds: float) -> Deadline:
        """So much later; of a read that was allowed the same time."""
        return Deadline(self.at + seconds, self.allowed_s)

    def left_s(self) -> float:
        """Seconds left, never negative."""
        return max(0.0, self.at - time.monotonic())


class HostSource(Protocol):
    """Reads libvirt and /proc."""

    name: str

    def read(self, deadline: Deadline) -> HostFacts:
        """All host facts. Raises SourceError."""
        ...

    def forget(self) -> None:
        """Drop caches (SIGHUP): the next read asks for everything again."""
        ...


class StorageSource(Protocol):
    """Reads one kind of storage."""

    name: str

    def read(self, deadline: Deadline) -> StorageFacts:
        """All facts of this kind. Raises SourceError."""
        ...


class ImageSource(Protocol):
    """Reads guests' disk files and the folder that nova keeps them in."""

    name: str

    def read(self, disks: frozenset[GuestFile], deadline: Deadline) -> StorageFacts:
        """Sizes of ``disks``, and the image store; the same object while nothing asks for a new look. SourceError."""
        ...

    def forget(self) -> None:
        """Drop what was measured: the next read measures again."""
        ...


class StateSource(Protocol):
    """Reads the cloud's instances and migrations."""

    name: str

    def read(self, host: str, consumers: frozenset[str], deadline: Deadline, node_uuid: str | None = None) -> NovaState:
        """State of ``host``; ``consumers`` are uuids recorded on our tree, looked up too. Raises SourceError.

        ``node_uuid`` is this host's identity where it is known: its compute node row is looked up whatever host it
        names, deleted or not.
        """
        ...

    def pulse(self, deadline: Deadline) -> Pulse:
        """When any service of the cell last reported, by rows as new as a ``read`` now. Raises SourceError."""
        ...


class RecordWriter(Protocol):
    """Writes nova's compute node records (conductor only)."""

    def apply(self, write: RecordWrite, deadline: Deadline) -> None:
        """Carry one write out. Raises SourceError, RecordRefused where nova says no for good."""
        ...


class ProviderNames(Protocol):
    """Finds providers by name, and renames them (``adopt`` and its ``undo`` alone)."""

    def holder(self, name: str) -> Provider | None:
        """Who bears that name, without inventory and traits. Raises PlacementError."""
        ...

    def name_of(self, uuid: str) -> str | None:
        """Its name, None where there is no such provider. Raises PlacementError."""
        ...

    def rename(self, write: RenameProvider) -> None:
        """Raises PlacementError: DuplicateName where another provider bears the name."""
        ...


class AllocationWriter(Protocol):
    """Changes what single consumers hold in Placement."""

    def consumer(self, consumer_uuid: str) -> ConsumerRecord:
        """All that it holds, its type and generation, read now. Raises PlacementError."""
        ...

    def put(self, write: PutAllocations) -> None:
        """Replace all that it holds. Raises PlacementError; GenerationConflict: read and decide again."""
        ...


class Reshaper(Protocol):
    """Moves inventories and allocations between providers of one tree (``heal`` and ``undo`` alone)."""

    def create(self, write: CreateProvider) -> int:
        """Make an empty provider; its generation. Raises PlacementError."""
        ...

    def reshape(self, write: Reshape) -> None:
        """All of it or nothing. Raises PlacementError; GenerationConflict: read and decide again."""
        ...

    def delete(self, provider_uuid: str) -> None:
        """Remove a provider that offers nothing. Raises PlacementError."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewRequest:
    """What an audit wants to see of Placement.

    ``fresh_allocations``: read them although no generation moved.
    ``suspects``: consumers whose whole record (what they hold elsewhere) is
    wanted first; the reader reads at most ``consumer_reads`` records whose
    consumer generation is new to it, suspects before others. ``shared_reads``: of how
    many consumers the allocations on providers that share with our root are wanted,
    suspects before others; 0: those providers are not looked for. ``told`` are those of
    findings: after a provider moved their records are read again, as far as ``consumer_reads`` leaves room, since a
    consumer that went and came back (every move makes one) counts its generation from the start.
    ``everything``: nothing is taken from earlier looks but the records of consumers. ``unsuspicious_reads``: beside
    these, records of so many consumers that nothing points at (no suspects, told of in no finding, not new since the
    last look) are read: those never read first, then those read longest ago. None: they are read like the others.
    ``usages``: what Placement counts is compared with what it lists, a request for each provider. Unless the look
    ``spares_nothing``, only of those where the last comparison of all of them found a difference.
    """

    root_uuid: str
    root_name: str
    fresh_allocations: bool
    consumer_reads: int
    suspects: tuple[str, ...] = ()
    shared_reads: int = 0
    told: tuple[str, ...] = ()
    everything: bool = False
    unsuspicious_reads: int | None = None
    usages: bool = False

    @property
    def spares_nothing(self) -> bool:
        """Whether all is wanted, whatever it costs: everything is read anew, or somebody asked by hand."""
        return self.everything or self.unsuspicious_reads is None


class PlacementReader(Protocol):
    """Looks at our provider tree with as few requests as the generations allow."""

    def view(self, request: ViewRequest) -> PlacementView:
        """The tree as it stands. Raises PlacementError."""
        ...

    def orphans(self, view: PlacementView, uuids: frozenset[str]) -> PlacementView:
        """``view`` with the trees of these orphaned nodes, allocations read now. Raises PlacementError."""
        ...

    def forget(self) -> None:
        """Drop the cache: the next view reads everything."""
        ...


class Reporter(Protocol):
    """Carries a plan out."""

    def apply(self, plan: Plan, cancelled: Callable[[], bool]) -> Applied:
        """Do the writes in order, generations chained. Raises PlacementError, AuditCancelled between two writes."""
        ...


class EventSource(Protocol):
    """Gives reasons to look, from a thread of its own."""

    def start(self, notify: Callable[[str], None]) -> None:
        """Begin; ``notify`` may be called from any thread and returns at once."""
        ...

    def stop(self) -> None:
        """End, and do not return before no further call of ``notify`` can come."""
        ...
