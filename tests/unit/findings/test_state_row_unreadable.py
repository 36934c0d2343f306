"""state-row-unreadable: each broken row is named, and only that row's consumer becomes unknown."""

from __future__ import annotations

import pytest

from agent.model.finding import Severity
from agent.model.report import Verdict
from agent.model.snapshot import STATE
from tests.rigs.facts import (
    ROOT_UUID,
    allocations,
    consumer,
    decided,
    domain,
    findings,
    host,
    instance,
    settled_world,
    snapshot,
    state,
    uuid,
    view,
    without,
)

CODE = "state-row-unreadable"
I1 = uuid("i1")
PROBLEM = f"instance_extra of instance {I1}: flavor is NULL"
BROKEN = state(instance(flavor=None, problem=PROBLEM), instance("i2"), unreadable=(PROBLEM,))
BOTH = view(allocations(I1, VCPU=9), allocations(uuid("i2"), VCPU=1, MEMORY_MB=128, DISK_GB=1))
WORLD = snapshot(nova=BROKEN, libvirt=host(domain("i2")), placement=BOTH)


def test_an_unreadable_nova_row_is_reported():
    """If an instance has no flavor in nova's database, the finding shows the problem and the instance's UUID."""
    (found,) = findings(WORLD, CODE)
    assert (found.provider_uuid, found.consumer_uuid, found.subject) == (ROOT_UUID, I1, PROBLEM)
    assert found.actual == f"{PROBLEM}; the agent draws no conclusion about the instance that this row belongs to"
    assert found.severity is Severity.WARNING


def test_an_invalid_nova_row_affects_only_its_own_instance():
    """One of two instances has an invalid row in nova's database; the agent still checks the other instance."""
    verdicts = {(row.key, row.verdict) for row in decided(WORLD).rows}
    assert verdicts == {(I1, Verdict.UNKNOWN), (uuid("i2"), Verdict.AGREED)}


def test_a_migration_with_an_unreadable_row_is_unknown():
    """If nova's row of a migration cannot be read, the agent marks the migration's allocations as unknown."""
    whose = uuid("migration-1")
    text = f"migrations id 1 uuid {whose!r}: status is NULL"
    world = snapshot(
        nova=state(unreadable=(text,)),
        placement=view(allocations(whose, VCPU=1), consumers=(consumer("migration-1", here={"VCPU": 1}),)),
    )
    assert [row.verdict for row in decided(world).rows] == [Verdict.UNKNOWN]
    (found,) = findings(world, CODE)
    assert found.consumer_uuid is None


def test_each_unreadable_nova_row_has_its_own_finding():
    found = findings(snapshot(nova=state(unreadable=("services id 1: x", "migrations id 2: y"))), CODE)
    assert len({f.id for f in found}) == 2


@pytest.mark.parametrize("world", [snapshot(**settled_world()), without(WORLD, STATE)], ids=["all read", "not read"])
def test_readable_nova_rows_are_not_reported(world):
    """The agent reports nothing if all rows of nova's database can be read."""
    assert findings(world, CODE) == ()
