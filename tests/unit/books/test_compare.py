"""The comparison table and allocation clean-up: scenarios 43 to 58, one verdict each."""

from __future__ import annotations

import dataclasses

import pytest

from agent.books.compare import compare
from agent.books.ledger import books, promise_of
from agent.model.nova import StateKind
from agent.model.report import Verdict
from agent.model.snapshot import LIBVIRT, PLACEMENT, STATE
from tests.rigs.facts import (
    FLAVOR_A,
    FLAVOR_B,
    INCOMING,
    NODE,
    allocations,
    consumer,
    domain,
    host,
    instance,
    lvm_settings,
    migration,
    settings,
    snapshot,
    state,
    uuid,
    view,
)

I1 = uuid("i1")
A_HELD = allocations(I1, VCPU=1, MEMORY_MB=128, DISK_GB=1)
A_RECORD = consumer("i1", here={"VCPU": 1, "MEMORY_MB": 128, "DISK_GB": 1})


def verdicts(world, decided=None):
    """Return verdicts by (consumer, class)."""
    decided = decided or settings()
    kept = books(world, decided, NODE)
    return {(r.key, r.resource_class): r.verdict for r in compare(world, kept, promise_of(world, NODE))}


def only(world):
    """Return the one verdict that all rows share."""
    (verdict,) = set(verdicts(world).values())
    return verdict


TABLE = {
    "promised, held, recorded equal": (
        snapshot(nova=state(instance()), libvirt=host(domain()), placement=view(A_HELD)),
        Verdict.AGREED,
    ),
    "promised, held, not recorded": (
        snapshot(nova=state(instance()), libvirt=host(domain())),
        Verdict.ALLOCATION_MISSING,
    ),
    "promised, not held, recorded": (
        snapshot(nova=state(instance()), placement=view(A_HELD)),
        Verdict.GUEST_MISSING,
    ),
    "the same while a task is set": (
        snapshot(nova=state(instance(task_state="spawning")), placement=view(A_HELD)),
        Verdict.SETTLING,
    ),
    "the same for what comes in": (
        snapshot(
            nova=state(
                instance(task_state="resize_prep", new_flavor=FLAVOR_A, host="cmp2", node="x"),
                migrations=(migration(**INCOMING),),
            ),
            placement=view(A_HELD),
        ),
        Verdict.SETTLING,
    ),
    "promised alone": (snapshot(nova=state(instance())), Verdict.GUEST_MISSING),
    "held and recorded": (snapshot(libvirt=host(domain()), placement=view(A_HELD)), Verdict.GUEST_UNKNOWN),
    "held alone": (snapshot(libvirt=host(domain())), Verdict.GUEST_UNKNOWN),
    "s45 recorded, its migration in progress": (
        snapshot(
            nova=state(migrations=(migration(),)),
            placement=view(allocations(uuid("migration-1"), VCPU=1)),
        ),
        Verdict.SETTLING,
    ),
    "recorded by a migration that is confirmed": (
        snapshot(
            nova=state(instance(host="cmp2", node="x"), migrations=(migration(status="confirmed"),)),
            placement=view(allocations(uuid("migration-1"), VCPU=1)),
        ),
        Verdict.ALLOCATION_STALE_MOVE,
    ),
    "s46 recorded, deleted": (
        snapshot(nova=state(instance(deleted=True, vm_state="deleted")), placement=view(A_HELD)),
        Verdict.ALLOCATION_LEAKED,
    ),
    "s47 recorded, deleted and hidden": (
        snapshot(nova=state(instance(deleted=True, hidden=True)), placement=view(A_HELD)),
        Verdict.SETTLING,
    ),
    "s48 recorded, no row": (snapshot(placement=view(A_HELD, consumers=(A_RECORD,))), Verdict.CONSUMER_UNKNOWN),
    "recorded, no row, its record not read yet": (snapshot(placement=view(A_HELD)), Verdict.UNKNOWN),
    "recorded, no row, another service's by its type": (
        snapshot(placement=view(A_HELD, consumers=(dataclasses.replace(A_RECORD, consumer_type="CYBORG_ARQ"),))),
        Verdict.OTHER_SERVICE,
    ),
    "s49 recorded, no host yet": (
        snapshot(nova=state(instance(host=None, node=None, vm_state="building")), placement=view(A_HELD)),
        Verdict.SETTLING,
    ),
    "s50 recorded, ours, not counted, task set": (
        snapshot(nova=state(instance(vm_state="shelved_offloaded", task_state="unshelving")), placement=view(A_HELD)),
        Verdict.SETTLING,
    ),
    "s52 recorded, lives elsewhere": (
        snapshot(nova=state(instance(host="cmp2", node="x")), placement=view(A_HELD)),
        Verdict.ALLOCATION_STALE_MOVE,
    ),
    "s52 recorded, lives elsewhere, on its way": (
        snapshot(nova=state(instance(host="cmp2", node="x"), migrations=(migration(),)), placement=view(A_HELD)),
        Verdict.SETTLING,
    ),
    "shelved-offloaded, allocation left": (
        snapshot(nova=state(instance(host=None, node=None, vm_state="shelved_offloaded")), placement=view(A_HELD)),
        Verdict.ALLOCATION_STALE_MOVE,
    ),
    "a soft-deleted instance is a living one": (
        snapshot(nova=state(instance(vm_state="soft-delete")), libvirt=host(domain()), placement=view(A_HELD)),
        Verdict.AGREED,
    ),
    "a row that does not parse makes its consumer unknown": (
        snapshot(
            nova=state(instance(flavor=None, problem="flavor is NULL")), libvirt=host(domain()), placement=view(A_HELD)
        ),
        Verdict.UNKNOWN,
    ),
    # The agent knows no disk of a guest without metadata, so this allocation has no disk either.
    "without a cloud libvirt is the promise": (
        snapshot(
            nova=state(kind=StateKind.NONE),
            libvirt=host(domain()),
            placement=view(allocations(I1, VCPU=1, MEMORY_MB=128)),
        ),
        Verdict.AGREED,
    ),
}


