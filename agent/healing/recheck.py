"""Read the cloud's state again before a change, from rows that are proven to be newer than the plan.

The audit behind a plan read Placement first and the state afterwards. But the state may come from a database replica
that is some seconds late and still counts as current. If an instance began to use its allocation in these seconds,
the allocation looks like a leak. So heal waits until the source shows a heartbeat that is newer than the plan. The rows
of the source then include everything that was written before the plan was made.

An allocation in the plan was written either before the plan was made or after it. If nova wrote the allocation before,
the rows already show the instance that the allocation is for. If nova wrote the allocation later, preconditions.py
detects the write.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping, Set
from dataclasses import replace
from typing import NamedTuple

from agent.audit.current_state import deadline_of, state_for_a_change
from agent.audit.freshness import behind_s
from agent.audit.parts import AuditTask
from agent.errors import SourceError
from agent.healing.attempt import WriteAttempt, out_of_reach, refused
from agent.model.nova import AllMigrations, Instance, Migration, NovaState, Pulse
from agent.model.snapshot import STATE

# The longest wait for a new heartbeat, in seconds. nova's services report every 10 s (report_interval), and the wait
# usually needs new reports of two services (decisive_heartbeat).
WAIT_S = 30.0
POLL_S = 1.0
# When the wait starts, the agent reads the clock and the last heartbeat. A new heartbeat must be later than these two
# times by this margin, because heartbeats have whole seconds, some databases round them, and the services' clocks may
# differ.
MARGIN = datetime.timedelta(seconds=2)


class Planned(NamedTuple):
    """nova's rows on which a plan is based.

    ``migrations`` maps an instance's uuid to all migrations of the instance, also those between other hosts. The value
    is None if these migrations could not be read.
    """

    state: NovaState
    migrations: Mapping[str, tuple[Migration, ...] | None]


class Proven(NamedTuple):
    """Proof that nova's database showed a heartbeat at or after ``since``.

    ``since`` is None if the state source reads nothing of nova ([state] source = none). Then no proof is needed.
    """

    since: datetime.datetime | None


def proven(task: AuditTask, state: NovaState) -> Proven | WriteAttempt:
    """Wait for a new heartbeat of a nova service, which proves that nova's database shows all earlier writes.

    If no new heartbeat comes, return why the repair is not made. Raises AuditCancelled if a stop is requested during
    the wait.
    """
    if not state.kind.has_cloud:
        return Proven(None)
    try:
        first = _pulse(task)
        if first.now is None or first.heartbeat is None:
            return _unproven(first)
        # Wait for a new heartbeat. The heartbeat in the database may be old even if its time is later than now, because
        # the clock of its service may be ahead.
        return _awaited(task, max(first.now, first.heartbeat) + MARGIN)
    except SourceError as error:
        return out_of_reach(error)


def _awaited(task: AuditTask, since: datetime.datetime) -> Proven | WriteAttempt:
    clock = task.parts.clock
    ends_at = clock.monotonic() + WAIT_S
    while True:
        pulse = _pulse(task)
        if pulse.heartbeat is not None and pulse.heartbeat >= since:
            return Proven(since)
        if clock.monotonic() >= ends_at:
            return _unproven(pulse)
        task.stop_if_cancelled()
        clock.wait(POLL_S)


def _pulse(task: AuditTask) -> Pulse:
    return task.parts.state.pulse(task.settings.host, deadline_of(task.settings))


def _unproven(pulse: Pulse) -> WriteAttempt:
    age = behind_s(pulse)
    found = (
        "no nova service of this cell has a heartbeat"
        if age is None
        else f"the newest heartbeat of this cell's nova services is {age:.0f} s old"
    )
    why = f"{found} after {WAIT_S:.0f} s of waiting: the database is a replica that lags, or the clocks differ"
    return replace(refused(f"nothing was changed: {why}"), unread=True, unproven=True)


def not_as_planned(
    task: AuditTask, planned: Planned, proof: Proven, asked: frozenset[str], consumers: frozenset[str]
) -> WriteAttempt | None:
    """Return why the plan no longer fits nova's rows of ``consumers``; None if the rows did not change.

    ``asked`` are the consumers whose rows the audit read. This function reads these rows again, so that both reads
    cover the same consumers.

    A load balancer may send this read to a replica of the database that lags. So the function also requires a heartbeat
    that is not older than ``proof.since``.
    """
    if proof.since is None:
        return None
    instances = planned.migrations.keys() & instances_of(planned.state, consumers)
    try:
        now = state_for_a_change(task, asked | consumers)
        moves = all_migrations(task, instances) if instances else None
    except SourceError as error:
        return out_of_reach(error)
    for pulse in (now.pulse, *((moves.pulse,) if moves else ())):
        if pulse.heartbeat is None or pulse.heartbeat < proof.since:
            return _unproven(pulse)
    changed = sorted(uuid for uuid in consumers if _rows_about(now, uuid) != _rows_about(planned.state, uuid))
    if moves is not None:
        changed += sorted(uuid for uuid in instances if moves.of[uuid] != planned.migrations[uuid])
    if not changed:
        return None
    uuids = ", ".join(dict.fromkeys(changed))
    return refused(f"nothing was changed: nova's instance or migration rows of consumer {uuids} changed since the plan")


def all_migrations(task: AuditTask, instances: Set[str]) -> AllMigrations:
    """Return all migrations of these instances. Raises SourceError."""
    with task.parts.reading(STATE):
        return task.parts.state.migrations_of(task.settings.host, frozenset(instances), deadline_of(task.settings))


def instances_of(state: NovaState, consumers: Iterable[str]) -> frozenset[str]:
    """Return the instances of these consumers. If a consumer is a migration, its instance is the migrated instance."""
    wanted = frozenset(consumers)
    migrations = (*state.migrations, *state.finished_evacuations)
    uuids = wanted | {m.instance_uuid for m in migrations if m.uuid in wanted}
    return frozenset(instance.uuid for instance in state.instances if instance.uuid in uuids)


def _rows_about(state: NovaState, consumer: str) -> tuple[tuple[Instance, ...], tuple[Migration, ...]]:
    """Return the consumer's instance (for a migration, the migrated instance) and all migrations of that instance."""
    migrations = {m.id: m for m in (*state.migrations, *state.finished_evacuations)}
    uuids = {consumer} | {m.instance_uuid for m in migrations.values() if m.uuid == consumer}
    return (
        tuple(instance for instance in state.instances if instance.uuid in uuids),
        tuple(migrations[number] for number in sorted(migrations) if migrations[number].instance_uuid in uuids),
    )
