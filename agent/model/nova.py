"""What the cloud's cell database (or conductor) says about this host."""

from __future__ import annotations

import datetime
import enum
from dataclasses import dataclass

from agent.model.node_record import NodeRecord

# nova/db/main/api.py:migration_get_in_progress_and_error_by_host_and_node
FINISHED_MIGRATION_STATUSES = frozenset({"confirmed", "reverted", "failed", "completed", "cancelled", "done"})


class StateKind(enum.Enum):
    """Which kind of state source answered (design 2.4)."""

    SQL = "sql"
    CONDUCTOR = "conductor"
    NONE = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class Flavor:
    """The size that was promised to an instance. ``swap_mib`` is MiB, disks are GiB."""

    id: int
    name: str
    vcpus: int
    memory_mib: int
    root_gib: int
    ephemeral_gib: int
    swap_mib: int
    extra_specs: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class InstanceCell:
    """One NUMA cell of an instance (InstanceNUMACell): ``id`` is the host's cell.

    ``cpuset`` are guest CPUs that float, ``pcpuset`` those that are pinned, ``pinning`` is
    (guest CPU, host CPU) of them, ``reserved_cpus`` are host CPUs of the emulator. ``memory_mib``
    is MiB, ``page_kib`` KiB (None: the host's smallest). Policies as nova spells them.
    """

    id: int
    memory_mib: int
    cpuset: tuple[int, ...] = ()
    pcpuset: tuple[int, ...] = ()
    pinning: tuple[tuple[int, int], ...] = ()
    reserved_cpus: tuple[int, ...] = ()
    page_kib: int | None = None
    cpu_policy: str | None = None
    thread_policy: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MigrationContext:
    """What an instance carries of a move that is not over: (old, new) of what it changes; None: nothing given."""

    migration_id: int | None
    old_numa: tuple[InstanceCell, ...] | None = None
    new_numa: tuple[InstanceCell, ...] | None = None
    old_pci: tuple[str, ...] = ()
    new_pci: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PciRow:
    """One live row of ``pci_devices`` of this host's compute nodes. ``status`` is nova's (available, allocated, …)."""

    id: int
    compute_node_id: int
    address: str
    vendor_id: str
    product_id: str
    kind: str
    status: str
    instance_uuid: str | None = None
    numa_node: int | None = None
    parent_address: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Instance:
    """One row of ``instances`` with what belongs to it.

    ``deleted`` is the row's soft delete (never vm_state ``soft-delete``).
    ``flavor`` is None where it does not parse: then ``problem`` says what is
    wrong and everything about this consumer is unknown. ``compute_id`` is the id of
    its compute node row, ``power_state`` nova's number, ``context`` what a move left.
    """

    uuid: str
    name: str
    project_id: str | None
    user_id: str | None
    host: str | None
    node: str | None
    vm_state: str | None
    task_state: str | None
    deleted: bool
    hidden: bool
    flavor: Flavor | None
    old_flavor: Flavor | None = None
    new_flavor: Flavor | None = None
    flavor_id: int | None = None
    boots_from_volume: bool = False
    migration_context_id: int | None = None
    context: MigrationContext | None = None
    numa: tuple[InstanceCell, ...] | None = None
    compute_id: int | None = None
    os_type: str | None = None
    power_state: int | None = None
    created_at: datetime.datetime | None = None
    deleted_at: datetime.datetime | None = None
    updated_at: datetime.datetime | None = None
    problem: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Migration:
    """One row of ``migrations``; ``kind`` is migration_type (resize, migration, live-migration, evacuation).

    ``deleted`` is the row's soft delete, which goes with its instance's (nova/db/main/api.py:instance_destroy): its
    status then stays for ever as it was.
    """

    id: int
    uuid: str | None
    instance_uuid: str
    kind: str
    status: str
    source_host: str | None
    source_node: str | None
    dest_host: str | None
    dest_node: str | None
    old_type_id: int | None
    new_type_id: int | None
    created_at: datetime.datetime | None
    updated_at: datetime.datetime | None
    deleted: bool = False

    @property
    def in_progress(self) -> bool:
        """Nova's own set: a live row of any status but the finished six."""
        return not self.deleted and self.status not in FINISHED_MIGRATION_STATUSES

    @property
    def under_way(self) -> bool:
        """In progress and not failed: only such a one excuses what does not fit yet (reconcile 5 has both sets)."""
        return self.in_progress and self.status != "error"


@dataclass(frozen=True, slots=True, kw_only=True)
class ComputeNode:
    """One row of ``compute_nodes`` of this host, deleted ones included."""

    id: int
    uuid: str
    host: str
    hypervisor_hostname: str
    deleted: bool
    service_id: int | None = None
    vcpus: int = 0
    vcpus_used: int = 0
    memory_mib: int = 0
    memory_mib_used: int = 0
    local_gib: int = 0
    local_gib_used: int = 0
    updated_at: datetime.datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """The nova-compute service row of this host."""

    id: int
    version: int
    disabled: bool
    forced_down: bool
    last_seen_up: datetime.datetime | None
    created_at: datetime.datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Pulse:
    """A newest heartbeat of the services of the cell, and the clock that its age is measured with (naive UTC)."""

    now: datetime.datetime | None
    heartbeat: datetime.datetime | None
    newest: datetime.datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NovaState:
    """Everything of the cloud that concerns this host (``sql``: read in one transaction).

    ``instances`` are those of this host, those of its migrations, and those
    whose uuid is a consumer recorded on our tree (deleted and moved ones
    included). ``migrations`` are in progress or error, of this host and node, or
    have a recorded consumer as their uuid. ``finished_evacuations``: away from
    here, ``done`` or ``completed``, the newest 100. ``now`` is the source's
    clock (UTC, naive), for ages; conductor gives none, so there it is ours. ``heartbeat`` is a newest
    ``last_seen_up`` of the live services of the cell (nova_rows.py says which), read before the rows or at their
    moment: the rows are at least as new as that. None where no service has ever reported.
    ``newest_heartbeat`` is the newest of them all, to tell which services are silent. ``heard_at`` is the clock at that
    moment, to measure its age with.
    ``unreadable`` names rows that do not parse. ``nodes`` are the live rows of this
    host and the one of the uuid that was asked for, whichever host it names and
    whether it is deleted or not. ``pci_devices`` are those of the live nodes.
    ``records`` are the live nodes' rows in full, from a source that can write them; others give none.
    """

    kind: StateKind
    host: str
    nodes: tuple[ComputeNode, ...] = ()
    service: Service | None = None
    instances: tuple[Instance, ...] = ()
    migrations: tuple[Migration, ...] = ()
    finished_evacuations: tuple[Migration, ...] = ()
    pci_devices: tuple[PciRow, ...] = ()
    records: tuple[NodeRecord, ...] = ()
    now: datetime.datetime | None = None
    heartbeat: datetime.datetime | None = None
    newest_heartbeat: datetime.datetime | None = None
    heard_at: datetime.datetime | None = None
    unreadable: tuple[str, ...] = ()

    @property
    def pulse(self) -> Pulse:
        """The heartbeat and the clock that was read with it."""
        return Pulse(now=self.heard_at or self.now, heartbeat=self.heartbeat, newest=self.newest_heartbeat)
