"""consumer-project-differs: scenario 162, as a finding."""

from __future__ import annotations

import dataclasses

import pytest

from agent.model.finding import Severity
from agent.model.snapshot import LIBVIRT, PLACEMENT, STATE
from tests.rigs.facts import (
    ROOT_UUID,
    allocations,
    consumer,
    findings,
    instance,
    migration,
    settled_world,
    snapshot,
    state,
    uuid,
    view,
    without,
)

CODE = "consumer-project-differs"
I1 = uuid("i1")
A = {"VCPU": 1, "MEMORY_MB": 128, "DISK_GB": 1}


def booked(name="i1", nova=None, **changes):
    record = dataclasses.replace(consumer(name, here=A), **changes)
    placement = view(allocations(uuid(name), **A), consumers=(record,))
    return snapshot(**settled_world(placement=placement, **({"nova": nova} if nova else {})))


WORLD = booked(project_id="another")


def test_the_finding_shows_the_project_in_nova_and_in_placement():
    """If an instance has a different project in nova and in Placement, the finding shows the two projects."""
    (found,) = findings(WORLD, CODE)
    assert (found.provider_uuid, found.consumer_uuid, found.resource_class) == (ROOT_UUID, I1, None)
    assert found.expected == f"instance {I1} (i1) belongs to project p, user u"
    assert found.actual == "Placement records the instance's allocation for project another, user u"
    assert dict(found.facts)["recorded_project_id"] == "another"
    assert found.severity is Severity.WARNING
    assert found.rests_on_recorded
    assert found.remedy.startswith(
        f"correct the project and user in Placement, and keep the amounts: stocktake heal --finding {found.id[:8]}; "
    )
    assert f"heal_allocations --instance {I1}" in found.remedy


def test_an_allocation_with_only_a_wrong_user_is_reported():
    """An instance's allocation is reported if Placement has nova's project and a different user."""
    assert len(findings(booked(user_id="another"), CODE)) == 1


def test_a_wrong_project_of_a_migration_allocation_is_reported():
    """During a resize, the agent reports a wrong project of the migration's allocation in Placement."""
    nova = state(instance(task_state="resize_migrating"), migrations=(migration(),))
    assert findings(booked("migration-1", nova), CODE) == ()
    (found,) = findings(booked("migration-1", nova, project_id="another"), CODE)
    assert found.consumer_uuid == uuid("migration-1")
    assert f"--instance {I1}" in found.remedy


QUIET = {
    "equal": booked(),
    "its record was not read": snapshot(**settled_world()),
    "the instance's row does not say": booked(nova=state(instance(project_id=None)), project_id="another"),
    "it lives elsewhere": booked(nova=state(instance(host="cmp2", node="x")), project_id="another"),
    "it is deleted": booked(nova=state(instance(deleted=True)), project_id="another"),
    "a row that does not parse": booked(nova=state(instance(flavor=None, problem="broken")), project_id="another"),
    "nobody knows it": booked(nova=state(), project_id="another"),
    "placement not read": without(WORLD, PLACEMENT),
    "state not read": without(WORLD, STATE),
}


@pytest.mark.parametrize("world", QUIET.values(), ids=QUIET.keys())
def test_the_project_of_an_unknown_instance_is_not_checked(world):
    """If nova does not know an instance or has deleted it, the project of its allocation is not checked."""
    assert findings(world, CODE) == ()


def test_a_wrong_project_is_reported_without_libvirt():
    """A wrong project of an allocation in Placement is reported even if libvirt could not be read."""
    assert len(findings(without(WORLD, LIBVIRT), CODE)) == 1
