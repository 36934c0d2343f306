"""Allocation clean-up, scenarios 43 to 58: the verdict on each consumer of the root, by scenario number.

nova-compute keeps or removes the allocation. An audit of the agent always keeps it, and reports it or does not.
An audit reports scenarios 46, 55, 57 and 58 and leaves them to heal. Scenario 56, a generation conflict, can only
happen in heal: the audit writes no allocation there.
"""

from __future__ import annotations

import dataclasses
import datetime

import pytest

from agent.books.compare import CHILD, SHARED, compare
from agent.books.ledger import books, promise_of
from agent.model.claim import Ledger
from agent.model.placement import ConsumerRecord, ProviderKey, SharingProvider
from agent.model.report import Verdict
from agent.model.snapshot import LIBVIRT, PLACEMENT, STATE
from tests.rigs.facts import (
    FLAVOR_B,
    INCOMING,
    NODE,
    NOW,
    ROOT_UUID,
    allocations,
    consumer,
    decided,
    domain,
    host,
    instance,
    migration,
    root,
    settings,
    snapshot,
    state,
    uuid,
    view,
    without,
)

I1 = uuid("i1")
A = {"VCPU": 1, "MEMORY_MB": 128, "DISK_GB": 1}
HELD = view(allocations(I1, **A), consumers=(consumer("i1", here=A),))
ABOUT_ALLOCATIONS = ("allocation-", "consumer-", "migration-finished-")
AWAY = {"host": "cmp2", "node": "cmp2.example.org"}


def rows_of(world):
    kept = books(world, settings(), NODE)
    return compare(world, kept, promise_of(world, NODE))


def verdict_of(world):
    """Return the one verdict that all rows share."""
    (found,) = {row.verdict for row in rows_of(world)}
    return found


def told(world):
    """Return the codes of findings about allocations in this world; assert that the audit plans no allocation write."""
    decision = decided(world)
    assert decision.plan.allocations == ()
    return sorted({f.code for f in decision.findings if f.code.startswith(ABOUT_ALLOCATIONS)})


def recorded(*instances, libvirt=None, **changes):
    return snapshot(nova=state(*instances, **changes), placement=HELD, libvirt=libvirt)


def test_s43_no_allocation_is_listed_without_a_root_provider():
    """Placement has no root provider for this host, so the agent lists no allocations."""
    world = snapshot(placement=view(providers=()))
    assert (rows_of(world), told(world)) == ((), [])


def test_s44_a_correct_allocation_causes_no_finding():
    world = recorded(instance(), libvirt=host(domain()))
    assert (verdict_of(world), told(world)) == (Verdict.AGREED, [])


@pytest.mark.parametrize("status", ["accepted", "migrating", "post-migrating", "finished", "reverting", "error"])
def test_s45_an_unfinished_migration_causes_no_finding(status):
    """A migration has an allocation on the old host while its instance moves; the agent reports nothing."""
    placement = view(allocations(uuid("migration-1"), **A))
    world = snapshot(nova=state(instance(**AWAY), migrations=(migration(status=status),)), placement=placement)
    assert (verdict_of(world), told(world)) == (Verdict.SETTLING, [])


def test_s46_an_allocation_of_a_deleted_instance_is_leaked():
    """Nova has deleted the instance but Placement still has its allocation; the agent reports `allocation-leaked`."""
    world = recorded(instance(deleted=True, vm_state="deleted"))
    assert (verdict_of(world), told(world)) == (Verdict.ALLOCATION_LEAKED, ["allocation-leaked"])


def test_s47_a_hidden_deleted_instance_is_not_a_leak():
    """During a cross-cell resize one of nova's two copies of an instance is deleted and hidden; this is no leak."""
    world = recorded(instance(deleted=True, hidden=True))
    assert (verdict_of(world), told(world)) == (Verdict.SETTLING, [])


def test_s48_an_allocation_unknown_to_nova_is_reported():
    """Nova has no instance with the consumer's UUID; the agent reports the allocation as `consumer-unknown`."""
    assert (verdict_of(recorded()), told(recorded())) == (Verdict.CONSUMER_UNKNOWN, ["consumer-unknown"])


