"""allocation-leaked: scenarios 44 to 55; it fires only if the cloud itself says that the instance is deleted."""

from __future__ import annotations

import dataclasses
import datetime
from typing import Any

import pytest

from agent.model.finding import Severity
from agent.model.placement import Allocation, PlacementView, SharingProvider
from agent.model.snapshot import LIBVIRT, PLACEMENT, STATE
from tests.rigs.facts import (
    NOW,
    ROOT_UUID,
    allocations,
    decided,
    domain,
    findings,
    host,
    instance,
    migration,
    proof,
    root,
    settled_world,
    snapshot,
    state,
    uuid,
    view,
    without,
)

CODE = "allocation-leaked"
I1 = uuid("i1")
EARLIER = NOW - datetime.timedelta(hours=1)
RECORDED = view(allocations(I1, VCPU=8, MEMORY_MB=8192))


def deleted(**changes):
    return instance(**{"deleted": True, "vm_state": "deleted", "deleted_at": EARLIER, **changes})


def recorded_for(*instances, **changes):
    return snapshot(nova=state(*instances, **changes), placement=RECORDED)


WORLD = recorded_for(deleted())


@pytest.mark.parametrize(
    "world",
    [WORLD, recorded_for(deleted(host=None, node=None))],
    ids=["s46", "s55 deleted while the host was down"],
)
def test_the_finding_lists_allocations_of_a_deleted_instance(world):
    """The finding lists what Placement still allocates to an instance that nova has deleted."""
    (found,) = findings(world, CODE)
    assert (found.provider_uuid, found.consumer_uuid, found.resource_class) == (ROOT_UUID, I1, None)
    assert found.expected == f"no allocation, because instance {I1} (i1) is deleted"
    assert found.actual == "Placement counts 8 VCPU, 8192 MiB here; the instance is deleted"
    assert proof(found) == [("placement", "MEMORY_MB", 8192), ("placement", "VCPU", 8)]
    assert found.facts == (("instance_deleted_at", "2026-11-21T11:00:00"),)
    assert found.severity is Severity.ERROR
    assert found.rests_on_recorded
    assert found.remedy.startswith(f"remove the allocation on this host: stocktake heal --finding {found.id[:8]}; ")
    assert f"allocation unset --provider {found.provider_uuid} {found.consumer_uuid}" in found.remedy
    assert found.headline == "i1: the instance is deleted; Placement still counts 8 VCPU, 8192 MiB on cmp1"


QUIET = {
    "s44 counted here": snapshot(**settled_world()),
    "s45 a migration's, in progress": snapshot(
        nova=state(deleted(), migrations=(migration(),)),
        placement=view(allocations(uuid("migration-1"), VCPU=1)),
    ),
    "s47 deleted and hidden": recorded_for(deleted(hidden=True)),
    "s48 unknown": recorded_for(),
    "s49 being built": recorded_for(instance(host=None, node=None, vm_state="building", task_state="scheduling")),
    "s49 scheduled, no task yet": recorded_for(instance(host=None, node=None, vm_state="building")),
    "s50 a task is set": recorded_for(instance(vm_state="shelved_offloaded", task_state="unshelving")),
    "s52 lives elsewhere": recorded_for(instance(host="cmp2", node="x")),
    "soft-deleted by its user": snapshot(**settled_world(nova=state(instance(vm_state="soft-delete")))),
    "deleted, its guest is still running": snapshot(nova=state(deleted()), libvirt=host(domain()), placement=RECORDED),
    "deleted while this audit was reading": recorded_for(deleted(deleted_at=NOW - datetime.timedelta(seconds=3))),
    "deleted by a clock that is a little ahead": recorded_for(deleted(deleted_at=NOW + datetime.timedelta(seconds=3))),
    "s54 nothing recorded": snapshot(nova=state(deleted())),
    "s53 placement not read": without(WORLD, PLACEMENT),
    "state not read": without(WORLD, STATE),
    "libvirt not read: its guest may run still": without(WORLD, LIBVIRT),
}


