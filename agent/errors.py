"""The whole tree of errors, drawn once.

    AgentError                     retry: NEXT_AUDIT | AT_ONCE | NEVER
    ├─ ConfigError                 at start: exit 78; on reload: the old settings stay
    ├─ FolderUnavailable           at start: exit 75, where nothing else gives the identity
    ├─ SourceError                 becomes Reading.error; what depends on it is frozen
    │  ├─ SourceUnavailable        refused, timed out, lost                     NEXT_AUDIT
    │  ├─ SourceInconsistent       parsed, but breaks an invariant              NEXT_AUDIT
    │  ├─ SourceStale              complete, but not proven to be current       NEXT_AUDIT
    │  └─ SourceUnsupported        the driver lacks the call                    NEVER
    ├─ PlacementError
    │  ├─ PlacementUnavailable     connect, time-out, 429, 5xx, garbage         NEXT_AUDIT
    │  │  └─ AnswerTooLarge        an answer larger than what is taken          NEXT_AUDIT
    │  ├─ GenerationConflict       409 placement.concurrent_update              AT_ONCE
    │  │  └─ ConsumerConflict      the same, of a consumer's generation         AT_ONCE
    │  ├─ AllocationRefused        409 of an allocation that finds no room      NEVER
    │  ├─ InventoryInUse           409 placement.inventory.inuse                NEVER
    │  ├─ ProviderInUse            409 on DELETE of a provider                  NEVER
    │  ├─ DuplicateName            409 placement.duplicate_name                 NEVER
    │  ├─ ProviderElsewhere        the same, of a uuid: it is in another tree   NEVER
    │  ├─ PlacementRejected        400, 406: our bug or a bad configuration     NEVER
    │  ├─ WritesRefused            a plan done but for such writes              NEVER
    │  └─ PlacementDenied          401, 403                                     NEXT_AUDIT
    ├─ RecordRefused               nova refuses a compute node record            NEXT_AUDIT
    ├─ LockHeld                    another writer of this host is at work       NEXT_AUDIT
    └─ AuditCancelled              a stop was asked for between two stages

The tree follows what the caller can do about it, not which call raised it.
"""

from __future__ import annotations

import datetime
import enum
from collections.abc import Sized
from typing import Protocol


class Retry(enum.Enum):
    """When it makes sense to try the same thing again."""

    NEXT_AUDIT = "next-audit"
    AT_ONCE = "at-once"
    NEVER = "never"


class ConflictKind(enum.Enum):
    """What a 409 of Placement's is about. The values are keys of documents: never change one."""

    PROVIDER_GENERATION = "provider-generation"
    CONSUMER_GENERATION = "consumer-generation"
    INVENTORY_IN_USE = "inventory-in-use"
    PROVIDER_IN_USE = "provider-in-use"
    DUPLICATE_NAME = "duplicate-name"
    NO_ROOM = "no-room"


class Acknowledged(Protocol):
    """What Placement had acknowledged of a plan before it failed (model.plan.Applied; errors know no values)."""

    @property
    def done(self) -> Sized:
        """The writes."""

    @property
    def requests(self) -> int:
        """How many requests were sent."""


class AgentError(Exception):
    """Base of every error that is weather and not a bug."""

    retry = Retry.NEXT_AUDIT


class ConfigError(AgentError):
    """An option that is missing, malformed or impossible.

    ``problems`` holds one sentence each, naming file, option and value.
    """

    retry = Retry.NEVER

    def __init__(self, *problems: str) -> None:
        super().__init__("; ".join(problems))
        self.problems = problems


class FolderUnavailable(AgentError):
    """A folder or file of the agent's own that cannot be used for the moment: read-only, full, not mounted yet."""


class SourceError(AgentError):
    """A read that gave no usable answer. ``source`` is the name of the source."""

    def __init__(self, source: str, message: str) -> None:
        super().__init__(f"{source}: {message}")
        self.source = source
        self.message = message


class SourceUnavailable(SourceError):
    """Refused, timed out or lost."""


