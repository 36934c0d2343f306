"""The request of an audit, the memory of earlier audits, and the audit's result. The snapshot is in snapshot.py."""

from __future__ import annotations

import datetime
import enum
from dataclasses import dataclass
from typing import NamedTuple

from agent.model.compared import Compared
from agent.model.finding import History
from agent.model.host.facts import Domain
from agent.model.host.store import StoreMark
from agent.model.nova import NovaState, StateSign
from agent.model.placement import Allocation, Inventory
from agent.model.report import AuditReport
from agent.model.settings import Settings
from agent.model.snapshot import Snapshot

#: The reason of an audit that runs because the interval has passed. Audits with only this reason are periodic.
PERIODIC = "interval"


class Publish(enum.Enum):
    """Whether an audit may write. BY_ROLE: the agent's role decides. NEVER: the audit is a dry run."""

    BY_ROLE = "by-role"
    NEVER = "never"


class Depth(enum.Enum):
    """How much an audit reads from Placement and the cloud.

    FULL (for operators' commands): all allocations. ECONOMICAL: only allocations that changed or must be read again.
    """

    ECONOMICAL = "economical"
    FULL = "full"


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditRequest:
    """Why and how to run one audit. A request contains no facts about the host: the audit reads them itself."""

    reasons: tuple[str, ...]
    publish: Publish = Publish.BY_ROLE
    depth: Depth = Depth.ECONOMICAL

    @property
    def is_periodic(self) -> bool:
        """Whether the audit runs only because the interval has passed."""
        return self.reasons == (PERIODIC,)


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """The uuid of this host's root provider. ``origin`` says where the uuid is from, such as a file or a database row.

    ``invented``: the agent generated the uuid for a run that is not allowed to publish. No file contains this uuid, and
    the agent never writes the uuid to a file or to Placement.
    """

    uuid: str
    origin: str
    invented: bool = False


class Reconfigured(NamedTuple):
    """A change of the configuration: what changed, and when an audit first used the new values (ISO 8601 UTC)."""

    at: str
    words: str


class Standing(NamedTuple):
    """The newest heartbeat of any nova service, and when the agent first saw it (the agent's monotonic seconds)."""

    heartbeat: datetime.datetime
    since: float


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenProvider:
    """The agent's last acknowledged write to one provider.

    ``strikes``: in how many audits in a row the agent found that another program had changed an inventory.
    ``cleared``: the traits that the agent did not want on the provider at the time of this write.
    """

    provider_uuid: str
    inventories: tuple[Inventory, ...]
    strikes: int = 0
    cleared: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class FullState:
    """The last full read of nova's rows, and what the other sources said at that time.

    A light read does not read the rows. It reads only a few values that show whether rows changed since the last full
    read. ``sign`` has these values as they were directly before the full read; None if no light read came before it.

    ``consumers`` and ``node_uuid`` are the arguments of the full read. ``domains`` and ``allocations`` are the guests
    and Placement's allocations that the same audit read, None if it could not read them.

    Two fields make the next audit read all rows again. ``saw_change``: the last audit saw a change, and may have seen
    only half of the change. ``rests``: why a finding or a consumer of the last audit needs the rows; "" if there is no
    reason.
    """

    state: NovaState
    sign: StateSign | None
    consumers: frozenset[str]
    node_uuid: str | None
    domains: tuple[Domain, ...] | None
    allocations: tuple[Allocation, ...] | None
    saw_change: bool = False
    rests: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditMemory:
    """Everything that one audit passes to the next. A daemon starts with an empty memory; losing any field is safe.

    - ``book_digest``: digest of the amounts that nova promised and that guests use, from the last audit that could read
      both.
    - ``recheck_recorded``: whether the next audit must read allocations again.
    - ``audits``: number of audits so far.
    - ``audits_since_everything``: number of audits since the agent last read its whole provider tree without caches.
    - ``hold_s``: delay in seconds before a periodic audit's first write, to avoid a collision with other writers.
    - ``heartbeat``: the newest heartbeat of any nova service of the cell, and since when it is the newest.
    - ``suspects``: consumers whose claims looked wrong. The next audit reads their allocations first.
    - ``reported``: consumers in findings about allocations. After a change of a consumer's provider, the agent reads
      the consumer again.
    - ``unknown_traits``: standard traits that this Placement rejected as unknown.
    - ``unsaved_history``: whether the findings' history has changes that are not in its file yet.
    - ``ended``: the findings that ended since the agent last saved the history.
    - ``settings``: the settings of the last audit.
    - ``reconfigured``: the last configuration change that may have ended findings.
    - ``wrote``: the consumers and providers that the last audit wrote.
    - ``last_good``: (source, monotonic seconds) of each source's last successful read.
    - ``compared``: the last comparison of the books. The next audit reuses it if the facts have not changed.
    - ``guests``: uuids of the libvirt domains at the last read. The next audit also reads nova's rows of these uuids.
    - ``shared_due_in``: after how many audits the agent reads sharing providers again; 0 means in the next audit.
    - ``store``: the store from which the agent last computed DISK_GB.
    - ``full_state``: the last full read of the cloud's state. None: the next audit reads in full.
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
    reported: tuple[str, ...] = ()
    consumers: frozenset[str] = frozenset()
    written: WrittenProvider | None = None
    unknown_traits: frozenset[str] = frozenset()
    unsaved_history: bool = False
    ended: frozenset[str] = frozenset()
    settings: Settings | None = None
    reconfigured: Reconfigured | None = None
    wrote: frozenset[str] = frozenset()
    last_good: tuple[tuple[str, float], ...] = ()
    compared: Compared | None = None
    guests: frozenset[str] = frozenset()
    shared_due_in: int = 0
    store: StoreMark | None = None
    full_state: FullState | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditResult:
    """What one audit returns to its caller.

    ``audit_again`` asks for one more audit at once, because a new finding rests on cached allocations: the agent must
    read them again before it reports the finding. ``snapshot`` has the facts that this audit read, for heal.
    ``not_before`` (monotonic seconds): Placement asked the agent to send no request before this moment. ``began``
    (monotonic seconds): when the audit began; ``report.started_at`` is the same moment in wall clock time.
    """

    report: AuditReport
    memory: AuditMemory
    audit_again: bool = False
    snapshot: Snapshot | None = None
    not_before: float | None = None
    began: float = 0.0
