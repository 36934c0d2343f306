"""All exceptions of the agent, as one tree that is ordered by what the caller can do about an error.

    AgentError                     retry: NEXT_AUDIT | AT_ONCE | NEVER
    ├─ ConfigError                 at start: exit 78; on reload: the old settings stay
    ├─ FolderUnavailable           the agent's folder fails; at start: exit 75 if the host's uuid is unknown
    ├─ SourceError                 reported; Placement keeps the old values that depend on the source
    │  ├─ SourceUnavailable        refused, timed out, connection lost          NEXT_AUDIT
    │  │  └─ SourceDenied          the source rejects the credentials           NEXT_AUDIT
    │  ├─ SourceInconsistent       parsed, but breaks an invariant              NEXT_AUDIT
    │  ├─ SourceStale              complete, but not proven to be current       NEXT_AUDIT
    │  └─ SourceUnsupported        the driver lacks the call                    NEVER
    ├─ PlacementError
    │  ├─ PlacementUnavailable     connect, time-out, 429, 5xx, garbage         NEXT_AUDIT
    │  │  ├─ AnswerTooLarge        a response above the size limit              NEXT_AUDIT
    │  │  └─ PlacementNotAsked     this host's provider uuid is unknown         NEXT_AUDIT
    │  ├─ GenerationConflict       409 placement.concurrent_update              AT_ONCE
    │  │  └─ ConsumerConflict      409 for the generation of a consumer         AT_ONCE
    │  ├─ AllocationRefused        409: the inventory lacks capacity            NEVER
    │  ├─ InventoryInUse           409 placement.inventory.inuse                NEVER
    │  ├─ ProviderInUse            409 on DELETE of a provider                  NEVER
    │  ├─ DuplicateName            409 placement.duplicate_name                 NEVER
    │  ├─ ProviderElsewhere        409: the uuid exists in another tree         NEVER
    │  ├─ PlacementRejected        400, 406: an agent bug or bad configuration  NEVER
    │  ├─ WritesRefused            only some writes of a plan were rejected     NEVER
    │  └─ PlacementDenied          401, 403                                     NEXT_AUDIT
    ├─ RecordRefused               nova-conductor rejects a record              NEXT_AUDIT
    ├─ LockHeld                    another process on this host is writing      NEXT_AUDIT
    └─ AuditCancelled              a stop was requested between two stages

The class of an error does not depend on which call raised the error.
"""

from __future__ import annotations

import datetime
import enum
import re
from collections.abc import Sized
from typing import Protocol


class Retry(enum.Enum):
    """When a caller may try the same operation again."""

    NEXT_AUDIT = "next-audit"
    AT_ONCE = "at-once"
    NEVER = "never"


class ConflictKind(enum.Enum):
    """The cause of a 409 from Placement. The values are keys in reports and messages: never change a value."""

    PROVIDER_GENERATION = "provider-generation"
    CONSUMER_GENERATION = "consumer-generation"
    INVENTORY_IN_USE = "inventory-in-use"
    PROVIDER_IN_USE = "provider-in-use"
    DUPLICATE_NAME = "duplicate-name"
    NO_ROOM = "no-room"


class Acknowledged(Protocol):
    """The writes that Placement acknowledged before a later write of the same plan failed.

    The class agent.model.plan.Applied implements this protocol, so this module need not import agent.model.
    """

    @property
    def done(self) -> Sized:
        """The acknowledged writes."""

    @property
    def requests(self) -> int:
        """The number of requests that the agent sent to Placement for this plan."""


class AgentError(Exception):
    """Base of every error that comes from the environment or the configuration, not from a bug in the agent."""

    retry = Retry.NEXT_AUDIT


class ConfigError(AgentError):
    """The configuration cannot be used, for example because an option is missing or malformed.

    ``problems`` has one sentence for each problem. A sentence about an option names the file, the option and its value.
    """

    retry = Retry.NEVER

    def __init__(self, *problems: str) -> None:
        super().__init__("; ".join(problems))
        self.problems = problems


class FolderUnavailable(AgentError):
    """The agent cannot use a file or folder of its own now: the file system is read-only, full or not mounted yet."""


class SourceError(AgentError):
    """A read of ``source`` returned no usable data. Sources are, for example, libvirt, LVM and nova's database."""

    def __init__(self, source: str, message: str) -> None:
        super().__init__(f"{source}: {message}")
        self.source = source
        self.message = message


class SourceUnavailable(SourceError):
    """The source refused the connection, timed out or dropped the connection."""


class SourceDenied(SourceUnavailable):
    """The source rejected the agent's credentials. Another attempt with the same credentials would fail too."""


class SourceInconsistent(SourceError):
    """The source's data cannot be true. The message names the offending item."""


class SourceStale(SourceError):
    """The source's data is complete, but nothing proves that it is current.

    ``behind_s`` is the minimum age of the data in seconds, None if unknown. ``heartbeat`` is the newest heartbeat of a
    nova service in the data: the next audit checks whether nova has written a newer heartbeat since.
    """

    def __init__(
        self, source: str, message: str, *, heartbeat: datetime.datetime | None, behind_s: float | None
    ) -> None:
        super().__init__(source, message)
        self.heartbeat = heartbeat
        self.behind_s = behind_s


