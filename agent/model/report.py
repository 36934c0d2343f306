"""What an audit ends with: one value that the log, the report file and the commands all print from."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from agent.model.finding import SeenFinding
from agent.model.heal import HealNote
from agent.model.host.resource_view import ResourceView
from agent.model.placement import Inventory
from agent.model.plan import EMPTY_PLAN, Plan
from agent.model.usage import CellUsage


class Outcome(enum.Enum):
    """How an audit ended (design 2.2: exit codes follow from it)."""

    CLEAN = "clean"
    FINDINGS = "findings"
    PARTIAL = "partial"
    REFUSED = "refused"
    UNREADABLE = "unreadable"
    CRASHED = "crashed"
    CANCELLED = "cancelled"


class Verdict(enum.Enum):
    """What the comparison of the three books says of one consumer and class (design 3.3)."""

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
    """One consumer, one class, one provider, in the three books. None means: that book does not mention it.

    ``outside_tree``: on a provider that shares with our root, and so no part of this host's sums.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class InventoryRow:
    """One class of one provider as we want it, beside what Placement holds."""

    provider: str
    provider_uuid: str
    wanted: Inventory | None
    recorded: Inventory | None
    used: int | None
    terms: tuple[tuple[str, int], ...] = ()

    @property
    def free(self) -> float | None:
        """(total − reserved) × ratio − used; may be negative; None where *recorded* could not be read."""
        inventory = self.wanted or self.recorded
        if inventory is None or self.used is None:
            return None
        return inventory.capacity - self.used


@dataclass(frozen=True, slots=True, kw_only=True)
class TraitRow:
    """One trait of one provider; ``owner`` is ``ours`` or ``operator``."""

    provider: str
    provider_uuid: str
    trait: str
    wanted: bool
    recorded: bool
    owner: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StorageRow:
    """Bytes of one store and whose they are: the rows of a store add up to ``store_bytes``, its free room included.

    ``store`` is ``vg NAME``, a path or a Ceph pool; ``store_bytes`` its size as the
    store itself says. ``owner`` is a uuid, a ``VG/LV`` or a path by ``owner_kind``,
    "" for what is free. ``what`` says in words what the bytes are, ``source`` where that was read.
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
    """How one read went. ``age_s`` is 0 for a read of this audit, else since the last good one, None if never.

    ``denied``: Placement refused our credentials (401, 403), which no waiting mends. ``behind_s``: how old the newest
    heartbeat of the cell's services is, of the cloud's state alone; None where it has none, or was not read.
    """

    name: str
    ok: bool
    age_s: float | None
    duration_ms: float
    error: str | None
    denied: bool = False
    behind_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EvacuationNote:
    """A finished evacuation that contributes nothing, for ``explain`` to say so."""

    instance_uuid: str
    migration_uuid: str
    status: str
    vcpus: int | None
    memory_mib: int | None
    dest_host: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HostSummary:
    """The numbers behind the three lines that operators of nova-compute grep for (design 2.7).

    ``pci_devices`` is how many PCI functions libvirt lists, None where it was not read; ``pci_stats`` are the free
    ones that may be handed out, one text a pool.
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
class AuditReport:
    """Everything that one audit found and did. ``started_at`` is ISO 8601 UTC.

    ``cell_usages`` are of the cells of ``resource_view``, None where they or what guests use are not known;
    ``record_note`` is one sentence on who writes this host's compute node record.
    ``conflict_kinds`` are (kind, count) of every 409 of Placement's, sorted; ``conflicts`` is their sum.
    ``microversion`` is the newest that Placement speaks, None where it was not asked.
    ``notes`` are sentences on the agent's own files: what was not read of them, what cannot be written.
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
    notes: tuple[str, ...] = ()
