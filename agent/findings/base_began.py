"""Find out from nova's rows when a fault began: when an instance was deleted, or when a move ended.

A finding's ``first_seen_at`` is later: it is the time of the first audit that saw the fault.
"""

from __future__ import annotations

import datetime
from typing import NamedTuple

from agent.model.nova import FINISHED_MIGRATION_STATUSES, Instance, Migration, NovaState


class Began(NamedTuple):
    """When a fault began (``at``, ISO 8601 UTC), and what happened then (``because``)."""

    at: str
    because: str


def by_deletion(instance: Instance | None) -> Began | None:
    """Return when the instance was deleted; None if the row does not say when."""
    if instance is None or instance.deleted_at is None:
        return None
    return Began(_utc(instance.deleted_at), "the instance was deleted")


def by_move(state: NovaState | None, instance: Instance | None) -> Began | None:
    """Return the end of the instance's last move from or to this host; None if nova's rows show no such end."""
    if state is None or instance is None:
        return None
    every = (*state.migrations, *state.finished_evacuations)
    ended = (by_end(each) for each in every if each.instance_uuid == instance.uuid)
    return max((each for each in ended if each is not None), default=None)


def by_end(migration: Migration | None) -> Began | None:
    """Return when the migration ended; None if it has not ended, or if the row does not say when."""
    if migration is None or migration.updated_at is None or migration.status not in FINISHED_MIGRATION_STATUSES:
        return None
    because = f"{migration.kind} {migration.uuid or migration.id} ended with status {migration.status}"
    return Began(_utc(migration.updated_at), because)


def _utc(moment: datetime.datetime) -> str:
    """Return a time of nova's database (always UTC, with or without a zone) as ISO 8601 text that ends with Z."""
    aware = moment if moment.tzinfo else moment.replace(tzinfo=datetime.UTC)
    return aware.astimezone(datetime.UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
