"""Decide whether a row of the cloud's is so young that Placement, which is read before it, may not have followed yet.

Nova writes the row first and the allocation after it (an instance's delete, a confirm, the
end of a live migration), and an audit reads Placement first: what changed between the
two, or is between them in nova itself, is nobody's leak. Clocks are those of the
cloud's own services, whose rows have whole seconds. Pure: the time is the state source's.
"""

from __future__ import annotations

import datetime

from agent.model.nova import Instance, Migration, NovaState

# Longer than any of nova's own gaps on a host that answers, shorter than the time between two audits.
JUST_NOW = datetime.timedelta(seconds=10)


def instance_just_changed(instance: Instance, now: datetime.datetime | None) -> bool:
    """Whether its row was written, or soft-deleted, moments ago. ``now`` None: nobody knows, so it was not."""
    return _just(instance.deleted_at, now) or _just(instance.updated_at, now)


def migration_just_changed(migration: Migration, now: datetime.datetime | None) -> bool:
    """Whether its row was written moments ago."""
    return _just(migration.updated_at, now)


def clock_that_matters(state: NovaState) -> datetime.datetime | None:
    """The state's clock where some row is so young that it decides anything, else None: time alone changes nothing."""
    young = any(instance_just_changed(i, state.now) for i in state.instances) or any(
        migration_just_changed(m, state.now) for m in (*state.migrations, *state.finished_evacuations)
    )
    return state.now if young else None


def _just(moment: datetime.datetime | None, now: datetime.datetime | None) -> bool:
    # On both sides: the clock of who wrote the row may be ahead of the one that is asked.
    return moment is not None and now is not None and abs(now - moment) < JUST_NOW
