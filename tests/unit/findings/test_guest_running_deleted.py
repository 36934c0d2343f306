"""guest-running-deleted: the cloud deleted the instance but its guest is still there; other strangers do not count."""

from __future__ import annotations

import datetime

import pytest

from agent.model.finding import Severity
from agent.model.host.facts import DomainState
from agent.model.settings import UnmanagedPolicy
from agent.model.snapshot import LIBVIRT, PLACEMENT, STATE
from tests.rigs.facts import (
    NOW,
    ROOT_UUID,
    allocations,
    domain,
    findings,
    host,
    instance,
    proof,
    settings,
    snapshot,
    state,
    uuid,
    view,
    without,
)

CODE = "guest-running-deleted"
I1 = uuid("i1")
EARLIER = NOW - datetime.timedelta(hours=1)


def deleted(**changes):
    return state(instance(**{"deleted": True, "vm_state": "deleted", "deleted_at": EARLIER, **changes}))


WORLD = snapshot(nova=deleted(), libvirt=host(domain()))


def test_the_finding_shows_the_state_and_memory_of_the_guest():
    """If a guest still runs after nova deleted its instance, the finding shows the guest's state and memory."""
    (found,) = findings(WORLD, CODE)
    assert (found.provider_uuid, found.consumer_uuid, found.resource_class) == (ROOT_UUID, I1, None)
    assert found.expected == f"no guest, because instance {I1} (i1) is deleted"
    assert found.actual == (
        "the instance's domain is still defined and running; the domain holds 128 MiB of MEMORY_MB, 1 VCPU; "
        "[agent] unknown_guests = reserve applies to the guest"
    )
    assert proof(found) == [("libvirt", "MEMORY_MB", 128), ("libvirt", "VCPU", 1)]
    assert found.facts == (("instance_deleted_at", "2026-11-21T11:00:00"), ("domain_state", "running"))
    assert found.severity is Severity.ERROR
    assert f"virsh -c qemu:///system dominfo {I1}" in found.remedy


def test_a_shut_off_guest_of_a_deleted_instance_is_reported():
    (found,) = findings(snapshot(nova=deleted(), libvirt=host(domain(state=DomainState.SHUTOFF))), CODE)
    assert "still defined and shutoff" in found.actual


@pytest.mark.parametrize("policy", UnmanagedPolicy)
def test_the_option_unknown_guests_hides_no_deleted_instance(policy):
    """The guest of a deleted instance is reported for every value of the option [agent] unknown_guests."""
    assert len(findings(WORLD, CODE, settings(unknown_guests=policy))) == 1


def test_no_leak_is_reported_while_the_guest_exists():
    """While libvirt has the guest of a deleted instance, the instance's allocation is not reported as leaked."""
    world = snapshot(nova=deleted(), libvirt=host(domain()), placement=view(allocations(I1, VCPU=1)))
    assert len(findings(world, CODE)) == 1
    assert findings(world, "allocation-leaked") == ()


def test_a_leftover_guest_is_reported_without_placement():
    """The guest of a deleted instance is reported even if Placement could not be read."""
    assert len(findings(without(WORLD, PLACEMENT), CODE)) == 1


QUIET = {
    "it lives": snapshot(nova=state(instance()), libvirt=host(domain())),
    "soft-deleted by its user": snapshot(nova=state(instance(vm_state="soft-delete")), libvirt=host(domain())),
    "it lives elsewhere": snapshot(nova=state(instance(host="cmp2", node="x")), libvirt=host(domain())),
    "nobody knows it": snapshot(nova=state(), libvirt=host(domain())),
    "deleted and hidden": snapshot(nova=deleted(hidden=True), libvirt=host(domain())),
    "deleted this moment": snapshot(nova=deleted(deleted_at=NOW), libvirt=host(domain())),
    "its guest is gone": snapshot(nova=deleted(), libvirt=host()),
    "state not read": without(WORLD, STATE),
    "libvirt not read": without(WORLD, LIBVIRT),
}


@pytest.mark.parametrize("world", QUIET.values(), ids=QUIET.keys())
def test_only_a_certainly_deleted_instance_makes_a_finding(world):
    """If the instance exists, is unknown or could not be read, its guest is not reported as left over."""
    assert findings(world, CODE) == ()
