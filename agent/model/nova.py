"""The cloud's state of this host, as the cell database or nova-conductor reports it."""

from __future__ import annotations

import dataclasses
import datetime
import enum
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from agent.model.node_record import NodeRecord

# As in nova/db/main/api.py:migration_get_in_progress_and_error_by_host_and_node.
FINISHED_MIGRATION_STATUSES = frozenset({"confirmed", "reverted", "failed", "completed", "cancelled", "done"})


class StateKind(enum.Enum):
    """The kind of the state source (``[state] source``), and everything that follows from the kind.

    ``has_cloud``: False if the agent reads libvirt's domains instead of nova's rows, services and heartbeats.
    ``writes_records``: whether the source can write compute node records.
    ``record_note``: a sentence for people that says whether the agent writes the compute node record.
    ``clock``: the clock by which the source measures the age of heartbeats.
    """

    SQL = (
        *("sql", True, False, "the database's clock"),
        "the agent writes the compute node record only with [state] source = conductor, not with sql",
    )
    CONDUCTOR = (
        *("conductor", True, True, "this host's clock"),
        "the compute node record is written through nova-conductor",
    )
    NONE = "none", False, False, "this host's clock", "there is no compute node record, because [state] source = none"

    has_cloud: bool
    writes_records: bool
    clock: str
    record_note: str

    def __new__(cls, source: str, has_cloud: bool, writes_records: bool, clock: str, record_note: str) -> Self:  # noqa: FBT001
        """Create the enum member of one state source; its value is the name of the source in the configuration file."""
        kind = object.__new__(cls)
        kind._value_ = source
        kind.has_cloud, kind.writes_records = has_cloud, writes_records
        kind.clock, kind.record_note = clock, record_note
        return kind


@dataclass(frozen=True, slots=True, kw_only=True)
class Flavor:
    """The size that the cloud promised to an instance. Memory and swap are in MiB, disks in GiB.

    ``id`` is 0 if the flavor was read from a libvirt domain instead of nova's rows.
    """

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
    """One NUMA cell of an instance (InstanceNUMACell). ``id`` is the number of a NUMA cell of the host.

    ``cpuset`` are the floating guest CPUs and ``pcpuset`` the pinned guest CPUs. ``pinning`` has (guest CPU, host CPU)
    for each pinned guest CPU. ``reserved_cpus`` are the host CPUs for the guest's emulator threads. ``page_kib`` is the
    page size in KiB, None for the host's smallest page size. ``cpu_policy`` and ``thread_policy`` are spelled as in
    nova.
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
    """nova's MigrationContext of an instance whose move is not finished: old and new NUMA cells and PCI addresses.

    ``old_numa`` and ``new_numa`` are None if the context has no NUMA cells for that side of the move.
    """

    migration_id: int | None
    old_numa: tuple[InstanceCell, ...] | None = None
    new_numa: tuple[InstanceCell, ...] | None = None
    old_pci: tuple[str, ...] = ()
    new_pci: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PciRow:
    """One live row of ``pci_devices`` of this host's compute nodes. ``status`` is as in nova (available, ...)."""

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
    """One row of ``instances`` with the instance's flavors, NUMA cells and migration context.

    ``deleted``: the row is marked as deleted in the database; a row with vm_state ``soft-delete`` is not marked.
    ``problem`` says which of the instance's rows (in any table) cannot be parsed. Then the agent cannot judge the
    instance's allocations. ``flavor`` is None if the flavor does not parse. ``compute_id``: the id of the compute node
    row. ``context``: the MigrationContext of an unfinished move.
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

    ``deleted``: the row is marked as deleted. nova marks an instance's migrations together with the instance
    (nova/db/main/api.py:instance_destroy). The status of such a migration does not change any more.
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
        """Whether nova counts the migration as in progress: the row is not deleted, and the status is not final."""
        return not self.deleted and self.status not in FINISHED_MIGRATION_STATUSES

    @property
    def under_way(self) -> bool:
        """Whether the migration is in progress without error.

        While such a migration runs, nova and Placement may differ. No other migration explains a difference.
        """
        return self.in_progress and self.status != "error"


@dataclass(frozen=True, slots=True, kw_only=True)
class ComputeNode:
    """Some columns of one row of ``compute_nodes``, live or deleted. ``NodeRecord`` has all columns."""

    id: int
    uuid: str
    host: str
    hypervisor_hostname: str
    deleted: bool
    vcpus: int = 0
    memory_mib: int = 0
    local_gib: int = 0


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
class ComputeHost:
    """A host that has a nova-compute service; ``disabled``: the scheduler gives the host no new instances."""

    host: str
    disabled: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Pulse:
    """Heartbeats of the cell's services, and the time ``now`` for computing their ages. All times are naive UTC.

    ``heartbeat``: nova's rows are at least as new as this heartbeat. ``newest``: the newest heartbeat of any service.
    """

    now: datetime.datetime | None
    heartbeat: datetime.datetime | None
    newest: datetime.datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NovaState:
    """The part of the cloud's state that concerns this host. The source ``sql`` reads it in one transaction.

    ``nodes``: the live compute node rows of this host. If the caller asked for a compute node's uuid, also the row with
    that uuid, even if the row is deleted or names another host.
    ``instances``: instances of this host, instances of its migrations, and instances that have allocations on this
    host's provider tree in Placement. Deleted and moved instances are included.
    ``migrations``: migrations of this host and node that are in progress or in error, and migrations that have
    allocations on this host's provider tree.
    ``finished_evacuations``: the newest 100 evacuations away from this host with status ``done`` or ``completed``.
    ``pci_devices``: the rows of the live nodes.
    ``records``: the complete rows of the live nodes. Only a source that can write records fills this field.
    ``now``: the source's clock (naive UTC), for the age of rows. With nova-conductor, ``now`` is the agent's clock.
    ``heartbeat``: a time in the column ``last_seen_up`` of ``services`` that shows how new the rows are: they are at
    least as new as this time (agent/sources/nova/rows.py chooses it). None if no service has ever reported.
    ``newest_heartbeat``: the newest ``last_seen_up`` of any service; the agent compares nova-compute's time with it.
    ``pulse_at``: the time on the source's clock when ``heartbeat`` and ``newest_heartbeat`` were read.
    ``conductor_versions``: the service versions of the cell's nova-conductors; only source ``conductor`` reads them.
    ``unreadable``: one message for each row that does not parse.
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
    pulse_at: datetime.datetime | None = None
    conductor_versions: tuple[int, ...] = ()
    unreadable: tuple[str, ...] = ()

    @property
    def pulse(self) -> Pulse:
        """The heartbeats, and the time on the source's clock when the source read them."""
        return Pulse(now=self.pulse_at or self.now, heartbeat=self.heartbeat, newest=self.newest_heartbeat)


