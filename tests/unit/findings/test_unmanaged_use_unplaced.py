"""unmanaged-use-unplaced: unmanaged use that the agent could not announce to the scheduler."""

from __future__ import annotations

import pytest

from agent.model.claim import Cause
from agent.model.own_consumers import own_consumer_uuid
from agent.model.settings import Role, UnmanagedPolicy
from agent.model.snapshot import LIBVIRT, LVM, PLACEMENT, STATE
from tests.rigs.facts import (
    ROOT_UUID,
    allocations,
    decided,
    domain,
    findings,
    group,
    host,
    inventory,
    lvm_settings,
    proof,
    root,
    snapshot,
    uuid,
    view,
    volume,
    without,
)

CODE = "unmanaged-use-unplaced"
BESIDE = lvm_settings(role=Role.COMPANION)
NOVA = root(
    inventory("VCPU", 4, allocation_ratio=4.0),
    inventory("MEMORY_MB", 4096),
    inventory("DISK_GB", 19),
)
BIG = domain("big", vcpus=6, memory_mib=256)


def world(*others, libvirt=None, lvm=None, provider=NOVA, **changes):
    placement = view(*others, provider=provider, **changes) if provider else view(providers=(), **changes)
    return snapshot(placement=placement, libvirt=libvirt or host(BIG), lvm=lvm or group(20))


def test_guest_use_beyond_max_unit_is_reported():
    """Guests unknown to nova use 6 VCPU. With max_unit = 4, the agent allocates 4 VCPU and reports the other 2."""
    (found,) = findings(world(), CODE, BESIDE)
    assert (found.provider_uuid, found.resource_class, found.consumer_uuid) == (ROOT_UUID, "VCPU", None)
    assert found.expected == "Stocktake has allocated all 6 VCPU in use by guests and volumes that nova does not know"
    assert found.actual.startswith("2 VCPU could not be allocated")
    assert "max_unit 4" in found.actual
    assert dict(found.facts) == {"wanted": 6, "placed": 4, "missing": 2, "allocation_ratio": 4.0}
    assert proof(found) == [("libvirt", "VCPU", 6)]
    assert found.rests_on_recorded


UNPLACED = {
    "the cloud fills the host": (world(allocations(uuid("i1"), VCPU=16)), {"VCPU": "6 VCPU"}),
    "no inventory of the class": (
        world(provider=root(inventory("VCPU", 9), inventory("MEMORY_MB", 4096)), lvm=group(20, volume("v", 2))),
        {"DISK_GB": "2 GiB of DISK_GB"},
    ),
    "no provider": (world(provider=None), {"VCPU": "6 VCPU", "MEMORY_MB": "256 MiB of MEMORY_MB"}),
    "an old server": (world(typed_consumers=False), {"VCPU": "6 VCPU", "MEMORY_MB": "256 MiB of MEMORY_MB"}),
}


@pytest.mark.parametrize(("there", "expected"), UNPLACED.values(), ids=UNPLACED.keys())
def test_each_resource_class_without_allocation_is_reported(there, expected):
    """If the agent cannot allocate a guest's resources, the finding shows each resource class and its amount."""
    assert {f.resource_class: f.actual.partition(" could")[0] for f in findings(there, CODE, BESIDE)} == expected


SILENT = {
    "all of it is placed": (world(libvirt=host(domain("small", vcpus=4, memory_mib=256))), BESIDE),
    "nothing unmanaged": (world(libvirt=host()), BESIDE),
    "nothing unmanaged, no provider": (world(libvirt=host(), provider=None), BESIDE),
    "an owner reserves it": (world(), lvm_settings()),
    "an observer says what an owner would do": (world(), lvm_settings(role=Role.OBSERVER)),
    "nobody wants it counted": (world(), lvm_settings(role=Role.COMPANION, unknown_guests=UnmanagedPolicy.REPORT)),
    "what we hold ourselves is no obstacle": (
        world(
            allocations(own_consumer_uuid(ROOT_UUID, Cause.FOREIGN_GUEST), VCPU=4, MEMORY_MB=256),
            allocations(uuid("i1"), VCPU=12),
            libvirt=host(domain("small", vcpus=4, memory_mib=256)),
        ),
        BESIDE,
    ),
}


@pytest.mark.parametrize(("there", "chosen"), SILENT.values(), ids=SILENT.keys())
def test_fully_allocated_resources_are_not_reported(there, chosen):
    """If all resources of guests unknown to nova are allocated, the agent reports nothing."""
    assert findings(there, CODE, chosen) == ()


@pytest.mark.parametrize("lost", [LIBVIRT, STATE, PLACEMENT, LVM])
def test_resources_are_not_reported_if_a_source_was_not_read(lost):
    """If nova, libvirt or Placement was not read, the agent does not report resources without an allocation."""
    there = without(world(lvm=group(2, volume("v", 40))), lost)
    classes = {f.resource_class for f in findings(there, CODE, BESIDE)}
    assert "DISK_GB" not in classes
    assert ("VCPU" in classes) == (lost == LVM)


def test_guests_unknown_to_nova_cause_no_over_capacity():
    """Guests unknown to nova do not cause the finding `over-capacity`."""
    assert "over-capacity" not in {f.code for f in decided(world(), BESIDE).findings}
