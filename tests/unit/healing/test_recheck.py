"""heal's last read of the cloud's state: it must be newer than the plan and agree with it about the consumer."""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
from collections.abc import Callable
from contextlib import AbstractContextManager

import pytest

from agent.audit.parts import AuditTask
from agent.errors import SourceUnavailable
from agent.healing.attempt import WriteAttempt
from agent.healing.recheck import MARGIN, WAIT_S, Planned, Proven, not_as_planned, proven
from agent.model.audit import AuditRequest
from agent.model.nova import AllMigrations, Migration, NovaState, Pulse, StateKind
from agent.model.snapshot import STATE
from tests.rigs.facts import NOW, instance, migration, settings, state, uuid

HERE = uuid("i1")


class Clock:
    """A clock whose seconds pass only while the code waits."""

    def __init__(self) -> None:
        self.passed = 0.0

    def monotonic(self) -> float:
        return self.passed

    def wait(self, seconds: float) -> None:
        self.passed += seconds


class Database:
    """A replica that is ``late_s`` behind the primary; the services report every ten seconds."""

    def __init__(
        self,
        clock: Clock,
        late_s: int = 0,
        rows: NovaState | None = None,
        moves: AllMigrations | None = None,
        error: bool = False,
    ) -> None:
        self.clock, self.late_s, self.rows, self.error = clock, late_s, rows or state(), error
        self.moves = moves or AllMigrations(of={}, pulse=Pulse(now=NOW, heartbeat=NOW))
        self.pulses = 0

    def pulse(self, host: str, deadline: object) -> Pulse:
        self.pulses += 1
        if self.error:
            raise SourceUnavailable(STATE, "lost")
        now = NOW + datetime.timedelta(seconds=int(self.clock.passed))
        seen = int(self.clock.passed) - self.late_s
        return Pulse(now=now, heartbeat=NOW + datetime.timedelta(seconds=seen // 10 * 10))

    def read(self, host: str, consumers: frozenset[str], deadline: object, node_uuid: str | None = None) -> NovaState:
        if self.error:
            raise SourceUnavailable(STATE, "lost")
        return self.rows

    def migrations_of(self, host: str, instances: frozenset[str], deadline: object) -> AllMigrations:
        return self.moves


@dataclasses.dataclass
class Parts:
    state: Database
    clock: Clock
    reading: Callable[[str], AbstractContextManager[None]] = contextlib.nullcontext


def task(**how) -> AuditTask:
    clock = Clock()
    parts = Parts(state=Database(clock, **how), clock=clock)
    return AuditTask(
        request=AuditRequest(reasons=("test",)),
        settings=settings(),
        parts=parts,  # type: ignore[arg-type]  # heal uses no other part
        cancelled=lambda: False,
    )


@pytest.mark.parametrize(("late_s", "waited_s"), [(0, 10), (5, 15), (15, 25)])
def test_heal_waits_for_a_heartbeat_newer_than_its_plan(late_s, waited_s):
    """Before it changes anything, heal waits until nova's database shows a service heartbeat newer than heal's plan."""
    asked = task(late_s=late_s)
    assert proven(asked, state()) == Proven(NOW + MARGIN)
    assert asked.parts.clock.monotonic() == waited_s


def test_heal_waits_after_a_heartbeat_with_a_future_time():
    """If nova's last heartbeat has a time in the future, heal waits for one more heartbeat."""
    asked = task(late_s=-20)
    assert proven(asked, state()) == Proven(NOW + datetime.timedelta(seconds=20) + MARGIN)
    assert asked.parts.clock.monotonic() == 10


@pytest.mark.parametrize("late_s", [35, 59, 3600])
def test_heal_changes_nothing_if_the_replica_lags_too_long(late_s):
    """Heal waits a limited time for a late replica of nova's database.

    If the replica is 35 s late, heal changes nothing.
    """
    asked = task(late_s=late_s)
    refused = proven(asked, state())
    assert isinstance(refused, WriteAttempt)
    assert (refused.unread, refused.unproven, "replica that lags" in refused.words) == (True, True, True)
    assert asked.parts.clock.monotonic() == WAIT_S


def test_heal_changes_nothing_if_nova_cannot_be_read():
    refused = proven(task(error=True), state())
    assert isinstance(refused, WriteAttempt)
    assert (refused.unread, refused.words) == (True, "nothing was changed: state: lost")
    assert (
        not_as_planned(task(error=True), Planned(state(), {}), Proven(NOW), frozenset(), frozenset({HERE})) == refused
    )


def test_heal_checks_no_heartbeat_without_nova_data():
    """If the agent is configured to read no nova data, heal does not wait for a heartbeat of nova."""
    asked = task(late_s=3600)
    nobody = NovaState(kind=StateKind.NONE, host="h")
    assert proven(asked, nobody) == Proven(None)
    assert not_as_planned(asked, Planned(nobody, {}), Proven(None), frozenset(), frozenset({HERE})) is None
    assert asked.parts.state.pulses == 0


GONE = instance(host="cmp2", node="cmp2", updated_at=NOW)
PLANNED = state(GONE, instance("i2"))
MOVE = migration(instance_uuid=HERE, status="accepted", source_host="cmp2", dest_host="cmp1")
# The second read -> whether heal still makes the change.
AGAIN = {
    "the same": (PLANNED, True),
    "another instance changed": (state(GONE, instance("i2", task_state="deleting")), True),
    "the service reported": (dataclasses.replace(PLANNED, now=NOW + datetime.timedelta(seconds=9)), True),
    "a task began": (state(dataclasses.replace(GONE, task_state="migrating"), instance("i2")), False),
    "it is here now": (state(instance(), instance("i2")), False),
    "its row was written": (state(dataclasses.replace(GONE, power_state=4), instance("i2")), False),
    "its row is not there": (state(instance("i2")), False),
    "a move of it began": (dataclasses.replace(PLANNED, migrations=(MOVE,)), False),
    "by another copy, a little older than what was proven": (
        dataclasses.replace(PLANNED, heartbeat=NOW - datetime.timedelta(seconds=1)),
        False,
    ),
    "another cell, or too old": (dataclasses.replace(PLANNED, heartbeat=NOW - datetime.timedelta(hours=1)), False),
}


@pytest.mark.parametrize(("now", "goes_on"), AGAIN.values(), ids=AGAIN.keys())
def test_heal_goes_on_only_if_nova_still_matches_the_plan(now, goes_on):
    """heal reads nova's database again before a change, and stops if the consumer's rows are different now."""
    refused = not_as_planned(
        task(rows=now), Planned(PLANNED, {}), Proven(NOW), frozenset({uuid("i2")}), frozenset({HERE})
    )
    assert (refused is None) is goes_on


def test_heal_keeps_a_migration_allocation_after_a_change():
    """heal does not remove a migration's allocation if nova changed the migrated instance after heal made its plan."""
    move = dataclasses.replace(MOVE, uuid=uuid("m1"), status="completed")
    rows = dataclasses.replace(PLANNED, migrations=(move,))
    planned = Planned(rows, {})
    back = state(dataclasses.replace(GONE, host="cmp1"), instance("i2"), migrations=(move,))
    assert not_as_planned(task(rows=rows), planned, Proven(NOW), frozenset(), frozenset({uuid("m1")})) is None
    assert not_as_planned(task(rows=back), planned, Proven(NOW), frozenset(), frozenset({uuid("m1")})) is not None


ELSEWHERE = migration(2, "i1", status="running", source_host="cmp2", dest_host="cmp3", updated_at=NOW)


def moves(*found: Migration, late_s: int = 0) -> AllMigrations:
    return AllMigrations(of={HERE: found}, pulse=Pulse(now=NOW, heartbeat=NOW - datetime.timedelta(seconds=late_s)))


@pytest.mark.parametrize(
    ("planned", "now", "result"),
    [
        ((ELSEWHERE,), moves(ELSEWHERE), None),
        ((), moves(ELSEWHERE), "changed since the plan"),
        ((ELSEWHERE,), moves(dataclasses.replace(ELSEWHERE, status="completed")), "changed since the plan"),
        ((ELSEWHERE,), AllMigrations(of={HERE: None}, pulse=moves().pulse), "changed since the plan"),
        ((ELSEWHERE,), moves(ELSEWHERE, late_s=1), "replica that lags"),
    ],
    ids=["the same", "a move began", "a move ended", "unreadable now", "from an older copy"],
)
def test_heal_stops_if_a_migration_elsewhere_has_changed(planned, now, result):
    """heal changes nothing if a migration between two other hosts has changed since heal made its plan."""
    asked = task(rows=PLANNED, moves=now)
    refused = not_as_planned(asked, Planned(PLANNED, {HERE: planned}), Proven(NOW), frozenset(), frozenset({HERE}))
    assert refused is None if result is None else refused is not None and result in refused.words