class SourceInconsistent(SourceError):
    """An answer that was read but cannot be true; names the offending item."""


class SourceStale(SourceError):
    """A complete answer that nothing proves to be current. ``behind_s`` is how old it is at least, None: not known.

    ``heartbeat`` is the newest that it had, to see whether the next answer has moved on.
    """

    def __init__(
        self, source: str, message: str, *, heartbeat: datetime.datetime | None, behind_s: float | None
    ) -> None:
        super().__init__(source, message)
        self.heartbeat = heartbeat
        self.behind_s = behind_s


class SourceUnsupported(SourceError):
    """The driver or the server lacks the call; asking again changes nothing."""

    retry = Retry.NEVER


class PlacementError(AgentError):
    """A request to Placement that did not do what was asked.

    ``status`` is the HTTP status or None where no answer came, ``request_id``
    the server's ``x-openstack-request-id``. ``applied`` is set by the writer, ``not_before`` by the client:
    in monotonic seconds, where the server said until when it wants no request.
    """

    applied: Acknowledged | None = None
    not_before: float | None = None
    #: What the class is about, where it is a 409.
    conflict: ConflictKind | None = None

    def __init__(self, message: str, *, status: int | None = None, request_id: str | None = None) -> None:
        detail = f" (HTTP {status})" if status is not None else ""
        quoted = f" [{request_id}]" if request_id else ""
        super().__init__(f"placement: {message}{detail}{quoted}")
        self.message = message
        self.status = status
        self.request_id = request_id


class PlacementUnavailable(PlacementError):
    """No answer, an answer that is not Placement's, 429 or 5xx."""


class AnswerTooLarge(PlacementUnavailable):
    """An answer that was not taken, since it is larger than what is taken of what was asked."""


class GenerationConflict(PlacementError):
    """Somebody else changed the provider or consumer since it was read."""

    retry = Retry.AT_ONCE
    conflict = ConflictKind.PROVIDER_GENERATION


class ConsumerConflict(GenerationConflict):
    """Somebody else changed what the consumer holds since it was read."""

    conflict = ConflictKind.CONSUMER_GENERATION


class AllocationRefused(PlacementError):
    """What a consumer is to hold is above what is free, or outside min_unit, max_unit and step_size; nothing moved."""

    retry = Retry.NEVER
    conflict = ConflictKind.NO_ROOM


class InventoryInUse(PlacementError):
    """A class that still has allocations cannot be removed."""

    retry = Retry.NEVER
    conflict = ConflictKind.INVENTORY_IN_USE


class ProviderInUse(PlacementError):
    """A provider that still has allocations or children cannot be removed."""

    retry = Retry.NEVER
    conflict = ConflictKind.PROVIDER_IN_USE


class DuplicateName(PlacementError):
    """Another provider holds this name."""

    retry = Retry.NEVER
    conflict = ConflictKind.DUPLICATE_NAME


class ProviderElsewhere(PlacementError):
    """The provider to be made is there already, in another tree: nobody but a human knows how it came there."""

    retry = Retry.NEVER


class PlacementRejected(PlacementError):
    """Placement understood the request and refuses it as malformed."""

    retry = Retry.NEVER


class WritesRefused(PlacementError):
    """Placement refused some writes of a plan for good; all that does not rest on them was done."""

    retry = Retry.NEVER


class PlacementDenied(PlacementError):
    """Credentials that are missing, wrong or not sufficient."""


class RecordRefused(AgentError):
    """nova-conductor understood a write of a compute node record and refuses it, with its words."""


class LockHeld(AgentError):
    """The write lock is not ours to take: another process of this host holds it, or its file is out of reach.

    ``problem`` ends the sentence that the lock's path begins.
    """

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(f"{path} {problem}")
        self.path = path
        self.problem = problem


class AuditCancelled(AgentError):
    """The service is stopping; nothing was left half-written. ``applied`` is set by the writer."""

    applied: Acknowledged | None = None
