"""Protocols of everything that reads or writes outside the process, and the deadline that every read gets.

Sources raise SourceError; agent/audit/read.py turns the error into a Reading, the result of one read.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from agent.model.host.facts import HostFacts
from agent.model.host.storage import GuestFile, StorageFacts
from agent.model.nova import AllMigrations, LightState, NovaState, Pulse
from agent.model.placement import ConsumerRecord, PlacementView, Provider
from agent.model.plan import Applied, CreateProvider, Plan, PutAllocations, RecordWrite, RenameProvider, Reshape


@dataclass(frozen=True, slots=True)
class Deadline:
    """The moment on the monotonic clock by which a read must end; ``allowed_s`` is how many seconds the read got."""

    at: float
    allowed_s: float = 0.0

    @classmethod
    def after(cls, seconds: float) -> Deadline:
        """Return the deadline ``seconds`` from now."""
        return cls(time.monotonic() + seconds, seconds)

    def plus(self, seconds: float) -> Deadline:
        """Return a deadline that is ``seconds`` later. ``allowed_s``, which error messages show, stays the same."""
        return Deadline(self.at + seconds, self.allowed_s)

    def left_s(self) -> float:
        """Return the seconds left, never negative."""
        return max(0.0, self.at - time.monotonic())


class HostSource(Protocol):
    """Reads libvirt and /proc."""

    name: str

    def read(self, deadline: Deadline) -> HostFacts:
        """Return all host facts. Raises SourceError."""
        ...

    def forget(self) -> None:
        """Drop all caches (SIGHUP): the next read reads everything again."""
        ...


class StorageSource(Protocol):
    """Reads one kind of storage, such as LVM or Ceph."""

    name: str

    def read(self, deadline: Deadline) -> StorageFacts:
        """Read the storage. Raises SourceError."""
        ...


class ImageSource(Protocol):
    """Reads guests' disk files and the folder where nova stores them."""

    name: str

    def read(self, disks: frozenset[GuestFile], deadline: Deadline) -> StorageFacts:
        """Return the sizes of the files ``disks``, and of all files in nova's instances folder. Raises SourceError.

        Until a new measurement is due, the result is the object that the last call returned.
        """
        ...

    def forget(self) -> None:
        """Drop the measured sizes: the next read measures again."""
        ...


class StateSource(Protocol):
    """Reads nova's state of one host, such as its compute nodes, instances and migrations."""

    name: str

    def read(self, host: str, consumers: frozenset[str], deadline: Deadline, node_uuid: str | None = None) -> NovaState:
        """Return the state of ``host``. Raises SourceError.

        ``consumers`` are the uuids of consumers with allocations on this host's provider tree: the source also reads
        the rows of these instances and migrations. ``node_uuid`` is this host's identity if known: the source also
        reads the compute node row with this uuid, even if the row names another host or is deleted.
        """
        ...

    def light(self, last: NovaState, consumers: frozenset[str], deadline: Deadline) -> LightState:
        """Return whether nova's rows may have changed since ``last``, which is the result of a full read.

        This is much less work than ``read``.

        ``consumers`` has the same meaning as in ``read``. Raises SourceError.
        """
        ...

    def pulse(self, host: str, deadline: Deadline) -> Pulse:
        """Return only the heartbeat that ``read`` of ``host`` would return, with much less work. Raises SourceError."""
        ...

    def migrations_of(self, host: str, instances: frozenset[str], deadline: Deadline) -> AllMigrations:
        """Return all undeleted migrations of these instances, also those between other hosts, which ``read`` omits.

        The result also has the heartbeat that ``pulse`` would return for ``host``. Raises SourceError.
        """
        ...


class RecordWriter(Protocol):
    """Writes nova's compute node records; only the source that uses nova-conductor has such a writer."""

    def apply(self, write: RecordWrite, deadline: Deadline) -> None:
        """Create, change or delete a record. Raises SourceError; RecordRefused if nova-conductor rejects the write."""
        ...


class ProviderNames(Protocol):
    """Finds providers by name and renames them; only ``adopt`` and its ``undo`` use this."""

    def holder(self, name: str) -> Provider | None:
        """Return the provider with this name, without its inventories and traits, or None. Raises PlacementError."""
        ...

    def name_of(self, uuid: str) -> str | None:
        """Return the provider's name, None if there is no such provider. Raises PlacementError."""
        ...

    def rename(self, write: RenameProvider) -> None:
        """Rename the provider. Raises PlacementError: DuplicateName if another provider has the name."""
        ...


