"""What the cloud's cell database (or conductor) says about this host."""

from __future__ import annotations

import datetime
import enum
from dataclasses import dataclass

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
class Instance:
    """One row of ``instances`` with what belongs to it.

    ``deleted`` is the row's soft delete (never vm_state ``soft-delete``).
    ``flavor`` is None where it does not parse: then ``problem`` says what is
    wrong and everything about this consumer is unknown.
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
    deleted_at: datetime.datetime | None = None
    updated_at: datetime.datetime | None = None
    problem: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Migration:
    """One row of ``migrations``; ``kind`` is migration_type (resize, migration, live-migration, evacuation)."""

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

    @property
    def in_progress(self) -> bool:
        """Nova's own set: any status but the finished six."""
        return self.status not in FINISHED_MIGRATION_STATUSES

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
class NovaState:
    """Everything of the cloud that concerns this host, read in one transaction.

    ``instances`` are those of this host, those of its migrations, and those
    whose uuid is a consumer recorded on our tree (deleted and moved ones
    included). ``migrations`` are in progress or error, of this host and node, or
    have a recorded consumer as their uuid. ``finished_evacuations``: away from
    here, ``done`` or ``completed``, the newest 100. ``now`` is the source's
    clock (UTC, naive), for ages. ``unreadable`` names rows that do not parse.
    """

    kind: StateKind
    host: str
    nodes: tuple[ComputeNode, ...] = ()
    service: Service | None = None
    instances: tuple[Instance, ...] = ()
    migrations: tuple[Migration, ...] = ()
    finished_evacuations: tuple[Migration, ...] = ()
    now: datetime.datetime | None = None
    unreadable: tuple[str, ...] = ()
