"""allocation-differs: fires for the class that differs, and only for that class."""

from __future__ import annotations

import pytest

from agent.model.finding import Severity
from agent.model.snapshot import LIBVIRT, PLACEMENT, STATE
from tests.rigs.facts import (
    FLAVOR_A,
    FLAVOR_B,
    INCOMING,
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

CODE = "allocation-differs"
I1 = uuid("i1")
THREE = view(allocations(I1, VCPU=3, MEMORY_MB=128, DISK_GB=1))
WORLD = snapshot(**settled_world(placement=THREE))


def test_the_finding_shows_the_expected_and_the_actual_amount():
    """If Placement counts 3 VCPU and the flavor has 1, the finding shows the two amounts."""
    (found,) = findings(WORLD, CODE)
    assert (found.provider_uuid, found.consumer_uuid, found.resource_class) == (ROOT_UUID, I1, "VCPU")
    assert found.expected == f"1 VCPU for instance {I1}"
    assert found.actual == "Placement records 3 VCPU"
    assert proof(found) == [("libvirt", "VCPU", 1), ("nova", "VCPU", 1), ("placement", "VCPU", 3)]
    assert found.severity is Severity.WARNING
    assert found.rests_on_recorded
    assert found.remedy.endswith(
        f"; if the flavor is right, write the flavor's amounts to Placement: stocktake heal --finding {found.id[:8]}"
    )


def test_each_differing_resource_class_has_its_own_finding():
    """If an allocation differs from nova in VCPU, MEMORY_MB and DISK_GB, the agent reports three findings."""
    world = snapshot(**settled_world(placement=view(allocations(I1, VCPU=2, MEMORY_MB=129))))
    assert {(f.resource_class, f.actual) for f in findings(world, CODE)} == {
        ("DISK_GB", "Placement records nothing"),
        ("MEMORY_MB", "Placement records 129 MiB of MEMORY_MB"),
        ("VCPU", "Placement records 2 VCPU"),
    }
    assert len({f.id for f in findings(world, CODE)}) == 3


def test_a_large_amount_is_printed_with_all_digits():
    world = snapshot(**settled_world(placement=view(allocations(I1, VCPU=1, MEMORY_MB=1048577, DISK_GB=1))))
    (found,) = findings(world, CODE)
    assert found.actual == "Placement records 1048577 MiB of MEMORY_MB"


QUIET = {
    "equal": snapshot(**settled_world()),
    "a task is set": snapshot(**settled_world(placement=THREE, nova=state(instance(task_state="rebooting")))),
    "being resized": snapshot(
        **settled_world(
            placement=THREE,
            nova=state(
                instance(host="cmp2", node="x", task_state="resize_prep", old_flavor=FLAVOR_A, new_flavor=FLAVOR_B),
                migrations=(migration(**INCOMING),),
            ),
        )
    ),
    "nothing recorded is another finding's": snapshot(**settled_world(placement=view())),
    "a class that no resource here decides": snapshot(
        **settled_world(placement=view(allocations(I1, VCPU=1, MEMORY_MB=128, DISK_GB=1, VGPU=1)))
    ),
    "a row that does not parse": snapshot(
        nova=state(instance(flavor=None, problem="flavor is NULL")), libvirt=host(domain()), placement=THREE
    ),
    "placement not read": without(WORLD, PLACEMENT),
    "state not read": without(WORLD, STATE),
}


@pytest.mark.parametrize("world", QUIET.values(), ids=QUIET.keys())
def test_an_allocation_is_not_compared_during_a_resize(world):
    """During a resize, the agent does not compare an instance's allocation with the flavor."""
    assert findings(world, CODE) == ()


def test_a_wrong_allocation_is_reported_without_libvirt():
    """An allocation that differs from the instance's flavor is reported even if libvirt could not be read."""
    assert len(findings(without(WORLD, LIBVIRT), CODE)) == 1
