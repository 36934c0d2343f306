"""guest-missing: the cloud counts the instance here, but libvirt has no such guest."""

from __future__ import annotations

import dataclasses

import pytest

from agent.model.finding import Severity
from agent.model.host.facts import DomainState, OddDomain
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

CODE = "guest-missing"
I1 = uuid("i1")
A_HELD = allocations(I1, VCPU=1, MEMORY_MB=128, DISK_GB=1)
WORLD = snapshot(nova=state(instance(vm_state="stopped")), placement=view(A_HELD))


def test_a_missing_guest_is_reported_with_its_resources():
    """If libvirt has no guest for an instance of this host, the finding shows the instance's resources."""
    (found,) = findings(WORLD, CODE)
    assert (found.provider_uuid, found.consumer_uuid, found.resource_class) == (ROOT_UUID, I1, None)
    assert found.expected == (
        f"a guest for instance {I1} (i1); by nova's database, the instance uses "
        "1 GiB of DISK_GB, 128 MiB of MEMORY_MB, 1 VCPU"
    )
    assert found.actual == "libvirt has no domain with the instance's uuid"
    assert found.facts == (("vm_state", "stopped"),)
    assert proof(found) == [
        ("nova", "DISK_GB", 1),
        ("nova", "MEMORY_MB", 128),
        ("nova", "VCPU", 1),
        ("placement", "DISK_GB", 1),
        ("placement", "MEMORY_MB", 128),
        ("placement", "VCPU", 1),
    ]
    assert found.severity is Severity.ERROR
    assert f"reboot --hard {found.consumer_uuid}" in found.remedy


def test_a_missing_guest_is_reported_without_placement():
    """An instance without a guest in libvirt is reported even if Placement could not be read."""
    (found,) = findings(without(WORLD, PLACEMENT), CODE)
    assert not found.rests_on_recorded
    assert {claim.source.system for claim in found.evidence} == {"nova"}


ODD = dataclasses.replace(host(), odd_domains=(OddDomain(uuid=I1, name="i1", reason="no <vcpu>"),))
QUIET = {
    "the guest is there": snapshot(**settled_world()),
    "there, but off": snapshot(**settled_world(libvirt=host(domain(state=DomainState.SHUTOFF)))),
    "there, but not understood": snapshot(nova=state(instance()), libvirt=ODD),
    "being built": snapshot(nova=state(instance(vm_state="building", task_state="spawning"))),
    "being built, between two tasks": snapshot(nova=state(instance(vm_state="building"))),
    "being unshelved": snapshot(nova=state(instance(vm_state="shelved_offloaded", task_state="spawning"))),
    "a task is set": snapshot(nova=state(instance(task_state="rebuilding"))),
    "on its way in": snapshot(
        nova=state(
            instance(host="cmp2", node="x", task_state="resize_prep", old_flavor=FLAVOR_A, new_flavor=FLAVOR_B),
            migrations=(migration(**INCOMING),),
        )
    ),
    "left, room kept for a revert": snapshot(
        nova=state(
            instance(host="cmp2", node="x", vm_state="resized", old_flavor=FLAVOR_A, new_flavor=FLAVOR_B),
            migrations=(migration(status="finished"),),
        )
    ),
    "shelved away": snapshot(nova=state(instance(vm_state="shelved_offloaded"))),
    "deleted": snapshot(nova=state(instance(deleted=True))),
    "libvirt not read": without(WORLD, LIBVIRT),
    "state not read": without(WORLD, STATE),
}


@pytest.mark.parametrize("world", QUIET.values(), ids=QUIET.keys())
def test_a_guest_that_may_not_exist_yet_is_not_missing(world):
    """During the build of an instance, its guest is not reported as missing."""
    assert findings(world, CODE) == ()
