"""Turn rows into all migrations of some instances, for the sources ``sql`` and ``conductor``. Pure: no I/O."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from agent.errors import SourceInconsistent
from agent.model.nova import AllMigrations, Migration, Pulse
from agent.sources.nova.documents import Row
from agent.sources.nova.rows import migration_from_row


def all_migrations(instances: frozenset[str], rows: Iterable[Row], pulse: Pulse) -> AllMigrations:
    """Return the migrations of each instance; None for an instance with an unreadable row."""
    found: dict[object, list[Row]] = defaultdict(list)
    for row in rows:
        found[row.get("instance_uuid")].append(row)
    return AllMigrations(of={uuid: _parsed(found[uuid]) for uuid in sorted(instances)}, pulse=pulse)


def _parsed(rows: Iterable[Row]) -> tuple[Migration, ...] | None:
    try:
        return tuple(sorted(map(migration_from_row, rows), key=lambda migration: migration.id))
    except SourceInconsistent:
        return None
