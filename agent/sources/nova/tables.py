"""Provide the statements that read nova's cell database.

Three facts shape the statements:

- ``deleted`` is 0 in a live row, and the row's id in a deleted row.
- A migration whose status is NULL never counts as in progress: in SQL, NULL satisfies neither ``IN`` nor ``NOT IN``.
- Joins find the rows of all instances of the host, so more instances do not need more statements.

Columns carry no types: SQLite and MariaDB return different Python values, and rows.py reads both.
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
_SERVICES = _TABLES["services"]
_NODES = _TABLES["compute_nodes"]
_INSTANCES = _TABLES["instances"]
_EXTRA = _TABLES["instance_extra"]
_DISKS = _TABLES["block_device_mapping"]
_MIGRATIONS = _TABLES["migrations"]
_PCI = _TABLES["pci_devices"]


@_once_per_host
def services_of(host: str) -> Query:
    """Select the live nova-compute service of a host."""
    return _live(_SERVICES).where(_SERVICES.c.host == host, _SERVICES.c.binary == "nova-compute")


@_once_per_host
def nodes_of(host: str) -> Query:
    """Select the live compute nodes of a host."""
    return _live(_NODES).where(_NODES.c.host == host)


def node_named(uuid: str) -> Query:
    """Select the compute node with a uuid, for any host, deleted or not; nova never reuses a uuid."""
    return select(_NODES).where(_NODES.c.uuid == uuid)


@_once_per_host
def instances_of(host: str) -> Query:
    """Select the live instances of a host, on any of its nodes."""
    return _instances().where(*_on(host))


def instances_named(uuids: Iterable[str]) -> Query:
    """Select instances by uuid, deleted instances included."""
    return _instances().where(_INSTANCES.c.uuid.in_(list(uuids)))


@_once_per_host
def boot_disks_of(host: str) -> Query:
    """Select the boot disks of the live instances of a host."""
    joined = _DISKS.join(_INSTANCES, _INSTANCES.c.uuid == _DISKS.c.instance_uuid)
    return select(_DISKS).select_from(joined).where(*_on(host), _DISKS.c.boot_index == 0)


def boot_disks_named(uuids: Iterable[str]) -> Query:
    """Select the boot disks of instances by instance uuid, deleted disks included."""
    return select(_DISKS).where(_DISKS.c.instance_uuid.in_(list(uuids)), _DISKS.c.boot_index == 0)


@_once_per_host
def migrations_in_progress(host: str) -> Query:
    """Select migrations from or to any node of a host, in progress or in error: the same statuses as nova selects."""
    here = or_(_MIGRATIONS.c.source_compute == host, _MIGRATIONS.c.dest_compute == host)
    return _live(_MIGRATIONS).where(here, _MIGRATIONS.c.status.not_in(sorted(FINISHED_MIGRATION_STATUSES)))


def migrations_named(uuids: Iterable[str]) -> Query:
    """Select migrations by uuid, in any status, deleted migrations included."""
    return select(_MIGRATIONS).where(_MIGRATIONS.c.uuid.in_(list(uuids)))


@_once_per_host
def finished_evacuations(host: str) -> Query:
    """Select the newest finished evacuations away from a host, at most 100."""
    newest = func.coalesce(_MIGRATIONS.c.updated_at, _MIGRATIONS.c.created_at)
    return (
        _live(_MIGRATIONS)
        .where(
            _MIGRATIONS.c.source_compute == host,
            _MIGRATIONS.c.migration_type == "evacuation",
            _MIGRATIONS.c.status.in_(["done", "completed"]),
        )
        .order_by(newest.desc(), _MIGRATIONS.c.id.desc())
        .limit(FINISHED_EVACUATIONS)
    )


@_once_per_host
def pci_devices_of(host: str) -> Query:
    """Select the live devices of the live compute nodes of a host."""
    joined = _PCI.join(_NODES, _NODES.c.id == _PCI.c.compute_node_id)
    return select(_PCI).select_from(joined).where(_NODES.c.host == host, _NODES.c.deleted == 0, _PCI.c.deleted == 0)


def _live(source: TableClause) -> Query:
    return select(source).where(source.c.deleted == 0)


def _on(host: str) -> tuple[ColumnElement[bool], ...]:
    return (_INSTANCES.c.host == host, _INSTANCES.c.deleted == 0)


def _instances() -> Query:
    """Select instances with their ``instance_extra`` columns, which are NULL if there is no ``instance_extra`` row."""
    joined = _INSTANCES.outerjoin(_EXTRA, and_(_EXTRA.c.instance_uuid == _INSTANCES.c.uuid))
    extras = (
        _EXTRA.c.id.label("extra_id"),
        _EXTRA.c.deleted.label("extra_deleted"),
        _EXTRA.c.flavor,
        _EXTRA.c.numa_topology,
        _EXTRA.c.migration_context,
    )
    return select(*_INSTANCES.c, *extras).select_from(joined)