class SourceUnsupported(SourceError):
    """The libvirt daemon or its hypervisor driver lacks a call that the agent needs; a retry would fail again."""

    retry = Retry.NEVER


class PlacementError(AgentError):
    """A request to Placement that failed.

    ``status`` is the HTTP status, None if no response came. ``request_id`` is the server's
    ``x-openstack-request-id``. In ``applied`` the writer stores the writes that Placement acknowledged. If the
    response has the header Retry-After, the client sets ``not_before``: before this time (monotonic seconds) the agent
    must send no request.
    ``endpoint`` is Placement's URL, None if the client does not know the URL yet.
    """

    applied: Acknowledged | None = None
    not_before: float | None = None
    endpoint: str | None = None
    #: The cause of a 409. Subclasses set the value; it is None if no ConflictKind fits the error.
    conflict: ConflictKind | None = None

    def __init__(self, message: str, *, status: int | None = None, request_id: str | None = None) -> None:
        detail = f" (HTTP {status})" if status is not None else ""
        quoted = f" [{request_id}]" if request_id else ""
        super().__init__(f"placement: {message}{detail}{quoted}")
        self.message = message
        self.status = status
        self.request_id = request_id


class PlacementUnavailable(PlacementError):
    """The agent got no response, a response that is not from Placement, or HTTP 429 or 5xx."""


class AnswerTooLarge(PlacementUnavailable):
    """A response that the client discarded because it is larger than the limit for this kind of request."""


class PlacementNotAsked(PlacementUnavailable):
    """The agent sent no request, because it could not read the source that has this host's provider uuid.

    ``why`` is the reason. The message is ``why`` with the prefix "not asked".
    """

    def __init__(self, why: str) -> None:
        super().__init__(f"not asked: {why}")
        self.why = why


class GenerationConflict(PlacementError):
    """Another client changed the provider or consumer after the agent read it."""

    retry = Retry.AT_ONCE
    conflict = ConflictKind.PROVIDER_GENERATION


class ConsumerConflict(GenerationConflict):
    """Another client changed the consumer's allocations after the agent read them."""

    conflict = ConflictKind.CONSUMER_GENERATION


class AllocationRefused(PlacementError):
    """Placement refused an allocation and changed nothing.

    The amount exceeds the free capacity, or min_unit, max_unit or step_size forbid it.
    """

    retry = Retry.NEVER
    conflict = ConflictKind.NO_ROOM


class InventoryInUse(PlacementError):
    """Placement refused to remove a resource class that still has allocations."""

    retry = Retry.NEVER
    conflict = ConflictKind.INVENTORY_IN_USE


class ProviderInUse(PlacementError):
    """Placement refused to delete a provider that still has allocations or children."""

    retry = Retry.NEVER
    conflict = ConflictKind.PROVIDER_IN_USE


class DuplicateName(PlacementError):
    """Placement refused a provider's name, because another provider has this name."""

    retry = Retry.NEVER
    conflict = ConflictKind.DUPLICATE_NAME


class ProviderElsewhere(PlacementError):
    """The provider to create exists already in another provider tree. Only the operator can find out why."""

    retry = Retry.NEVER


class PlacementRejected(PlacementError):
    """Placement rejected the request as malformed or unacceptable (HTTP 400 or 406). A retry would fail too."""

    retry = Retry.NEVER


class WritesRefused(PlacementError):
    """Placement rejected some writes of a plan. The agent made all writes that do not depend on a rejected write."""

    retry = Retry.NEVER


class PlacementDenied(PlacementError):
    """The credentials are missing, wrong or not sufficient."""


class RecordRefused(AgentError):
    """nova-conductor rejected the write of a compute node record. The message contains nova-conductor's error."""


class LockHeld(AgentError):
    """The write lock cannot be taken: another process on this host has the lock, or the lock file cannot be opened.

    The message is the path of the lock file, followed by ``problem``.
    """

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(f"{path} {problem}")
        self.path = path
        self.problem = problem


class AuditCancelled(AgentError):
    """The audit ended early because the agent is stopping. No write was cut off.

    ``applied`` has the finished writes.
    """

    applied: Acknowledged | None = None


def is_denied(error: AgentError | None) -> bool:
    """Return whether the source or Placement rejected the credentials. A retry with them would fail too."""
    return isinstance(error, SourceDenied | PlacementDenied)


def failure_reason(error: AgentError | None) -> str | None:
    """Return why a read failed, as one of five words; None if there is no error.

    The words are ``timeout``, ``unreachable``, ``denied``, ``inconsistent`` (also for data that may be too old) and
    ``unsupported``. Libraries use one error class for time-outs and for unreachable services. So only the text of the
    error distinguishes ``timeout`` from ``unreachable``.
    """
    if error is None:
        return None
    if is_denied(error):
        return "denied"
    if isinstance(error, SourceUnsupported):
        return "unsupported"
    if isinstance(error, SourceInconsistent | SourceStale | PlacementRejected):
        return "inconsistent"
    return "timeout" if _LATE.search(str(error)) else "unreachable"


_LATE = re.compile(r"timed? ?out|no (complete )?answer (came )?within|did not answer|deadline", re.IGNORECASE)
