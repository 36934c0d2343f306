"""allocation-missing: the instance is here, counted and running, but Placement has no allocation of it."""

from __future__ import annotations

import pytest

from agent.model.finding import Severity
from agent.model.snapshot import PLACEMENT, STATE
from tests.rigs.facts import (
    ROOT_UUID,
    allocations,
    domain,
    findings,
    host,
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

CODE = "allocation-missing"
I1 = uuid("i1")
WORLD = snapshot(**settled_world(placement=view()))


def test_the_finding_shows_the_expected_allocation():
    """If Placement has no allocation for a running instance, the finding shows the amounts of its flavor."""
    (found,) = findings(WORLD, CODE)
    assert (found.provider_uuid, found.consumer_uuid, found.resource_class) == (ROOT_UUID, I1, None)
    assert found.expected == f"an allocation of 1 GiB of DISK_GB, 128 MiB of MEMORY_MB, 1 VCPU for instance {I1} (i1)"
    assert found.actual == "Placement records nothing for this consumer on this host"
    assert proof(found) == [
        ("libvirt", "MEMORY_MB", 128),
        ("libvirt", "VCPU", 1),
        ("nova", "DISK_GB", 1),
        ("nova", "MEMORY_MB", 128),
        ("nova", "VCPU", 1),
    ]
    assert found.severity is Severity.ERROR
    assert found.rests_on_recorded
    heal = found.remedy.index(f"stocktake heal --finding {found.id[:8]}; ")
    assert heal < found.remedy.index(f"heal_allocations --instance {found.consumer_uuid}")


def test_another_instance_does_not_hide_a_missing_allocation():
    """An instance without an allocation is reported even if another instance has an allocation."""
    world = snapshot(**settled_world(placement=view(allocations(uuid("i2"), VCPU=1))))
    assert [f.consumer_uuid for f in findings(world, CODE)] == [I1]


QUIET = {
    "recorded": snapshot(**settled_world()),
    "some of it recorded: that differs": snapshot(**settled_world(placement=view(allocations(I1, VCPU=1)))),
    "being built": snapshot(
        **settled_world(placement=view(), nova=state(instance(vm_state="building", task_state="spawning")))
    ),
    "a task is set": snapshot(**settled_world(placement=view(), nova=state(instance(task_state="rebuilding")))),
    "moving away: its migration may hold it": snapshot(
        **settled_world(
            placement=view(),
            nova=state(instance(task_state="migrating"), migrations=(migration(kind="live-migration"),)),
        )
    ),
    "no guest either": snapshot(nova=state(instance())),
    "a guest of nobody": snapshot(libvirt=host(domain())),
    "placement not read": without(WORLD, PLACEMENT),
    "state not read": without(WORLD, STATE),
}


@pytest.mark.parametrize("world", QUIET.values(), ids=QUIET.keys())
def test_no_missing_allocation_is_reported_during_a_change(world):
    """While nova builds, changes or migrates an instance, the agent does not report that its allocation is missing."""
    assert findings(world, CODE) == ()
