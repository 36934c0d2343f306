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


def test_s43_allocations_are_not_judged_if_the_root_provider_is_missing():
    world = snapshot(placement=view(providers=()))
    assert (rows_of(world), told(world)) == ((), [])


def test_s44_a_correct_allocation_causes_no_finding():
    world = recorded(instance(), libvirt=host(domain()))
    assert (verdict_of(world), told(world)) == (Verdict.AGREED, [])


@pytest.mark.parametrize("status", ["accepted", "migrating", "post-migrating", "finished", "reverting", "error"])
def test_s45_an_allocation_causes_no_finding_during_its_migration(status):
    """The allocation has the verdict settling."""
    placement = view(allocations(uuid("migration-1"), **A))
    world = snapshot(nova=state(instance(**AWAY), migrations=(migration(status=status),)), placement=placement)
    assert (verdict_of(world), told(world)) == (Verdict.SETTLING, [])


def test_s46_an_allocation_of_a_deleted_instance_is_reported_as_leaked():
    world = recorded(instance(deleted=True, vm_state="deleted"))
    assert (verdict_of(world), told(world)) == (Verdict.ALLOCATION_LEAKED, ["allocation-leaked"])


def test_s47_an_allocation_of_a_deleted_and_hidden_instance_causes_no_finding():
    """During a cross-cell resize nova hides one of its two copies of the instance: the verdict is settling."""
    world = recorded(instance(deleted=True, hidden=True))
    assert (verdict_of(world), told(world)) == (Verdict.SETTLING, [])


def test_s48_an_allocation_is_reported_if_its_consumer_is_unknown_to_nova():
    assert (verdict_of(recorded()), told(recorded())) == (Verdict.CONSUMER_UNKNOWN, ["consumer-unknown"])


@pytest.mark.parametrize("changes", [{"vm_state": "building", "task_state": "scheduling"}, {"vm_state": "building"}])
def test_s49_an_allocation_causes_no_finding_before_its_instance_has_a_host(changes):
    """Its verdict is SETTLING."""
    world = recorded(instance(host=None, node=None, **changes))
    assert (verdict_of(world), told(world)) == (Verdict.SETTLING, [])


def test_s49_an_allocation_of_a_failed_build_is_reported_as_stale():
    """No scheduler will retry this instance, and nova-compute never removes what it holds."""
    failed = recorded(instance(host=None, node=None, vm_state="error"))
    assert (verdict_of(failed), told(failed)) == (Verdict.ALLOCATION_STALE_MOVE, ["allocation-stale-move"])
    again = recorded(instance(host=None, node=None, vm_state="error", task_state="scheduling"))
    assert (verdict_of(again), told(again)) == (Verdict.SETTLING, [])


def test_s50_an_allocation_causes_no_finding_while_its_instance_is_unshelving():
    """The allocation has the verdict settling."""
    world = recorded(instance(vm_state="shelved_offloaded", task_state="unshelving"))
    assert (verdict_of(world), told(world)) == (Verdict.SETTLING, [])


@pytest.mark.parametrize("changes", [{"node": "old-name"}, {"vm_state": "deleted"}])
def test_s51_an_instance_causes_no_finding_if_the_resource_tracker_skips_it(changes):
    """Its verdict is unknown."""
    world = recorded(instance(**changes))
    assert (verdict_of(world), told(world)) == (Verdict.UNKNOWN, [])


def test_s52_an_allocation_of_an_instance_on_another_host_is_stale():
    world = recorded(instance(**AWAY))
    assert (verdict_of(world), told(world)) == (Verdict.ALLOCATION_STALE_MOVE, ["allocation-stale-move"])


def test_s53_unreadable_allocations_are_reported_only_as_an_unavailable_source():
    world = without(recorded(instance(deleted=True)), PLACEMENT)
    assert told(world) == []
    assert [f.code for f in decided(world).findings] == ["source-unavailable"]


def test_s54_a_deleted_instance_without_allocations_is_not_in_the_ledger():
    world = snapshot(nova=state(instance(deleted=True)))
    assert (rows_of(world), told(world)) == ((), [])


def test_s55_the_first_audit_reports_the_leak_of_an_instance_deleted_a_day_ago():
    """A local delete: the row still names this host, and the restart of the host may have removed the guest."""
    deleted_at = NOW - datetime.timedelta(days=1)
    world = recorded(instance(deleted=True, vm_state="deleted", deleted_at=deleted_at))
    assert told(world) == ["allocation-leaked"]