@pytest.mark.parametrize(("world", "expected"), TABLE.values(), ids=TABLE.keys())
def test_nova_libvirt_and_placement_amounts_are_compared(world, expected):
    """The agent compares the amounts and decides, for example, whether an allocation is missing or stale."""
    assert only(world) is expected


def test_each_resource_class_is_compared_on_its_own():
    """An instance has a wrong VCPU and a correct MEMORY_MB allocation; the agent calls only VCPU wrong."""
    world = snapshot(
        nova=state(instance()),
        libvirt=host(domain()),
        placement=view(allocations(I1, VCPU=3, MEMORY_MB=128, DISK_GB=1)),
    )
    assert verdicts(world)[I1, "VCPU"] is Verdict.ALLOCATION_DIFFERS
    assert verdicts(world)[I1, "MEMORY_MB"] is Verdict.AGREED


def test_disk_gb_of_a_volume_backed_instance_is_wrong():
    """An instance boots from a volume but has a DISK_GB allocation in Placement; the agent calls this wrong."""
    world = snapshot(nova=state(instance(boots_from_volume=True)), libvirt=host(domain()), placement=view(A_HELD))
    assert verdicts(world)[I1, "DISK_GB"] is Verdict.ALLOCATION_DIFFERS


def test_an_unrequested_vgpu_allocation_is_unknown():
    """An instance has a VGPU allocation that its flavor does not request; the agent marks it as unknown."""
    world = snapshot(
        nova=state(instance()),
        libvirt=host(domain()),
        placement=view(allocations(I1, VCPU=1, MEMORY_MB=128, DISK_GB=1, VGPU=1)),
    )
    assert verdicts(world)[I1, "VGPU"] is Verdict.UNKNOWN


