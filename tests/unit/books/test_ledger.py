"""The three books: which consumers each book has, which guests are foreign, and which changes alter the digest."""

from __future__ import annotations

import dataclasses

import pytest

from agent.books.ledger import books, digest, provider_key
from agent.model.claim import Cause
from agent.model.host.facts import Disk
from agent.model.nova import Flavor, StateKind
from agent.model.snapshot import LIBVIRT, PLACEMENT, STATE
from tests.rigs.facts import (
    FLAVOR_B,
    INCOMING,
    NODE,
    ROOT_UUID,
    allocations,
    domain,
    group,
    host,
    instance,
    lvm_settings,
    migration,
    settings,
    settled_world,
    snapshot,
    state,
    uuid,
    view,
    volume,
    without,
)

WORLD = snapshot(**settled_world())


def written(world, chosen=None, node=NODE):
    return books(world, chosen or settings(), node)


def lines(ledger):
    return {(c.consumer.key, c.cause, c.resource_class, c.amount) for c in ledger.claims}


I1, S = uuid("i1"), uuid("stranger")


def test_the_ledger_lists_nova_libvirt_and_placement_amounts():
    """The ledger shows an instance's VCPU by nova, by libvirt and by Placement side by side."""
    kept = written(WORLD)
    amounts = {("DISK_GB", 1), ("MEMORY_MB", 128), ("VCPU", 1)}
    assert lines(kept.promised) == {(I1, Cause.INSTANCE, name, amount) for name, amount in amounts}
    assert lines(kept.held) == {(I1, Cause.INSTANCE, "MEMORY_MB", 128), (I1, Cause.INSTANCE, "VCPU", 1)}
    assert lines(kept.recorded) == {(I1, Cause.RECORDED_ONLY, name, amount) for name, amount in amounts}
    assert kept.unmanaged.claims == ()


def test_every_ledger_amount_shows_its_origin():
    """The origin is, for example, "libvirt domain" or "placement allocations" with the instance's uuid."""
    kept = written(WORLD)
    by_book = [{str(c.source) for c in ledger.claims} for ledger in (kept.promised, kept.held, kept.recorded)]
    assert by_book == [
        {f"nova instances {I1}"},
        {f"libvirt domain {I1}"},
        {f"placement allocations {I1}"},
    ]


FOREIGN = {
    "no row": snapshot(libvirt=host(domain("stranger"))),
    "deleted": snapshot(nova=state(instance("stranger", deleted=True)), libvirt=host(domain("stranger"))),
    "lives elsewhere": snapshot(nova=state(instance("stranger", host="cmp2")), libvirt=host(domain("stranger"))),
}


@pytest.mark.parametrize("world", FOREIGN.values(), ids=FOREIGN.keys())
def test_a_guest_without_an_instance_here_is_unknown_to_nova(world):
    """A guest is unknown to nova if its instance is missing in nova, deleted, or on another host."""
    kept = written(world)
    expected = {(S, Cause.FOREIGN_GUEST, "MEMORY_MB", 128), (S, Cause.FOREIGN_GUEST, "VCPU", 1)}
    assert lines(kept.held) == lines(kept.unmanaged) == expected


NOT_FOREIGN = {
    "an instance of this host": WORLD,
    "of another node's name, but this host": snapshot(nova=state(instance(node="x")), libvirt=host(domain())),
    "on its way": snapshot(
        nova=state(instance(host="cmp2"), migrations=(migration(**INCOMING),)), libvirt=host(domain())
    ),
    "a row that does not parse": snapshot(
        nova=state(instance(flavor=None, problem="flavor is NULL")), libvirt=host(domain())
    ),
    "state not read": without(WORLD, STATE),
    "no cloud": snapshot(nova=state(kind=StateKind.NONE), libvirt=host(domain())),
}


@pytest.mark.parametrize("world", NOT_FOREIGN.values(), ids=NOT_FOREIGN.keys())
def test_only_a_guest_without_an_instance_here_is_unknown(world):
    """A guest is unknown to nova only if nova was read and has no instance for the guest on this host."""
    kept = written(world)
    assert {c.cause for c in kept.held.claims} == {Cause.INSTANCE}
    assert kept.unmanaged.claims == ()


def test_the_ledger_counts_the_disk_of_an_unknown_guest():
    """Nova does not know the guest; its LVM volume of 2.5 GiB counts as 3 DISK_GB."""
    used = Disk(target="vda", kind="block", source="/dev/vg0/by-hand")
    world = snapshot(libvirt=host(domain("stranger", disks=(used,))), lvm=group(20, volume("by-hand", 2.5)))
    kept = written(world, lvm_settings())
    assert (S, Cause.FOREIGN_GUEST, "DISK_GB", 3) in lines(kept.unmanaged)