@dataclass(frozen=True, slots=True, kw_only=True)
class AllMigrations:
    """All migrations of some instances, between any hosts and in any status, except deleted migrations.

    nova deletes a migration only together with its instance; the instance's row then shows the time of the deletion.
    ``of`` maps the uuid of each requested instance to its migrations, sorted by id. The value is None if one of these
    migrations is unreadable. ``pulse``: the heartbeats of nova's services, read before the migrations. So the
    migrations are at least as new as the heartbeats.
    """

    of: Mapping[str, tuple[Migration, ...] | None]
    pulse: Pulse


@dataclass(frozen=True, slots=True, kw_only=True)
class StateSign:
    """Values that show whether rows have changed since the last full read, without reading the rows (a light read).

    ``parts`` are (name, value) pairs. If all parts are equal in two reads, no row has changed.

    ``is_settled`` is True if every later change of a row will change a part. It is False shortly after a change:
    another change may get the same time and leave all parts equal, because times in rows have whole seconds and come
    from several clocks.
    """

    parts: tuple[tuple[str, object], ...]
    is_settled: bool = True

    def changed_since(self, before: StateSign) -> tuple[str, ...]:
        """Return the names of the parts that differ from ``before``. A part that only one object has is left out."""
        known = dict(before.parts)
        return tuple(name for name, value in self.parts if name in known and known[name] != value)


@dataclass(frozen=True, slots=True, kw_only=True)
class LightState:
    """The result of a light read: not nova's rows, but a few values (``sign``) that change when the rows change.

    While ``sign`` stays equal, the rows of the last full read are still current (agent/audit/light_or_full.py).
    ``service`` and ``now`` have the same meaning as in NovaState.
    """

    sign: StateSign
    service: Service | None
    now: datetime.datetime | None
    pulse: Pulse

    def renewed(self, state: NovaState) -> NovaState:
        """Return ``state`` (the last full read) with the service, heartbeats and time of this light read."""
        return dataclasses.replace(
            state,
            service=self.service,
            now=self.now,
            heartbeat=self.pulse.heartbeat,
            newest_heartbeat=self.pulse.newest,
            pulse_at=self.pulse.now,
        )
