"""When a fault began, by the times in nova's rows."""

from __future__ import annotations

import datetime

from agent.books.confirm import evidence_digest
from agent.findings.base_began import by_deletion
from tests.rigs.facts import allocations, findings, instance, migration, snapshot, state, uuid, view

AT = datetime.datetime(2026, 11, 20, 8, 0)  # noqa: DTZ001 - as in nova's rows
AWAY = {"host": "cmp2", "node": "cmp2.example.org"}
RECORDED = view(allocations(uuid("i1"), VCPU=8))


def began(code, *instances, **changes):
    (found,) = findings(snapshot(nova=state(*instances, **changes), placement=RECORDED), code)
    return found.began_at, found.began_because


def test_a_leak_began_when_the_instance_was_deleted():
    """The finding about a leaked allocation says that the leak began when nova deleted the instance."""
    gone = instance(deleted=True, deleted_at=AT)
    assert began("allocation-leaked", gone) == ("2026-11-20T08:00:00Z", "the instance was deleted")


def test_a_deletion_time_is_shown_in_utc():
    """If nova gives the deletion time of an instance in another time zone, the agent shows the time in UTC."""
    zone = datetime.timezone(datetime.timedelta(hours=2))
    assert by_deletion(instance(deleted_at=AT.replace(tzinfo=zone))).at == "2026-11-20T06:00:00Z"


def test_the_fault_began_at_the_last_of_two_evacuations():
    """The finding about a stale allocation says that the fault began at the last of two evacuations."""
    moves = tuple(
        migration(number, kind="evacuation", status="done", uuid=f"m{number}", updated_at=AT.replace(day=number))
        for number in (3, 2)
    )
    found = began("allocation-stale-move", instance(**AWAY), finished_evacuations=moves)
    assert found == ("2026-11-03T08:00:00Z", "evacuation m3 ended with status done")


def test_the_start_time_of_a_fault_may_be_unknown():
    """If nova has no time for the deletion or the move of an instance, the finding shows no start time."""
    assert began("allocation-leaked", instance(deleted=True)) == (None, "")
    assert began("allocation-stale-move", instance(**AWAY)) == (None, "")


def test_a_findings_digest_ignores_when_the_fault_began():
    """A finding's digest stays the same if the agent learns when the fault began."""
    worlds = [snapshot(nova=state(instance(**AWAY)), placement=RECORDED)]
    ended = (migration(status="completed", updated_at=AT),)
    worlds.append(snapshot(nova=state(instance(**AWAY), migrations=ended), placement=RECORDED))
    one, other = (findings(world, "allocation-stale-move")[0] for world in worlds)
    assert (one.began_at, other.began_at) == (None, "2026-11-20T08:00:00Z")
    assert evidence_digest(one) == evidence_digest(other)