@pytest.mark.parametrize("changes", [{"vm_state": "building", "task_state": "scheduling"}, {"vm_state": "building"}])
def test_s49_an_instance_being_built_causes_no_finding(changes):
    """A new instance has an allocation in Placement before nova gives it a host; the agent reports nothing."""
    world = recorded(instance(host=None, node=None, **changes))
    assert (verdict_of(world), told(world)) == (Verdict.SETTLING, [])


def test_s49_an_allocation_of_a_failed_build_is_stale():
    """Nova-compute never removes the allocation of a failed build, so the agent reports the allocation."""
    failed = recorded(instance(host=None, node=None, vm_state="error"))
    assert (verdict_of(failed), told(failed)) == (Verdict.ALLOCATION_STALE_MOVE, ["allocation-stale-move"])
    again = recorded(instance(host=None, node=None, vm_state="error", task_state="scheduling"))
    assert (verdict_of(again), told(again)) == (Verdict.SETTLING, [])


def test_s50_an_unshelving_instance_causes_no_finding():
    """A shelved instance is being unshelved and already has an allocation on this host; the agent reports nothing."""
    world = recorded(instance(vm_state="shelved_offloaded", task_state="unshelving"))
    assert (verdict_of(world), told(world)) == (Verdict.SETTLING, [])


@pytest.mark.parametrize("changes", [{"node": "old-name"}, {"vm_state": "deleted"}])
def test_s51_an_instance_that_nova_skips_causes_no_finding(changes):
    """Nova's resource tracker skips an instance that is deleted or has an old node name, and the agent does too."""
    world = recorded(instance(**changes))
    assert (verdict_of(world), told(world)) == (Verdict.UNKNOWN, [])


def test_s52_an_instance_moved_away_has_a_stale_allocation():
    """Nova has the instance on another host and its allocation is here: the finding is `allocation-stale-move`."""
    world = recorded(instance(**AWAY))
    assert (verdict_of(world), told(world)) == (Verdict.ALLOCATION_STALE_MOVE, ["allocation-stale-move"])


def test_s53_unreadable_placement_is_the_only_finding():
    """If Placement cannot be read, the agent reports `source-unavailable` and says nothing about any allocation."""
    world = without(recorded(instance(deleted=True)), PLACEMENT)
    assert told(world) == []
    assert [f.code for f in decided(world).findings] == ["source-unavailable"]


def test_s54_a_deleted_instance_without_allocations_has_no_row():
    """The agent lists no row and no finding for a deleted instance that has no allocations."""
    world = snapshot(nova=state(instance(deleted=True)))
    assert (rows_of(world), told(world)) == ((), [])


def test_s55_the_first_audit_reports_a_leak_of_yesterday():
    """An instance was deleted a day ago; the agent's first audit already reports its leaked allocation."""
    deleted_at = NOW - datetime.timedelta(days=1)
    world = recorded(instance(deleted=True, vm_state="deleted", deleted_at=deleted_at))
    assert told(world) == ["allocation-leaked"]


def test_s56_a_new_consumer_generation_keeps_the_findings():
    """Placement raises a consumer's generation at each write; the agent's findings stay the same."""
    world = recorded(instance(deleted=True))
    moved = tuple(dataclasses.replace(a, consumer_generation=9) for a in allocations(I1, **A))
    assert told(world) == told(dataclasses.replace(world, placement=snapshot(placement=view(moved)).placement))
    assert decided(world).plan.allocations == ()


def test_s57_an_allocation_left_by_an_evacuation_is_reported():
    """An instance was evacuated to another host, and Placement still has its allocation on the old host."""
    gone = migration(kind="evacuation", status="done")
    world = recorded(instance(**AWAY), finished_evacuations=(gone,))
    assert told(world) == ["allocation-stale-move", "migration-finished-but-counted"]


def test_s58_an_evacuated_and_deleted_instance_leaves_a_leak():
    """An instance was evacuated and then deleted; its allocation on the old host is `allocation-leaked`."""
    gone = migration(kind="evacuation", status="done")
    world = recorded(instance(**AWAY, deleted=True), finished_evacuations=(gone,))
    assert told(world) == ["allocation-leaked"]