def test_s56_the_findings_stay_the_same_if_a_consumer_generation_changes():
    """heal reads and decides again (tests/unit/healing); here the audit writes no allocation at all."""
    world = recorded(instance(deleted=True))
    moved = tuple(dataclasses.replace(a, consumer_generation=9) for a in allocations(I1, **A))
    assert told(world) == told(dataclasses.replace(world, placement=snapshot(placement=view(moved)).placement))
    assert decided(world).plan.allocations == ()


def test_s57_an_allocation_that_an_evacuation_left_behind_is_reported():
    gone = migration(kind="evacuation", status="done")
    world = recorded(instance(**AWAY), finished_evacuations=(gone,))
    assert told(world) == ["allocation-stale-move", "migration-finished-but-counted"]


def test_s58_an_allocation_of_an_evacuated_and_deleted_instance_is_leaked():
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
def test_a_wrong_allocation_is_tolerated_shortly_after_the_instance_changed(world):
    assert verdict_of(world) is Verdict.SETTLING
    later = dataclasses.replace(world.nova.value, now=NOW + datetime.timedelta(minutes=1))
    world = dataclasses.replace(world, nova=dataclasses.replace(world.nova, value=later))
    assert verdict_of(world) not in (Verdict.SETTLING, Verdict.AGREED)


def test_a_correct_allocation_is_accepted_right_after_a_change_of_the_instance():
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
def test_the_vgpus_of_an_instance_are_added_up_over_all_child_providers(held, expected, place):
    row = with_vgpu(*held)
    assert (row.promised, row.verdict, row.provider_key) == (2, expected, place)


def sharing(*held):
    nfs = SharingProvider(provider=root(uuid=uuid("nfs"), name="nfs"), allocations=on("nfs", DISK_GB=1))
    return view(*held, shared=(nfs,), shared_is_read=True)


def test_the_ledger_lists_a_leaked_allocation_on_a_sharing_provider():
    world = snapshot(nova=state(instance(deleted=True)), placement=sharing(allocations(I1, VCPU=1)))
    assert {(r.provider_key, r.recorded, r.verdict) for r in rows_of(world)} == {
        (ProviderKey("root", ""), 1, Verdict.ALLOCATION_LEAKED),
        (ProviderKey(SHARED, uuid("nfs")), 1, Verdict.ALLOCATION_LEAKED),
    }


@pytest.mark.parametrize("lost", [STATE, LIBVIRT])
def test_no_leak_is_reported_on_sharing_providers_if_nova_or_libvirt_is_unread(lost):
    world = without(snapshot(nova=state(instance(deleted=True)), placement=sharing()), lost)
    assert {row.verdict for row in rows_of(world)} <= {Verdict.UNKNOWN}


def test_a_disk_allocation_left_on_a_sharing_provider_by_a_resize_is_stale():
    """A confirmed resize: the migration's consumer still holds the disk."""
    moved = migration(uuid=I1, name="i2", status="confirmed")
    world = snapshot(nova=state(instance("i2", **AWAY), migrations=(moved,)), placement=sharing())
    assert verdict_of(world) is Verdict.ALLOCATION_STALE_MOVE
    incoming = migration(uuid=I1, name="i2", status="confirmed", **INCOMING)
    assert rows_of(snapshot(nova=state(instance("i2", **AWAY), migrations=(incoming,)), placement=sharing())) == ()


def test_the_finding_says_that_pcpu_is_allocated_instead_of_the_requested_vcpu():
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
        "PCPU": (f"no PCPU for instance {I1}; nova promised this instance 2 VCPU instead", "Placement records 2 PCPU"),
    }


def test_the_finding_says_that_vcpu_is_allocated_instead_of_the_requested_pcpu():
    dedicated = dataclasses.replace(FLAVOR_B, extra_specs=(("hw:cpu_policy", "dedicated"),))
    held = view(allocations(I1, VCPU=2, MEMORY_MB=256, DISK_GB=5))
    guest = host(domain(vcpus=2, memory_mib=256, pinned_cpus=(4, 5)), cpus=8)
    world = snapshot(nova=state(instance(flavor=dedicated)), libvirt=guest, placement=held)
    chosen = settings(cpu_shared_set=(0, 1, 2, 3), cpu_dedicated_set=(4, 5, 6, 7))
    said = {f.resource_class: f.actual for f in decided(world, chosen).findings if f.code == "allocation-differs"}
    instead = "Placement records nothing; Placement records other classes instead: 2 VCPU"
    assert said == {"PCPU": instead, "VCPU": "Placement records 2 VCPU"}


def test_an_allocation_made_by_cyborg_causes_no_finding():
    """If nova has an instance with the UUID of the consumer, the allocation is judged as that of the instance."""
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
