"""Provide SQL statements that show whether rows have changed since the last full read.

For each set of rows that a full read selects, a statement returns the number of rows and a checksum. If both are the
same as before, no row has changed.

The checksum covers every column that a full read parses, so each change of a row changes the checksum. ``updated_at``
does not suffice: nova does not set it in some tables (``instance_extra``, ``block_device_mapping``), and two changes
may have the same second. The database computes the checksums, so no rows or JSON documents are sent. The sum of CRC-32
values misses one change in four thousand million; the next full read detects such a change.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable

from sqlalchemy import ColumnElement, CompoundSelect, FromClause, and_, func, literal, select, union_all

from agent.sources.nova.tables import (
    DISKS,
    EXTRA,
    INSTANCES,
    MIGRATIONS,
    NODES,
    PCI,
    Query,
    are_finished_evacuations,
    are_in_progress,
    live_on,
)

_WITH_EXTRA = INSTANCES.outerjoin(EXTRA, and_(EXTRA.c.instance_uuid == INSTANCES.c.uuid))
_OF_INSTANCES = (*INSTANCES.c, *EXTRA.c)


@functools.lru_cache(maxsize=4)
def signs_of(host: str) -> CompoundSelect[*tuple[object, ...]]:
    """Return the statement that yields (name, number of rows, checksum) for each set of rows about a host."""
    disks = DISKS.join(INSTANCES, INSTANCES.c.uuid == DISKS.c.instance_uuid)
    devices = PCI.join(NODES, NODES.c.id == PCI.c.compute_node_id)
    return union_all(
        _sign("instances", _OF_INSTANCES, _WITH_EXTRA, *live_on(host)),
        _sign("migrations", MIGRATIONS.c, MIGRATIONS, *are_in_progress(host)),
        _sign("finished evacuations", MIGRATIONS.c, MIGRATIONS, *are_finished_evacuations(host)),
        _sign("boot disks", DISKS.c, disks, *live_on(host), DISKS.c.boot_index == 0),
        _sign("compute nodes", NODES.c, NODES, NODES.c.host == host, NODES.c.deleted == 0),
        _sign("PCI devices", PCI.c, devices, NODES.c.host == host, NODES.c.deleted == 0, PCI.c.deleted == 0),
    )


def sign_of_instances(uuids: Iterable[str]) -> Query:
    """Return the statement that counts these instances' rows and computes their checksum, deleted rows included."""
    return _sign("other instances", _OF_INSTANCES, _WITH_EXTRA, INSTANCES.c.uuid.in_(list(uuids)))


def sign_of_boot_disks(uuids: Iterable[str]) -> Query:
    """Return the statement that counts the boot disk rows of these instances and computes their checksum."""
    return _sign("other boot disks", DISKS.c, DISKS, DISKS.c.instance_uuid.in_(list(uuids)), DISKS.c.boot_index == 0)


def sign_of_migrations(uuids: Iterable[str]) -> Query:
    """Return the statement that counts the rows of these migrations, in any status, and computes their checksum."""
    return _sign("other migrations", MIGRATIONS.c, MIGRATIONS, MIGRATIONS.c.uuid.in_(list(uuids)))


def _sign(
    name: str, columns: Iterable[ColumnElement[object]], source: FromClause, *where: ColumnElement[bool]
) -> Query:
    # QUOTE turns NULL into a text. Otherwise NULL in any column would make the row's whole text NULL, and SUM would
    # skip the row.
    texts = [part for each in columns for part in (func.quote(each), literal(","))]
    checksum = func.coalesce(func.sum(func.crc32(func.concat(*texts))), 0)
    return select(literal(name), func.count(), checksum).select_from(source).where(*where)