YOUNG = NOW - datetime.timedelta(seconds=2)
RACES = {
    "deleted": recorded(instance(deleted=True, deleted_at=YOUNG)),
    "moved": recorded(instance(**AWAY, updated_at=YOUNG)),
    "shelved": recorded(instance(host=None, node=None, vm_state="shelved_offloaded", updated_at=YOUNG)),
    "confirmed": snapshot(
        nova=state(instance(**AWAY), migrations=(migration(status="confirmed", updated_at=YOUNG),)),
        placement=view(allocations(uuid("migration-1"), **A)),
    ),
    "come to rest here, its allocation not yet": snapshot(
        nova=state(instance(updated_at=YOUNG)), libvirt=host(domain())
    ),
    "come to rest here, its guest not yet seen": recorded(instance(updated_at=YOUNG)),
    "the guest of one that has left": snapshot(nova=state(instance(**AWAY, updated_at=YOUNG)), libvirt=host(domain())),
}


@pytest.mark.parametrize("world", RACES.values(), ids=RACES.keys())
def test_a_wrong_allocation_is_tolerated_right_after_a_change(world):
    """Nova changed the instance two seconds ago; the agent objects only if the allocation is wrong later on."""
    assert verdict_of(world) is Verdict.SETTLING
    later = dataclasses.replace(world.nova.value, now=NOW + datetime.timedelta(minutes=1))
    world = dataclasses.replace(world, nova=dataclasses.replace(world.nova, value=later))
    assert verdict_of(world) not in (Verdict.SETTLING, Verdict.AGREED)


def test_a_correct_allocation_is_accepted_right_after_a_change():
    """Nova changed the instance two seconds ago; the agent accepts the allocation without a wait."""
    assert verdict_of(recorded(instance(updated_at=YOUNG), libvirt=host(domain()))) is Verdict.AGREED


def on(provider, **amounts):
    return tuple(dataclasses.replace(a, provider_uuid=uuid(provider)) for a in allocations(I1, **amounts))


def child(name):
    return root(uuid=uuid(name), name=name, parent_uuid=ROOT_UUID, traits=frozenset())


def with_vgpu(*held):
    """Return the row of a class of which two are promised on some child; c1 and c2 hold ``held`` of it."""
    placement = view(allocations(I1, **A), *held, providers=(root(), child("c1"), child("c2")))
    world = snapshot(nova=state(instance()), libvirt=host(domain()), placement=placement)
    kept = books(world, settings(), NODE)
    (vcpu,) = [claim for claim in kept.promised.claims if claim.resource_class == "VCPU"]
    asked = dataclasses.replace(vcpu, resource_class="VGPU", amount=2, provider_key=CHILD)
    kept = dataclasses.replace(kept, promised=Ledger.of((*kept.promised.claims, asked)))
    (row,) = [r for r in compare(world, kept, promise_of(world, NODE)) if r.resource_class == "VGPU"]
    return row


@pytest.mark.parametrize(
    ("held", "expected", "place"),
    [
        ((on("c1", VGPU=2),), Verdict.AGREED, ProviderKey("provider", uuid("c1"))),
        ((on("c1", VGPU=1), on("c2", VGPU=1)), Verdict.AGREED, CHILD),
        ((on("c1", VGPU=1),), Verdict.ALLOCATION_DIFFERS, ProviderKey("provider", uuid("c1"))),
        ((), Verdict.ALLOCATION_DIFFERS, CHILD),
    ],
    ids=["on one child", "on two children", "less than promised", "on no child"],
)
def test_vgpus_of_an_instance_are_added_up_over_providers(held, expected, place):
    """An instance's two VGPUs may be allocated on one child provider or on two; only the sum must be right."""
    row = with_vgpu(*held)
    assert (row.promised, row.verdict, row.provider_key) == (2, expected, place)


def sharing(*held):
    nfs = SharingProvider(provider=root(uuid=uuid("nfs"), name="nfs"), allocations=on("nfs", DISK_GB=1))
    return view(*held, shared=(nfs,), shared_is_read=True)


def test_a_leak_on_a_sharing_provider_is_listed():
    """A deleted instance still has disk allocated on a shared storage provider; the agent lists it as leaked."""
    world = snapshot(nova=state(instance(deleted=True)), placement=sharing(allocations(I1, VCPU=1)))
    assert {(r.provider_key, r.recorded, r.verdict) for r in rows_of(world)} == {
        (ProviderKey("root", ""), 1, Verdict.ALLOCATION_LEAKED),
        (ProviderKey(SHARED, uuid("nfs")), 1, Verdict.ALLOCATION_LEAKED),
    }


