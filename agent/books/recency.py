"""Decide whether a row of nova changed so recently that the allocations may be older than the row.

Nova writes the row first and the allocation afterwards (when it deletes an instance, confirms a resize or ends a live
migration). An audit reads Placement before the rows. So an allocation is not leaked if nova was between its two writes,
or changed the row between the audit's two reads. The times in rows come from the clocks of the cloud's services, in
whole seconds. Pure: the current time is an argument. It comes from the state source.
"""

from __future__ import annotations

import datetime

from agent.model.nova import Instance, Migration, NovaState

# For this long after nova wrote a row, the row counts as just changed. nova normally needs less time from writing the
# row to writing the allocation.
JUST_NOW = datetime.timedelta(seconds=10)


def instance_just_changed(instance: Instance, now: datetime.datetime | None) -> bool:
    """Return whether the instance's row was written or soft-deleted in the last 10 s; False if ``now`` is None."""
    return _just(instance.deleted_at, now) or _just(instance.updated_at, now)


def migration_just_changed(migration: Migration, now: datetime.datetime | None) -> bool:
    """Return whether the migration's row was written in the last 10 s; False if ``now`` is None."""
    return _just(migration.updated_at, now)


def clock_that_matters(state: NovaState) -> datetime.datetime | None:
    """Return the state source's current time if a row changed in the last 10 s, else None.

    The caller uses the result as part of a cache key. If no row changed in the last 10 s, the comparison of nova, host
    and Placement does not depend on the time. With None in the key, the caller can use the cached comparison again.
    """
    young = any(instance_just_changed(i, state.now) for i in state.instances) or any(
        migration_just_changed(m, state.now) for m in (*state.migrations, *state.finished_evacuations)
    )
    return state.now if young else None


def _just(moment: datetime.datetime | None, now: datetime.datetime | None) -> bool:
    # The difference may be negative: the clock of the service that wrote the row may be ahead of the state source's.
    return moment is not None and now is not None and abs(now - moment) < JUST_NOW
