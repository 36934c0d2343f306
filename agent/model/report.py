"""The report of an audit: the one value that the log, the report file and the commands show."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import NamedTuple

from agent.model.finding import GoneFinding, SeenFinding
from agent.model.heal import HealNote, HealProgress
from agent.model.host.resource_view import ResourceView
from agent.model.placement import Inventory
from agent.model.plan import EMPTY_PLAN, Plan
from agent.model.usage import CellUsage


class Outcome(enum.Enum):
    """How an audit ended. The process's exit code depends on the outcome (agent/exit_codes.py)."""

    CLEAN = "clean"
    FINDINGS = "findings"
    PARTIAL = "partial"
    REFUSED = "refused"
    UNREADABLE = "unreadable"
    CRASHED = "crashed"
    CANCELLED = "cancelled"


class Verdict(enum.Enum):
    """The result of comparing what nova, libvirt and Placement have about one consumer and one resource class."""

    AGREED = "agreed"
    SETTLING = "settling"
    UNKNOWN = "unknown"
    UNMANAGED = "unmanaged"
    RESERVED = "reserved"
    ALLOCATION_DIFFERS = "allocation-differs"
    ALLOCATION_MISSING = "allocation-missing"
    GUEST_MISSING = "guest-missing"
    GUEST_UNKNOWN = "guest-unknown"
    ALLOCATION_LEAKED = "allocation-leaked"
    ALLOCATION_STALE_MOVE = "allocation-stale-move"
    CONSUMER_UNKNOWN = "consumer-unknown"
    OTHER_SERVICE = "other-service"
    USAGE_UNLISTED = "usage-unlisted"


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerRow:
    """What the three books have about one consumer, one resource class and one provider.

    The books are ``promised`` (nova's database), ``held`` (libvirt, storage) and ``recorded`` (Placement's
    allocations). A value is None if that book has no amount. ``outside_tree``: the row is about a sharing provider
    outside this host's tree, so the host's sums leave the row out. If the verdict is SETTLING, ``settling`` says which
    operation nova has in progress.
    """

    consumer_uuid: str | None
    consumer_key: str
    consumer_name: str
    consumer_kind: str
    cause: str
    provider: str
    provider_uuid: str
    resource_class: str
    promised: int | None
    held: int | None
    recorded: int | None
    verdict: Verdict
    source: str
    size_bytes: int | None = None
    outside_tree: bool = False
    settling: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class InventoryRow:
    """The inventory of one class of one provider as the agent wants it, beside the inventory in Placement.

    ``terms`` says how ``reserved`` in ``wanted`` is made up: each term is (name, amount). ``reserved`` is the sum of
    the amounts, but at most the total. ``is_decided`` is False if the agent cannot decide now which inventory it wants.
    ``wanted`` is then equal to ``recorded``, so that the agent changes nothing.
    """

    provider: str
    provider_uuid: str
    wanted: Inventory | None
    recorded: Inventory | None
    used: int | None
    terms: tuple[tuple[str, int], ...] = ()
    is_decided: bool = True

    @property
    def free(self) -> float | None:
        """(total − reserved) × ratio − used; may be negative. None if Placement could not be read."""
        inventory = self.wanted or self.recorded
        if inventory is None or self.used is None:
            return None
        return inventory.capacity - self.used


@dataclass(frozen=True, slots=True, kw_only=True)
class TraitRow:
    """One trait of one provider. ``owner`` is ``ours`` (this agent sets the trait) or ``operator``."""

    provider: str
    provider_uuid: str
    trait: str
    wanted: bool
    recorded: bool
    owner: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StorageRow:
    """One row of the storage ledger: a number of bytes of one store, and their owner.

    The sum of all rows of a store, including the row of its free space, is the size of the store.
    ``store`` is ``vg NAME``, a path or a Ceph pool. ``store_bytes`` is the size that the store itself reports.
    ``owner`` is a uuid, a ``VG/LV`` or a path, depending on ``owner_kind``; it is "" for free space. ``what`` describes
    the bytes in words. ``source`` is where the agent read the number.
    """

    store: str
    owner_kind: str
    owner: str
    what: str
    size_bytes: int
    source: str
    store_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceStatus:
    """The result of reading one source in this audit.

    - ``age_s``: the age in seconds of the last successful read. 0: this audit's read. None: no read ever succeeded.
    - ``denied``: whether the source rejected the agent's credentials, so that retries do not help.
    - ``read``: ``full`` if the agent read nova's rows, ``light`` if it only checked that they had not changed.
    - ``behind_s``: how many seconds old nova's rows may be (the age of ``NovaState.heartbeat``). None if unknown.
    - ``asked``: whether the agent tried to read the source. ``not_asked_because``: if not, why.
    - ``lost_since``: since when the source cannot be read (ISO 8601 UTC). ``losses``: in how many audits since then.
    - ``reason``: why the read failed, as one word (``failure_reason`` in agent/errors.py).

    ``read`` and ``behind_s`` are None for all sources but nova's rows.
    """

    name: str
    ok: bool
    age_s: float | None
    duration_ms: float
    error: str | None
    denied: bool = False
    behind_s: float | None = None
    read: str | None = None
    asked: bool = True
    not_asked_because: str | None = None
    lost_since: str | None = None
    losses: int = 0
    reason: str | None = None


