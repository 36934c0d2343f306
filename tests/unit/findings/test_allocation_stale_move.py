"""allocation-stale-move: scenarios 52, 57 and 58; the instance lives elsewhere and no migration is in progress."""

from __future__ import annotations

import pytest

from agent.model.finding import Severity
from agent.model.snapshot import PLACEMENT, STATE
from tests.rigs.facts import (
    ROOT_UUID,
    allocations,
    findings,
    instance,
    migration,
    proof,
    settled_world,
    snapshot,
    state,
    uuid,
    view,
    without,
)

CODE = "allocation-stale-move"
I1 = uuid("i1")
AWAY = {"host": "cmp2", "node": "cmp2.example.org"}
RECORDED = view(allocations(I1, VCPU=8))


def recorded_for(*instances, **changes):
    return snapshot(nova=state(*instances, **changes), placement=RECORDED)


WORLD = recorded_for(instance(**AWAY))
TOLD = {
    "s52": (WORLD, "lives on cmp2 with no migration in progress", "cmp2"),
    "s57 evacuated": (
        recorded_for(instance(**AWAY), finished_evacuations=(migration(kind="evacuation", status="done"),)),
        "lives on cmp2 with no migration in progress",
        "cmp2",
    ),
    "a finished migration of it": (
        recorded_for(instance(**AWAY), migrations=(migration(status="completed"),)),
        "lives on cmp2 with no migration in progress",
        "cmp2",
    ),
    "shelved away": (
        recorded_for(instance(host=None, node=None, vm_state="shelved_offloaded")),
        "is on no host (vm_state shelved_offloaded)",
        None,
    ),
}


@pytest.mark.parametrize(("world", "where", "lives_on"), TOLD.values(), ids=TOLD.keys())
def test_the_finding_says_where_the_instance_is_now(world, where, lives_on):
    """If Placement still counts an instance on this host after its move, the finding shows its present host."""
    (found,) = findings(world, CODE)
    assert (found.provider_uuid, found.consumer_uuid, found.resource_class) == (ROOT_UUID, I1, None)
    assert found.expected == f"no allocation on this host, because instance {I1} (i1) {where}"
    assert found.actual == f"Placement counts 8 VCPU here; the instance lives on {lives_on or 'no host'}"
    assert found.facts == (("instance_host", lives_on),)
    assert proof(found) == [("placement", "VCPU", 8)]
    assert found.severity is Severity.ERROR
    assert found.rests_on_recorded
    assert found.remedy.startswith(
        "remove the allocation on this host and keep the allocation on the other host: "
        f"stocktake heal --finding {found.id[:8]}; "
    )
    assert f"allocation unset --provider {found.provider_uuid} {found.consumer_uuid}" in found.remedy


def test_an_allocation_left_by_a_confirmed_move_is_reported():
    """If Placement still counts the allocation of a confirmed migration on this host, the allocation is reported."""
    mover = uuid("migration-1")
    world = snapshot(
        nova=state(instance(**AWAY), migrations=(migration(status="confirmed"),)),
        placement=view(allocations(mover, VCPU=8)),
    )
    (found,) = findings(world, CODE)
    assert found.consumer_uuid == mover
    assert found.expected == f"no allocation on this host, because migration {mover} (i1) has status confirmed"


QUIET = {
    "lives here": snapshot(**settled_world()),
    "on its way": recorded_for(instance(**AWAY), migrations=(migration(),)),
    "awaiting its confirmation": recorded_for(
        instance(**AWAY, vm_state="resized"), migrations=(migration(status="finished"),)
    ),
    "a task is set elsewhere": recorded_for(instance(**AWAY, task_state="powering-off")),
    "s58 deleted since": recorded_for(instance(**AWAY, deleted=True)),
    "being built": recorded_for(instance(host=None, node=None, vm_state="building")),
    "our host, another node's name: it has not moved": recorded_for(instance(node="old.example.org")),
    "our host, and no task: nobody knows": recorded_for(instance(vm_state="deleted")),
    "placement not read": without(WORLD, PLACEMENT),
    "state not read": without(WORLD, STATE),
}


@pytest.mark.parametrize("world", QUIET.values(), ids=QUIET.keys())
def test_an_allocation_is_stale_only_after_a_finished_move(world):
    """For example, an allocation is not stale while its instance is still moving to another host."""
    assert findings(world, CODE) == ()


def test_a_failed_migration_does_not_hide_a_stale_allocation():
    """An instance's allocation on its old host is reported even after a failed migration of the instance."""
    world = recorded_for(instance(**AWAY), migrations=(migration(status="error"),))
    assert len(findings(world, CODE)) == 1