def test_an_allocated_vcpu_is_not_listed_as_unallocated():
    """A guest unknown to nova has a VCPU allocation, so the agent lists only its MEMORY_MB as unallocated."""
    world = snapshot(libvirt=host(domain("stranger")), placement=view(allocations(S, VCPU=1)))
    kept = written(world)
    assert (S, Cause.FOREIGN_GUEST, "VCPU", 1) in lines(kept.held)
    assert lines(kept.unmanaged) == {(S, Cause.FOREIGN_GUEST, "MEMORY_MB", 128)}


@pytest.mark.parametrize(
    ("lost", "unknown"),
    [(STATE, "state_known"), (LIBVIRT, "host_known"), (PLACEMENT, "recorded_known")],
)
def test_the_ledger_has_no_amounts_of_an_unread_source(lost, unknown):
    """The ledger marks the amounts of nova, libvirt or Placement as unknown if this source could not be read."""
    kept = written(without(WORLD, lost))
    flags = {"state_known": True, "host_known": True, "recorded_known": True, unknown: False}
    assert {name: getattr(kept, name) for name in flags} == flags
    empty = {STATE: kept.promised, LIBVIRT: kept.held, PLACEMENT: kept.recorded}[lost]
    assert empty.claims == ()


def test_nova_amounts_are_unknown_without_a_node_name():
    """The agent does not know the host's compute node.

    Then it does not know which amounts nova promised to instances here.
    """
    kept = written(WORLD, node=None)
    assert kept.promised.claims == ()
    assert not kept.state_known


METADATA = Flavor(id=0, name="m1", vcpus=2, memory_mib=256, root_gib=5, ephemeral_gib=1, swap_mib=512)


def test_libvirt_domains_give_the_amounts_without_nova():
    """If the agent is configured without nova, it takes the expected usage from the libvirt domains."""
    guests = host(domain("i1"), domain("i2", nova_flavor=METADATA, managed_by_nova=True))
    kept = written(snapshot(nova=state(kind=StateKind.NONE), libvirt=guests))
    assert lines(kept.promised) == {
        (I1, Cause.INSTANCE, "MEMORY_MB", 128),
        (I1, Cause.INSTANCE, "VCPU", 1),
        (uuid("i2"), Cause.INSTANCE, "DISK_GB", 7),
        (uuid("i2"), Cause.INSTANCE, "MEMORY_MB", 256),
        (uuid("i2"), Cause.INSTANCE, "VCPU", 2),
    }


def test_instance_amounts_are_unknown_without_nova_and_libvirt():
    """The host has no nova, and libvirt cannot be read: the amounts of instances are unknown, not zero."""
    kept = written(snapshot(nova=state(kind=StateKind.NONE), libvirt=host(domain()), lost=[LIBVIRT]))
    assert not kept.state_known
    assert kept.promised.claims == ()


NOTICED = {
    "an instance came": {"nova": state(instance(), instance("i2"))},
    "an instance went": {"nova": state()},
    "an instance grew": {"nova": state(instance(flavor=FLAVOR_B))},
    "a guest came": {"libvirt": host(domain(), domain("i2"))},
    "a guest grew": {"libvirt": host(domain(vcpus=2))},
    "a volume by hand": {"lvm": group(20, volume("x", 1))},
}


@pytest.mark.parametrize("changes", NOTICED.values(), ids=NOTICED.keys())
def test_the_ledger_digest_changes_with_instances_and_guests(changes):
    """The digest of the agent's ledger changes if an instance, guest or LVM volume comes, goes or grows."""
    assert digest(written(snapshot(**settled_world(**changes)), lvm_settings())) != digest(
        written(WORLD, lvm_settings())
    )


def test_the_ledger_digest_ignores_placement_allocations():
    """The digest of the agent's ledger stays the same if an allocation moves from an instance to its migration."""
    nova = state(instance(task_state="migrating"), migrations=(migration(kind="live-migration"),))
    moved = snapshot(**settled_world(nova=nova))
    held_by_move = snapshot(**settled_world(nova=nova, placement=view(allocations(uuid("migration-1"), VCPU=1))))
    assert digest(written(moved)) == digest(written(held_by_move))
    assert written(moved).promised != written(held_by_move).promised


def test_root_and_child_providers_have_different_keys():
    """In the ledger, the host's root provider and a child provider have different keys."""
    assert provider_key(view(), ROOT_UUID) == ("root", "")
    assert provider_key(view(), uuid("child")) == ("provider", uuid("child"))


def test_an_allocation_is_listed_under_its_child_provider():
    """The agent lists a VGPU allocation under the child provider that has it in Placement, not under the root."""
    on_child = tuple(dataclasses.replace(a, provider_uuid=uuid("child")) for a in allocations(I1, VGPU=1))
    kept = written(snapshot(placement=view(on_child)))
    assert [c.provider_key for c in kept.recorded.claims] == [("provider", uuid("child"))]
