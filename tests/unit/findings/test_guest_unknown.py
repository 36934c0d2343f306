"""guest-unknown: a guest that the cloud does not know here; the agent reserves its use unless Placement counts it."""

from __future__ import annotations

import dataclasses

import pytest

from agent.model.finding import Severity
from agent.model.host.facts import DomainState
from agent.model.nova import StateKind
from agent.model.settings import UnmanagedPolicy
from agent.model.snapshot import LIBVIRT, PLACEMENT, STATE
from tests.rigs.facts import (
    ROOT_UUID,
    allocations,
    decided,
    domain,
    findings,
    host,
    instance,
    migration,
    proof,
    reserves,
    settings,
    settled_world,
    snapshot,
    state,
    uuid,
    view,
    without,
)

CODE = "guest-unknown"
S = uuid("stranger")
STRANGER = domain("stranger", vcpus=2, memory_mib=300)
WORLD = snapshot(libvirt=host(STRANGER))


def test_the_finding_shows_what_the_unknown_guest_uses():
    """If libvirt has a guest that nova does not know, the finding shows the guest's memory and VCPU."""
    (found,) = findings(WORLD, CODE)
    assert (found.provider_uuid, found.consumer_uuid, found.resource_class) == (ROOT_UUID, S, None)
    assert found.expected == "every guest of this host is an instance of the cloud"
    assert found.actual == (
        f"domain {S} (stranger) holds 300 MiB of MEMORY_MB, 2 VCPU; "
        "[agent] unknown_guests = reserve applies to the guest"
    )
    assert proof(found) == [("libvirt", "MEMORY_MB", 300), ("libvirt", "VCPU", 2)]
    assert found.severity is Severity.WARNING
    assert not found.rests_on_recorded
    assert f"virsh -c qemu:///system dominfo {found.consumer_uuid}" in found.remedy


TOLD = {
    "off, and still defined": snapshot(libvirt=host(dataclasses.replace(STRANGER, state=DomainState.SHUTOFF))),
    "with nova's metadata": snapshot(libvirt=host(dataclasses.replace(STRANGER, managed_by_nova=True))),
    "its instance lives elsewhere": snapshot(
        nova=state(instance("stranger", host="cmp2", node="x")), libvirt=host(STRANGER)
    ),
    "its move is over": snapshot(
        nova=state(
            instance("stranger", host="cmp2", node="x"),
            migrations=(migration(1, "stranger", kind="live-migration", status="completed"),),
        ),
        libvirt=host(STRANGER),
    ),
    "placement not read": without(WORLD, PLACEMENT),
}


@pytest.mark.parametrize("world", TOLD.values(), ids=TOLD.keys())
def test_a_guest_without_an_instance_on_this_host_is_reported(world):
    """A guest is reported as unknown even if its instance is on another host."""
    assert [f.consumer_uuid for f in findings(world, CODE)] == [S]


@pytest.mark.parametrize(
    ("policy", "told", "reserved"),
    [
        (UnmanagedPolicy.RESERVE, 1, {"VCPU": 1, "MEMORY_MB": 300, "DISK_GB": 0}),
        (UnmanagedPolicy.REPORT, 1, {"VCPU": 0, "MEMORY_MB": 0, "DISK_GB": 0}),
        (UnmanagedPolicy.IGNORE, 0, {"VCPU": 0, "MEMORY_MB": 0, "DISK_GB": 0}),
    ],
    ids=["reserve", "report", "ignore"],
)
def test_unknown_guests_are_reserved_only_with_policy_reserve(policy, told, reserved):
    """The agent reserves the resources of unknown guests only with [agent] unknown_guests = reserve."""
    chosen = settings(unknown_guests=policy)
    assert len(findings(WORLD, CODE, chosen)) == told
    assert reserves(decided(WORLD, chosen)) == reserved


def test_allocated_vcpus_of_an_unknown_guest_are_not_reserved():
    """If Placement has an allocation for an unknown guest's VCPUs, the agent does not reserve the VCPUs."""
    world = snapshot(libvirt=host(STRANGER), placement=view(allocations(S, VCPU=2)))
    (found,) = findings(world, CODE)
    assert proof(found) == [("libvirt", "MEMORY_MB", 300), ("libvirt", "VCPU", 2), ("placement", "VCPU", 2)]
    assert reserves(decided(world)) == {"VCPU": 0, "MEMORY_MB": 300, "DISK_GB": 0}


QUIET = {
    "its instance is deleted: guest-running-deleted tells it": snapshot(
        nova=state(instance("stranger", deleted=True)), libvirt=host(STRANGER)
    ),
    "an instance of this host": snapshot(**settled_world()),
    "soft-deleted": snapshot(**settled_world(nova=state(instance(vm_state="soft-delete")))),
    "moving away": snapshot(
        nova=state(
            instance("stranger", host="cmp2", node="x"),
            migrations=(migration(1, "stranger", kind="live-migration", status="post-migrating"),),
        ),
        libvirt=host(STRANGER),
    ),
    "being offloaded": snapshot(
        nova=state(instance("stranger", vm_state="shelved_offloaded", task_state="shelving_offloading")),
        libvirt=host(STRANGER),
    ),
    "a row that does not parse": snapshot(
        nova=state(instance("stranger", flavor=None, problem="flavor is NULL")), libvirt=host(STRANGER)
    ),
    "no cloud: every guest is a promise": snapshot(nova=state(kind=StateKind.NONE), libvirt=host(STRANGER)),
    "libvirt not read": without(WORLD, LIBVIRT),
    "state not read": without(WORLD, STATE),
}


@pytest.mark.parametrize("world", QUIET.values(), ids=QUIET.keys())
def test_no_finding_if_nova_knows_the_guest(world):
    """A guest is not reported as unknown if its instance is on this host or is moving away."""
    assert findings(world, CODE) == ()
