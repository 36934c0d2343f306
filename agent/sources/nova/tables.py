"""Provide the statements that read nova's cell database.

Three facts shape the statements:

- ``deleted`` is 0 in an undeleted row, and the row's id in a deleted row.
- A migration whose status is NULL never counts as in progress: in SQL, NULL satisfies neither ``IN`` nor ``NOT IN``.
- One statement with a join reads the rows of all instances of the host, so the number of statements is constant.

The columns are declared without types: SQLite and MariaDB return different Python values, and rows.py parses both.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import TypeAlias

from sqlalchemy import ColumnElement, Select, TableClause, and_, column, func, or_, select, table

from agent.model.nova import FINISHED_MIGRATION_STATUSES
from agent.sources.nova.columns import COLUMNS

FINISHED_EVACUATIONS = 100

Query: TypeAlias = Select[*tuple[object, ...]]

# Cache the statements, because the host stays the same: SQLAlchemy needs as much time to build the statements as to run
# them (0.8 ms per read, measured).
_once_per_host = functools.lru_cache(maxsize=4)

_TABLES: dict[str, TableClause] = {
    name: table(name, *(column(each) for each in columns)) for name, columns in COLUMNS.items()
}
SERVICES = _TABLES["services"]
NODES = _TABLES["compute_nodes"]
INSTANCES = _TABLES["instances"]
EXTRA = _TABLES["instance_extra"]
DISKS = _TABLES["block_device_mapping"]
MIGRATIONS = _TABLES["migrations"]
PCI = _TABLES["pci_devices"]


@_once_per_host
def services_of(host: str) -> Query:
    """Select the undeleted nova-compute service of a host."""
    return _live(SERVICES).where(SERVICES.c.host == host, SERVICES.c.binary == "nova-compute")


def compute_services() -> Query:
    """Select the undeleted nova-compute services of the cell."""
    return _live(SERVICES).where(SERVICES.c.binary == "nova-compute")


@_once_per_host
def nodes_of(host: str) -> Query:
    """Select the undeleted compute nodes of a host."""
    return _live(NODES).where(NODES.c.host == host)


def node_named(uuid: str) -> Query:
    """Select the compute node with this uuid, whatever its host, and even if it is deleted.

    There is at most one such row, because nova never reuses a uuid.
    """
    return select(NODES).where(NODES.c.uuid == uuid)


@_once_per_host
def instances_of(host: str) -> Query:
    """Select the undeleted instances of a host, on any of the host's nodes."""
    return _instances().where(*live_on(host))


def instances_named(uuids: Iterable[str]) -> Query:
    """Select instances by uuid, deleted instances included."""
    return _instances().where(INSTANCES.c.uuid.in_(list(uuids)))


@_once_per_host
def boot_disks_of(host: str) -> Query:
    """Select the boot disks of the undeleted instances of a host."""
    joined = DISKS.join(INSTANCES, INSTANCES.c.uuid == DISKS.c.instance_uuid)
    return select(DISKS).select_from(joined).where(*live_on(host), DISKS.c.boot_index == 0)


def boot_disks_named(uuids: Iterable[str]) -> Query:
    """Select the boot disks of the instances with these uuids, deleted disks included."""
    return select(DISKS).where(DISKS.c.instance_uuid.in_(list(uuids)), DISKS.c.boot_index == 0)


@_once_per_host
def migrations_in_progress(host: str) -> Query:
    """Select migrations from or to any node of a host, in progress or in error: the same statuses as nova selects."""
    return select(MIGRATIONS).where(*are_in_progress(host))


def migrations_named(uuids: Iterable[str]) -> Query:
    """Select migrations by uuid, in any status, deleted migrations included."""
    return select(MIGRATIONS).where(MIGRATIONS.c.uuid.in_(list(uuids)))


def migrations_of_instances(uuids: Iterable[str]) -> Query:
    """Select all undeleted migrations of the instances with these uuids, in any status.

    The condition on ``deleted`` is necessary for the speed: nova's index begins with this column, and without the
    condition the database would read the whole table.
    """
    return select(MIGRATIONS).where(MIGRATIONS.c.deleted == 0, MIGRATIONS.c.instance_uuid.in_(list(uuids)))


@_once_per_host
def finished_evacuations(host: str) -> Query:
    """Select the newest finished evacuations away from a host, at most 100."""
    newest = func.coalesce(MIGRATIONS.c.updated_at, MIGRATIONS.c.created_at)
    return (
        select(MIGRATIONS)
        .where(*are_finished_evacuations(host))
        .order_by(newest.desc(), MIGRATIONS.c.id.desc())
        .limit(FINISHED_EVACUATIONS)
    )


@_once_per_host
def pci_devices_of(host: str) -> Query:
    """Select the undeleted PCI devices of the undeleted compute nodes of a host."""
    joined = PCI.join(NODES, NODES.c.id == PCI.c.compute_node_id)
    return select(PCI).select_from(joined).where(NODES.c.host == host, NODES.c.deleted == 0, PCI.c.deleted == 0)


def _live(source: TableClause) -> Query:
    return select(source).where(source.c.deleted == 0)


def live_on(host: str) -> tuple[ColumnElement[bool], ...]:
    """Return the SQL conditions that the undeleted instances of a host satisfy."""
    return (INSTANCES.c.host == host, INSTANCES.c.deleted == 0)


def are_in_progress(host: str) -> tuple[ColumnElement[bool], ...]:
    """Return the SQL conditions for undeleted migrations from or to a host that are in progress or in error."""
    here = or_(MIGRATIONS.c.source_compute == host, MIGRATIONS.c.dest_compute == host)
    return (MIGRATIONS.c.deleted == 0, here, MIGRATIONS.c.status.not_in(sorted(FINISHED_MIGRATION_STATUSES)))


def are_finished_evacuations(host: str) -> tuple[ColumnElement[bool], ...]:
    """Return the SQL conditions for undeleted, finished evacuations away from a host."""
    return (
        MIGRATIONS.c.deleted == 0,
        MIGRATIONS.c.source_compute == host,
        MIGRATIONS.c.migration_type == "evacuation",
        MIGRATIONS.c.status.in_(["done", "completed"]),
    )


def _instances() -> Query:
    """Select instances with their ``instance_extra`` columns, which are NULL if there is no ``instance_extra`` row."""
    joined = INSTANCES.outerjoin(EXTRA, and_(EXTRA.c.instance_uuid == INSTANCES.c.uuid))
    extras = (
        EXTRA.c.id.label("extra_id"),
        EXTRA.c.deleted.label("extra_deleted"),
        EXTRA.c.flavor,
        EXTRA.c.numa_topology,
        EXTRA.c.migration_context,
    )
    return select(*INSTANCES.c, *extras).select_from(joined)