@pytest.mark.parametrize("lost", [STATE, LIBVIRT, PLACEMENT])
def test_an_allocation_is_called_wrong_only_with_all_sources(lost):
    """The agent calls an allocation wrong only if nova, libvirt and Placement were all read."""
    world = snapshot(
        nova=state(instance(), instance("leaked", deleted=True)),
        libvirt=host(domain()),
        placement=view(A_HELD, allocations(uuid("leaked"), VCPU=1)),
        lost=[lost],
    )
    assert set(verdicts(world).values()) <= {Verdict.AGREED, Verdict.UNKNOWN, Verdict.SETTLING}


def test_a_guest_left_on_the_source_host_is_reported():
    """A guest left on the source host is reported as unknown, but only after the migration has ended."""
    world = snapshot(
        nova=state(
            instance(host="cmp2", node="x", task_state="migrating", flavor=FLAVOR_B),
            migrations=(migration(kind="live-migration", status="completed"),),
        ),
        libvirt=host(domain()),
        placement=view(),
    )
    # The migration is over and the guest is still defined here: the audit reports the guest.
    assert only(world) is Verdict.GUEST_UNKNOWN
    during = snapshot(
        nova=state(
            instance(host="cmp2", node="x", task_state=None),
            migrations=(migration(kind="live-migration", status="post-migrating"),),
        ),
        libvirt=host(domain()),
        placement=view(),
    )
    assert only(during) is Verdict.SETTLING


def test_an_lvm_volume_made_by_hand_is_listed_as_unmanaged():
    """An operator made a volume in the volume group of the guests' disks.

    The comparison lists its 3 GiB as unmanaged.
    """
    from tests.rigs.facts import group, volume

    world = snapshot(lvm=group(10, volume("by-hand", 3)))
    assert verdicts(world, lvm_settings()) == {("vg0/by-hand", "DISK_GB"): Verdict.UNMANAGED}


def shared_world(*records):
    """Return a host in an aggregate; i1 holds CPU and memory here, and a sharing provider may serve its disk."""
    from tests.rigs.facts import root

    held = allocations(I1, VCPU=1, MEMORY_MB=128)
    return snapshot(
        nova=state(instance()),
        libvirt=host(domain()),
        placement=view(held, provider=root(aggregates=frozenset({uuid("aggregate")})), consumers=records),
    )


def record_of(**elsewhere):
    from agent.model.placement import Allocation, ConsumerRecord

    there = tuple(
        Allocation(
            consumer_uuid=I1, consumer_generation=1, provider_uuid=uuid("nfs"), resource_class=name, amount=amount
        )
        for name, amount in elsewhere.items()
    )
    here = allocations(I1, VCPU=1, MEMORY_MB=128)
    return ConsumerRecord(consumer_uuid=I1, generation=1, project_id="p", user_id="u", allocations=(*here, *there))


@pytest.mark.parametrize(
    ("records", "expected"),
    [
        ((), Verdict.UNKNOWN),
        ((record_of(DISK_GB=1),), Verdict.AGREED),
        ((record_of(DISK_GB=7),), Verdict.ALLOCATION_DIFFERS),
        ((record_of(),), Verdict.ALLOCATION_DIFFERS),
    ],
    ids=["record not read yet", "served by a sharing provider", "another amount", "served by nobody"],
)
def test_disk_gb_on_a_sharing_provider_is_compared(records, expected):
    """The agent compares an instance's DISK_GB allocation on shared storage with the instance's flavor."""
    assert verdicts(shared_world(*records))[I1, "DISK_GB"] is expected


def test_amounts_under_an_old_node_name_are_unknown():
    """Nova has an instance under an old node name of this host; the agent marks its amounts as unknown."""
    world = snapshot(nova=state(instance(node="old-name")), libvirt=host(domain()), placement=view(A_HELD))
    assert only(world) is Verdict.UNKNOWN
