"""What goes into an audit beside the facts: the request, and what is remembered from the audits before."""

from __future__ import annotations

import datetime
import enum
from dataclasses import dataclass
from typing import NamedTuple

from agent.model.compared import Compared
from agent.model.finding import History
from agent.model.host.store import StoreMark
from agent.model.placement import Inventory
from agent.model.report import AuditReport
from agent.model.snapshot import Snapshot

#: The reason that the interval gives: an audit for that alone comes at the same time again and again.
PERIODIC = "interval"


class Publish(enum.Enum):
    """Whether this audit may write. BY_ROLE: what the role allows; NEVER: every audit is a dry run."""

    BY_ROLE = "by-role"
    NEVER = "never"


class Depth(enum.Enum):
    """How much of Placement to read. FULL is for commands run by hand."""

    ECONOMICAL = "economical"
    FULL = "full"


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditRequest:
    """A coalesced reason to look; it never carries data."""

    reasons: tuple[str, ...]
    publish: Publish = Publish.BY_ROLE
    depth: Depth = Depth.ECONOMICAL

    @property
    def is_periodic(self) -> bool:
        """Whether nothing but the interval asked for it."""
        return self.reasons == (PERIODIC,)


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """Which provider is ours. ``origin`` says how that is known (a file's path, a compute node row, generated).

    ``invented``: made up for a run that may not publish, on no disk, and never to be written.
    """

    uuid: str
    origin: str
    invented: bool = False


class Standing(NamedTuple):
    """The newest heartbeat as last read, and since when it has been the newest, in our own monotonic seconds."""

    heartbeat: datetime.datetime
    since: float


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenProvider:
    """What we last wrote to a provider and Placement acknowledged; ``strikes`` counts audits that found it changed.

    ``cleared`` are the traits that were to be absent then.
    """

    provider_uuid: str
    inventories: tuple[Inventory, ...]
    strikes: int = 0
    cleared: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditMemory:
    """All that one audit leaves for the next. A daemon starts with an empty one; every field can be lost safely.

    ``book_digest`` is of the promised and held sets as last seen;
    ``recheck_recorded`` says that the next audit must read allocations again, ``told`` of whom findings were told that
    rest on them: their whole records are read again too.
    ``unknown_traits`` are standard traits that this Placement refused as unknown to it.
    ``last_good`` are (source, monotonic seconds) of the last good reads.
    ``compared`` is the last comparison, kept for as long as its facts stay equal.
    ``guests`` are the domains' uuids as last read: the state source is asked about them too.
    ``shared_due_in`` is after how many audits sharing providers are read again, 0: in the next one.
    ``audits`` counts the audits so far, ``audits_since_everything`` those since all of Placement was read anew.
    ``heartbeat`` is the newest of any service of the cell as last read, and since when it has been that one.
    ``history_saved_at``, in monotonic seconds, is when the findings' file was written last.
    ``hold_s`` is how long the first write of a periodic audit is held back: somebody else writes at our time.
    ``store`` is the store that DISK_GB counted last.
    """

    identity: Identity | None = None
    node_name: str | None = None
    history: History | None = None
    book_digest: str | None = None
    recheck_recorded: bool = True
    audits: int = 0
    audits_since_everything: int = 0
    hold_s: float = 0.0
    heartbeat: Standing | None = None
    suspects: tuple[str, ...] = ()
    told: tuple[str, ...] = ()
    consumers: frozenset[str] = frozenset()
    written: WrittenProvider | None = None
    unknown_traits: frozenset[str] = frozenset()
    unsaved_history: bool = False
    history_saved_at: float = 0.0
    last_good: tuple[tuple[str, float], ...] = ()
    compared: Compared | None = None
    guests: frozenset[str] = frozenset()
    shared_due_in: int = 0
    store: StoreMark | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditResult:
    """``look_again`` asks for one more audit at once (principle 6); ``snapshot`` is what was decided on, for heal.

    ``not_before``, in monotonic seconds: Placement said until when it wants no request.
    """

    report: AuditReport
    memory: AuditMemory
    look_again: bool = False
    snapshot: Snapshot | None = None
    not_before: float | None = None