class AllocationWriter(Protocol):
    """Reads and replaces the allocations of single consumers in Placement."""

    def consumer(self, consumer_uuid: str) -> ConsumerRecord:
        """Read the consumer's allocations, type and generation now. Raises PlacementError."""
        ...

    def put(self, write: PutAllocations) -> None:
        """Replace all allocations of the consumer. Raises PlacementError.

        After a GenerationConflict the caller must read and decide again.
        """
        ...


class Reshaper(Protocol):
    """Moves inventories and allocations between providers of one tree; only ``heal`` and ``undo`` use this."""

    def create(self, write: CreateProvider) -> int:
        """Create an empty provider and return its generation. Raises PlacementError."""
        ...

    def reshape(self, write: Reshape) -> None:
        """Carry out the reshape, all of it or nothing. Raises PlacementError.

        After a GenerationConflict the caller must read and decide again.
        """
        ...

    def delete(self, provider_uuid: str) -> None:
        """Delete a provider that has no inventory. Raises PlacementError."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewRequest:
    """What an audit reads from Placement. A consumer's record has all its allocations, on this host and elsewhere.

    Which consumers' records:

    - ``consumer_reads``: the maximum number of records of suspicious, new or changed consumers.
    - ``suspects``: consumers that looked wrong in the last audit. They come first.
    - ``reported``: consumers in reported findings. They are read again if the generation of one of their providers
      changed. The consumer's own generation does not suffice: it starts again when an instance moves.
    - ``unsuspicious_reads``: the number of records of all other consumers. Records that were never read come first,
      then those that were read longest ago. None: all records that the reader does not have yet.
    - ``shared_reads``: the maximum number of consumers for which to read allocations on sharing providers. 0: do not
      look for sharing providers.

    What else:

    - ``fresh_allocations``: read allocations even if no generation changed.
    - ``everything``: read everything again, except the records of consumers whose generation is unchanged.
    - ``usages``: compare the usages that Placement counts with the allocations that Placement lists. This takes one
      request for each provider. If ``spares_nothing`` is False, compare only the providers that differed last time.
    """

    root_uuid: str
    root_name: str
    fresh_allocations: bool
    consumer_reads: int
    suspects: tuple[str, ...] = ()
    shared_reads: int = 0
    reported: tuple[str, ...] = ()
    everything: bool = False
    unsuspicious_reads: int | None = None
    usages: bool = False

    @property
    def spares_nothing(self) -> bool:
        """Whether the number of requests does not matter: a full read is due, or an operator runs a command."""
        return self.everything or self.unsuspicious_reads is None


class PlacementReader(Protocol):
    """Reads this host's provider tree. To save requests, it keeps details of providers with unchanged generations."""

    def view(self, request: ViewRequest) -> PlacementView:
        """Return the current provider tree. Raises PlacementError."""
        ...

    def orphans(self, view: PlacementView, uuids: frozenset[str]) -> PlacementView:
        """Return ``view`` with the trees of the orphaned compute nodes ``uuids``. Raises PlacementError.

        libvirt no longer reports an orphaned compute node. The allocations on the trees are read now.
        """
        ...

    def forget(self) -> None:
        """Drop the cache: the next ``view`` reads everything."""
        ...


class Reporter(Protocol):
    """Carries out a plan: the writes to Placement that an audit decided on."""

    def apply(self, plan: Plan, cancelled: Callable[[], bool]) -> Applied:
        """Carry out the writes in order; each write uses the generation that the previous write returned.

        Raises PlacementError. Raises AuditCancelled before the next write if ``cancelled`` returns True.
        """
        ...


class EventSource(Protocol):
    """Asks for an audit when something changes on the host or in the cloud. Each source has its own thread."""

    def start(self, notify: Callable[[str], None]) -> None:
        """Start the source. To request an audit, the source calls ``notify`` with the reason, from any thread.

        ``notify`` returns at once.
        """
        ...

    def stop(self) -> None:
        """Stop the source. Return only when no further call of ``notify`` can come."""
        ...
