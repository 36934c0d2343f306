"""guest-size-differs: a domain's defined maximum differs from the flavor; the current size does not matter."""

from __future__ import annotations

import dataclasses
import datetime

import pytest

from agent.model.finding import Severity
from agent.model.nova import StateKind
from agent.model.snapshot import LIBVIRT, PLACEMENT, STATE
from tests.rigs.facts import (
    FLAVOR_A,
    FLAVOR_B,
    NOW,
    ROOT_UUID,
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
    without,
)

CODE = "guest-size-differs"
I1 = uuid("i1")
LARGER = domain(vcpus=2, maximum_vcpus=2, memory_mib=256)


def with_guest(guest, *, nova=None):
    return snapshot(**settled_world(libvirt=host(guest), **({"nova": nova} if nova else {})))


WORLD = with_guest(LARGER)


def test_the_finding_shows_the_flavor_size_and_the_guest_size():
    """If a guest was defined with 2 VCPU and its flavor has 1, the finding shows the two sizes."""
    (found,) = findings(WORLD, CODE)
    assert (found.provider_uuid, found.consumer_uuid, found.resource_class) == (ROOT_UUID, I1, None)
    assert found.expected == f"1 VCPU, 128 MiB of MEMORY_MB for instance {I1} (i1), as its flavor A says"
    assert found.actual == "domain i1 was defined with 2 VCPU, 256 MiB of MEMORY_MB"
    assert proof(found) == [
        ("libvirt", "MEMORY_MB", 256),
        ("libvirt", "VCPU", 2),
        ("nova", "MEMORY_MB", 128),
        ("nova", "VCPU", 1),
    ]
    assert found.severity is Severity.WARNING
    assert not found.rests_on_recorded
    assert f"reboot --hard {I1}" in found.remedy


def test_the_finding_shows_only_the_differing_resource():
    """If only the memory of a guest differs from the flavor, the finding shows the memory and not the VCPU."""
    (found,) = findings(with_guest(domain(memory_mib=64)), CODE)
    assert found.actual == "domain i1 was defined with 64 MiB of MEMORY_MB"


def test_the_flavor_is_compared_with_the_maximum_vcpus():
    """If a guest has 1 VCPU and may get 4, the agent compares 4 VCPU with the flavor."""
    (found,) = findings(with_guest(domain(vcpus=1, maximum_vcpus=4)), CODE)
    assert found.actual == "domain i1 was defined with 4 VCPU"


def test_a_wrong_guest_size_is_reported_without_placement():
    """A guest that is larger than its flavor is reported even if Placement could not be read."""
    assert len(findings(without(WORLD, PLACEMENT), CODE)) == 1


PMEM = dataclasses.replace(FLAVOR_A, extra_specs=(("hw:pmem", "4GB"),))
QUIET = {
    "equal": snapshot(**settled_world()),
    "a vCPU is unplugged": with_guest(
        domain(vcpus=1, maximum_vcpus=2, memory_mib=256), nova=state(instance(flavor=FLAVOR_B, flavor_id=2))
    ),
    "a balloon took memory": with_guest(domain(current_memory_mib=64)),
    "persistent memory is part of the domain's": with_guest(
        domain(memory_mib=4096 + 128), nova=state(instance(flavor=PMEM))
    ),
    "a task is set": with_guest(LARGER, nova=state(instance(task_state="rebooting_hard"))),
    "being built": with_guest(LARGER, nova=state(instance(vm_state="building"))),
    "being resized away": with_guest(
        LARGER, nova=state(instance(task_state="resize_prep"), migrations=(migration(status="accepted"),))
    ),
    "resized here, not yet confirmed": with_guest(
        LARGER,
        nova=state(
            instance(vm_state="resized", old_flavor=FLAVOR_B, new_flavor=FLAVOR_A),
            migrations=(migration(status="finished", dest_host="cmp1", dest_node="cmp1.example.org"),),
        ),
    ),
    "its row was written this moment": with_guest(
        LARGER, nova=state(instance(updated_at=NOW - datetime.timedelta(seconds=2)))
    ),
    "without a cloud": with_guest(LARGER, nova=state(kind=StateKind.NONE)),
    "a row that does not parse": with_guest(LARGER, nova=state(instance(flavor=None, problem="flavor is NULL"))),
    "a guest that the cloud does not know": with_guest(LARGER, nova=state()),
    "state not read": without(WORLD, STATE),
    "libvirt not read": without(WORLD, LIBVIRT),
}


@pytest.mark.parametrize("world", QUIET.values(), ids=QUIET.keys())
def test_a_guest_size_is_not_compared_during_a_resize(world):
    """During a resize of an instance, the agent does not compare the size of the guest with the flavor."""
    assert findings(world, CODE) == ()