@pytest.mark.parametrize("lost", [STATE, LIBVIRT])
def test_an_allocation_is_unknown_without_nova_or_libvirt(lost):
    """If nova or libvirt cannot be read, an allocation on a sharing provider counts as unknown, not as leaked."""
    world = without(snapshot(nova=state(instance(deleted=True)), placement=sharing()), lost)
    assert {row.verdict for row in rows_of(world)} <= {Verdict.UNKNOWN}


def test_a_resize_may_leave_a_stale_allocation_on_shared_storage():
    """A confirmed resize moved an instance away, but its allocation on shared storage remains.

    The agent calls the allocation stale.
    """
    moved = migration(uuid=I1, name="i2", status="confirmed")
    world = snapshot(nova=state(instance("i2", **AWAY), migrations=(moved,)), placement=sharing())
    assert verdict_of(world) is Verdict.ALLOCATION_STALE_MOVE
    incoming = migration(uuid=I1, name="i2", status="confirmed", **INCOMING)
    assert rows_of(snapshot(nova=state(instance("i2", **AWAY), migrations=(incoming,)), placement=sharing())) == ()


def test_a_finding_shows_pcpu_allocated_instead_of_vcpu():
    """An instance should have 2 VCPU in Placement but has 2 PCPU; the finding mentions both classes."""
    held = view(allocations(I1, PCPU=2, MEMORY_MB=256, DISK_GB=5))
    guest = host(domain(vcpus=2, memory_mib=256), cpus=8)
    world = snapshot(nova=state(instance(flavor=FLAVOR_B, flavor_id=2)), libvirt=guest, placement=held)
    chosen = settings(cpu_shared_set=(0, 1, 2, 3), cpu_dedicated_set=(4, 5, 6, 7))
    said = {f.resource_class: (f.expected, f.actual) for f in decided(world, chosen).findings if "differs" in f.code}
    assert said == {
        "VCPU": (
            f"2 VCPU for instance {I1}",
            "Placement records nothing; Placement records other classes instead: 2 PCPU",
        ),
        "PCPU": (
            f"no PCPU for instance {I1}; by nova's database, this instance uses 2 VCPU instead",
            "Placement records 2 PCPU",
        ),
    }


def test_a_finding_shows_vcpu_allocated_instead_of_pcpu():
    """A flavor needs 2 dedicated CPUs and Placement has 2 VCPU; the PCPU finding mentions the 2 VCPU."""
    dedicated = dataclasses.replace(FLAVOR_B, extra_specs=(("hw:cpu_policy", "dedicated"),))
    held = view(allocations(I1, VCPU=2, MEMORY_MB=256, DISK_GB=5))
    guest = host(domain(vcpus=2, memory_mib=256, pinned_cpus=(4, 5)), cpus=8)
    world = snapshot(nova=state(instance(flavor=dedicated)), libvirt=guest, placement=held)
    chosen = settings(cpu_shared_set=(0, 1, 2, 3), cpu_dedicated_set=(4, 5, 6, 7))
    said = {f.resource_class: f.actual for f in decided(world, chosen).findings if f.code == "allocation-differs"}
    instead = "Placement records nothing; Placement records other classes instead: 2 VCPU"
    assert said == {"PCPU": instead, "VCPU": "Placement records 2 VCPU"}


def test_an_allocation_made_by_cyborg_causes_no_finding():
    """The consumer type is CYBORG_ARQ, and nova has no instance with the consumer's UUID."""
    record = ConsumerRecord(
        consumer_uuid=I1,
        generation=1,
        project_id="p",
        user_id="u",
        allocations=allocations(I1, VCPU=1),
        consumer_type="CYBORG_ARQ",
    )
    world = snapshot(placement=view(allocations(I1, VCPU=1), consumers=(record,)))
    assert (verdict_of(world), told(world)) == (Verdict.OTHER_SERVICE, [])
    # But an instance row names the owner.
    known = snapshot(nova=state(instance(deleted=True)), placement=view(allocations(I1, VCPU=1), consumers=(record,)))
    assert told(known) == ["allocation-leaked"]
