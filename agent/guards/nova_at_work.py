"""nova-at-work: in role companion, refuse a repair while nova is changing the consumer's instance, or shortly after.

nova writes the rows of an instance and its allocations one after the other. Between two writes, nova's database and
Placement's allocations differ without any fault. So the instance must have no task, and its row and all its migrations
must be older than ``[heal] min_age``.

An audit reads only the migrations from and to this host. For the few consumers that pass all guards, heal also reads
the migrations between other hosts (``Scene.migrations``), and asks this guard again.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from typing import NamedTuple

from agent.guards.base import Guard, GuardedFinding, Wait, beside_nova
from agent.model.nova import Instance, Migration, NovaState

_UNKNOWN = "so it is unknown whether nova is changing the instance"


@beside_nova
def _refuses(guarded: GuardedFinding) -> str | None:
    work = _work(guarded)
    return work.words if work else None


def _waits(guarded: GuardedFinding) -> Wait | None:
    work = _work(guarded)
    return work.wait if work else None


class _Work(NamedTuple):
    """Why heal must not repair now: what nova does with the instance, or why the agent does not know what nova does.

    ``wait`` is None if the refusal does not end by itself.
    """

    words: str
    wait: Wait | None = None


def _work(guarded: GuardedFinding) -> _Work | None:
    state = guarded.scene.snapshot.nova.value
    if state is not None and not state.kind.has_cloud:
        return _Work(f"with [state] source = none the agent does not read nova's data, {_UNKNOWN}")
    if state is None or _clock(state) is None:
        return _Work(f"nova's rows could not be read, {_UNKNOWN}", Wait())
    return next((work for uuid in guarded.consumer_uuids if (work := _at_work(guarded, state, uuid))), None)


def _at_work(guarded: GuardedFinding, state: NovaState, consumer_uuid: str) -> _Work | None:
    every = {migration.id: migration for migration in (*state.finished_evacuations, *state.migrations)}.values()
    uuids = {consumer_uuid} | {migration.instance_uuid for migration in every if migration.uuid == consumer_uuid}
    instances = [instance for instance in state.instances if instance.uuid in uuids]
    migrations = [migration for migration in every if migration.instance_uuid in uuids]
    if not instances:
        return _Work(
            "nova's database shows no instance for the consumer, so it is unknown whether nova is changing the "
            "consumer's allocations"
        )
    for instance in instances:
        everywhere = guarded.scene.migrations.get(instance.uuid, ())
        if everywhere is None:
            return _Work(f"the migrations of instance {instance.uuid} could not be read, {_UNKNOWN}", Wait())
        migrations += everywhere
    return _task(instances) or _recent(guarded, state, _changes(instances, migrations))


def _task(instances: Iterable[Instance]) -> _Work | None:
    busy = (instance for instance in instances if instance.task_state is not None and not instance.deleted)
    return next((_Work(f"nova is changing instance {one.uuid}: task {one.task_state}", Wait()) for one in busy), None)


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
) -> _Work | None:
    wanted, now = guarded.scene.settings.heal.min_age_s, _clock(state)
    for row, changed_at in changes:
        if now is None or changed_at is None:
            return _Work(f"nova's row of {row} does not say when it was last changed")
        age_s = (now - changed_at).total_seconds()
        if age_s < wanted:
            words = (
                f"nova changed the row of {row} {age_s:.0f} s ago; heal waits until this change is {wanted:.0f} s old "
                "([heal] min_age)"
            )
            return _Work(words, Wait(wanted - age_s))
    return None


def _clock(state: NovaState) -> datetime.datetime | None:
    """Return the present time by nova's clocks: the newest heartbeat of nova's services. None without a heartbeat.

    With this time, the guard computes how long ago nova changed an instance or migration. nova's clocks also gave the
    time of the change. If the agent's clock is ahead, a change would look older by this clock than it is.
    """
    return state.newest_heartbeat or state.heartbeat


GUARD = Guard(name="nova-at-work", refuses=_refuses, waits=_waits)