class ThinPoolUse(NamedTuple):
    """A thin pool's use; a value is None if it is unknown.

    ``data_ratio``: the used fraction of the pool's data space (1.0: full). ``metadata_ratio``: the used fraction of the
    pool's metadata space. ``overcommit_ratio``: the sum of the thin volumes' virtual sizes, divided by the pool's size.
    """

    path: str
    data_ratio: float | None
    metadata_ratio: float | None
    overcommit_ratio: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class EvacuationNote:
    """A finished evacuation away from this host, for ``explain``: the instance uses nothing on this host any more."""

    instance_uuid: str
    migration_uuid: str
    status: str
    vcpus: int | None
    memory_mib: int | None
    dest_host: str


class ConsumerName(NamedTuple):
    """A name by which people know a consumer: an instance's name, or the name of a guest in libvirt."""

    name: str
    uuid: str


class ProviderPlace(NamedTuple):
    """A resource provider of the host's tree and the uuid of the provider's parent, None for the root."""

    name: str
    uuid: str
    parent_uuid: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class HostSummary:
    """The host's numbers for three log lines, such as "Final resource view".

    nova-compute's resource tracker writes these log lines too.

    ``pci_devices`` is the number of PCI functions that libvirt lists, None if the agent could not read them.
    ``pci_stats`` has one text for each pool of free PCI functions that guests may get.
    """

    node: str
    free_ram_mib: int | None
    free_disk_gib: int | None
    free_vcpus: int | None
    total_vcpus: int
    used_vcpus: int | None
    phys_ram_mib: int
    used_ram_mib: int | None
    phys_disk_gib: int | None
    used_disk_gib: int | None
    pci_devices: int | None = None
    pci_stats: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class NovaVersions:
    """The versions of nova's services (column ``services.version``), and through which [state] source they were read.

    ``compute``: the version of this host's nova-compute, None if ``services`` has no row of it. ``conductors``: the
    versions of the cell's nova-conductor services, () if not read.
    """

    state_source: str
    compute: int | None
    conductors: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditReport:
    """Everything that one audit found and did. ``started_at`` is ISO 8601 UTC.

    ``conflicts``: number of 409 answers from Placement.
    ``conflict_kinds``: (kind, count) of these answers, sorted.
    ``cell_usages``: usage of the NUMA cells in ``resource_view``, None if the cells or their usage are unknown.
    ``record_note``: one sentence that says who writes this host's compute node record.
    ``microversion``: the newest microversion that Placement supports, None if the agent did not ask.
    ``nova_versions``: None if the agent did not read the state of a cloud.
    ``notes``: sentences about problems of the agent's own files: ignored parts, files that the agent cannot write.
    ``gone``: findings that this audit checked and that do not exist any more.
    ``tried``: requests to Placement that were sent or tried, answered or not; ``requests`` counts the answered ones.
    ``first``: whether this is the first audit of this process.
    ``lock_missed``: whether the audit wrote nothing because another process had the lock for writes.
    ``write_results``: (kind of write, ``done``, ``refused`` or ``failed``, number), for the metrics.
    ``guests``: (``instance`` or ``foreign``, state, number), for the metrics; None if libvirt was not read.
    ``heal``: the progress of the daemon's heal; None if a command made the audit, or if the audit failed.
    ``names``: the names of all instances and guests that the audit read, sorted; several uuids may have one name.
    ``providers``: the resource providers of the host's tree, with their parents.
    ``own_files_read``: False if a command may not read the agent's state directory, because it does not run as root.
    ``remembered``: in the first audit, the findings that the history file had: an earlier process has reported them.
    ``boot``: the id of the host's boot. ``read_until``: when the audit ended its reads, in seconds after this boot.
    After a crash, the next process uses both fields to compute when the findings were last seen.
    ``nova_alive_since``: the first audit of the unbroken series that found nova-compute alive, as in ``History``.
    """

    audit_id: str
    host: str
    node: str | None
    provider_uuid: str | None
    role: str
    reasons: tuple[str, ...]
    started_at: str
    duration_ms: float
    outcome: Outcome
    sources: tuple[SourceStatus, ...]
    findings: tuple[SeenFinding, ...] = ()
    plan: Plan = EMPTY_PLAN
    published: bool = False
    writes_done: int = 0
    requests: int = 0
    conflicts: int = 0
    conflict_kinds: tuple[tuple[str, int], ...] = ()
    attempts: int = 0
    error: str | None = None
    ledger: tuple[LedgerRow, ...] = ()
    inventory: tuple[InventoryRow, ...] = ()
    traits: tuple[TraitRow, ...] = ()
    storage: tuple[StorageRow, ...] = ()
    evacuations: tuple[EvacuationNote, ...] = ()
    summary: HostSummary | None = None
    simulated: tuple[str, ...] = ()
    resource_view: ResourceView | None = None
    cell_usages: tuple[CellUsage, ...] | None = None
    record_note: str = ""
    healed: tuple[HealNote, ...] = ()
    microversion: tuple[int, int] | None = None
    nova_versions: NovaVersions | None = None
    notes: tuple[str, ...] = ()
    gone: tuple[GoneFinding, ...] = ()
    tried: int = 0
    first: bool = False
    lock_missed: bool = False
    write_results: tuple[tuple[str, str, int], ...] = ()
    thin_pools: tuple[ThinPoolUse, ...] = ()
    guests: tuple[tuple[str, str, int], ...] | None = None
    heal: HealProgress | None = None
    names: tuple[ConsumerName, ...] = ()
    providers: tuple[ProviderPlace, ...] = ()
    own_files_read: bool = True
    remembered: tuple[SeenFinding, ...] = ()
    boot: str = ""
    read_until: int | None = None
    nova_alive_since: int | None = None