@pytest.mark.parametrize("world", QUIET.values(), ids=QUIET.keys())
def test_no_leak_is_reported_if_the_allocation_may_be_needed(world):
    """An allocation may be needed, for example, while the guest of a deleted instance is still running."""
    assert findings(world, CODE) == ()


def test_a_future_deletion_time_does_not_hide_the_finding():
    """A deleted instance's allocation is reported even if nova's deletion time is an hour in the future."""
    assert len(findings(recorded_for(deleted(deleted_at=NOW + datetime.timedelta(hours=1))), CODE)) == 1


def test_a_leaked_vgpu_is_reported_with_its_child_provider():
    """If a deleted instance still has 1 VGPU on a child provider in Placement, the finding shows the child's UUID."""
    child = root(uuid=uuid("child"), name="child", parent_uuid=ROOT_UUID)
    held = tuple(dataclasses.replace(a, provider_uuid=uuid("child")) for a in allocations(I1, VGPU=1))
    (found,) = findings(snapshot(nova=state(deleted()), placement=view(held, providers=(root(), child))), CODE)
    assert (found.provider_uuid, found.actual) == (
        uuid("child"),
        f"Placement counts 1 VGPU on provider {uuid('child')}; the instance is deleted",
    )


def sharing(*held: Allocation, **changes: Any) -> PlacementView:
    """Return a root in an aggregate whose sharing provider has these allocations."""
    nfs = root(uuid=uuid("nfs"), name="nfs", traits=frozenset({"MISC_SHARES_VIA_AGGREGATE"}))
    moved = tuple(dataclasses.replace(a, provider_uuid=uuid("nfs")) for a in held)
    return view(
        shared=(SharingProvider(provider=nfs, allocations=moved),),
        shared_is_read=True,
        **{"provider": root(aggregates=frozenset({uuid("aggregate")})), **changes},
    )


def test_a_leak_finding_shows_the_shared_storage_provider():
    """If a deleted instance has an allocation on shared storage, the finding shows the provider's UUID."""
    world = snapshot(nova=state(deleted()), placement=sharing(*allocations(I1, DISK_GB=5)))
    (found,) = findings(world, CODE)
    assert (found.provider_uuid, found.actual) == (
        uuid("nfs"),
        f"Placement counts 5 GiB on provider {uuid('nfs')}; the instance is deleted",
    )
    assert "stocktake heal" not in found.remedy


SHARED_QUIET = {
    "another host's guest, deleted there": state(deleted(host="cmp2", node="x")),
    "a guest of this host that lives": state(instance()),
    "a guest that lives elsewhere": state(instance(host="cmp2", node="x")),
    "deleted and hidden": state(deleted(hidden=True)),
    "no row": state(),
    "the source's half of a move that runs": state(instance(host="cmp2"), migrations=(migration(uuid=I1),)),
}


@pytest.mark.parametrize("nova", SHARED_QUIET.values(), ids=SHARED_QUIET.keys())
def test_only_one_host_reports_a_leak_on_shared_storage(nova):
    """Only the host that had a deleted instance reports the instance's leaked allocation on shared storage."""
    world = snapshot(nova=nova, placement=sharing(*allocations(I1, DISK_GB=5)), libvirt=host())
    about_it = [
        f for f in decided(world).findings if f.consumer_uuid == I1 and f.code.startswith(("alloc", "consumer"))
    ]
    assert [f.code for f in about_it if f.rests_on_recorded and f.provider_uuid == uuid("nfs")] == []


def test_each_leaked_consumer_has_its_own_finding():
    """If two deleted instances still have allocations in Placement, the agent reports two findings."""
    world = snapshot(
        nova=state(deleted(), instance("i2", deleted=True)),
        placement=view(allocations(I1, VCPU=1), allocations(uuid("i2"), VCPU=1)),
    )
    assert {f.consumer_uuid for f in findings(world, CODE)} == {I1, uuid("i2")}
