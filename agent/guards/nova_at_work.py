"""nova-at-work: in role companion, refuse if nova is changing, or has recently changed, the consumer's instance.

nova writes the rows of an instance and its allocations one after the other, and between two writes the books differ for
a good reason. So the instance must have no task, and its row and its migrations must be older than ``[heal] min_age``.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable

from agent.guards.base import Guard, GuardedFinding, beside_nova
from agent.model.nova import Instance, Migration, NovaState


@beside_nova
def _refuses(guarded: GuardedFinding) -> str | None:
    state = guarded.scene.snapshot.nova.value
    if state is not None and not state.kind.has_cloud:
        return "[state] source = none has no rows of nova, so it is unknown whether nova is changing the instance"
    if state is None or _clock(state) is None:
        return "nova's rows could not be read, so it is unknown whether nova is changing the instance"
    return next((why for uuid in guarded.consumer_uuids if (why := _at_work(guarded, state, uuid))), None)


def _at_work(guarded: GuardedFinding, state: NovaState, consumer_uuid: str) -> str | None:
    every = {migration.id: migration for migration in (*state.finished_evacuations, *state.migrations)}.values()
    uuids = {consumer_uuid} | {migration.instance_uuid for migration in every if migration.uuid == consumer_uuid}
    instances = [instance for instance in state.instances if instance.uuid in uuids]
    migrations = [migration for migration in every if migration.instance_uuid in uuids]
    if not instances:
        return "nova's database shows no instance for the consumer, so it is unknown whether nova is changing it"
    return _task(instances) or _recent(guarded, state, _changes(instances, migrations))


def _task(instances: Iterable[Instance]) -> str | None:
    busy = (instance for instance in instances if instance.task_state is not None and not instance.deleted)
    return next((f"nova is changing instance {one.uuid}: task {one.task_state}" for one in busy), None)


def _changes(
    instances: Iterable[Instance], migrations: Iterable[Migration]
) -> Iterable[tuple[str, datetime.datetime | None]]:
    for instance in instances:
        moments = (instance.created_at, instance.updated_at, instance.deleted_at)
        yield f"instance {instance.uuid}", max((moment for moment in moments if moment is not None), default=None)
    for migration in migrations:
        yield f"migration {migration.uuid or migration.id}", migration.updated_at or migration.created_at


def _recent(
    guarded: GuardedFinding, state: NovaState, changes: Iterable[tuple[str, datetime.datetime | None]]
) -> str | None:
    wanted, now = guarded.scene.settings.heal.min_age_s, _clock(state)
    for row, changed_at in changes:
        if now is None or changed_at is None:
            return f"nova's row of {row} does not say when it was last changed"
        age_s = (now - changed_at).total_seconds()
        if age_s < wanted:
            return f"nova changed the row of {row} {age_s:.0f} s ago; [heal] min_age is {wanted:.0f} s"
    return None


def _clock(state: NovaState) -> datetime.datetime | None:
    """Return the newest heartbeat of nova's services, which write the rows; the agent's own clock may be ahead."""
    return state.newest_heartbeat or state.heartbeat


GUARD = Guard(name="nova-at-work", refuses=_refuses)
