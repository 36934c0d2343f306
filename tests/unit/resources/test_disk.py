"""DISK_GB: facts in, claims and inventory out. Numbers in ids are rows of spec/scenarios."""

from __future__ import annotations

import dataclasses

import pytest

from agent.model.claim import Cause, Claim, Consumer, Origin
from agent.model.host import Disk as GuestDisk
from agent.model.placement import ROOT, Inventory
from agent.model.settings import RatioPolicy
from agent.model.snapshot import FILESYSTEM, LVM
from agent.model.storage import StorageFacts, Volume, VolumeGroup
from agent.model.units import GIB
from agent.resources.disk import Disk
from agent.stages.occupancy import occupied
from tests.rigs.facts import (
    NODE,
    domain,
    filesystem,
    group,
    host,
    instance,
    inventory,
    lvm_settings,
    root,
    settings,
    snapshot,
    state,
    uuid,
    view,
    volume,
)


def disk(total, **changes):
    plain = Inventory(resource_class="DISK_GB", total=total, max_unit=total)
    return ((ROOT, dataclasses.replace(plain, **changes)),)


def vg0(size_bytes):
    made = VolumeGroup(name="vg0", uuid="u", size_bytes=size_bytes, free_bytes=0, extent_bytes=4194304)
    return StorageFacts(groups=(made,))


INVENTORY = {
    "s93": (snapshot(files=filesystem(200)), settings(), disk(200)),
    "s16 truncated": (snapshot(files=filesystem(99.7)), settings(), disk(99)),
    "s96 reserve": (snapshot(files=filesystem(200)), settings(reserved_host_disk_mib=8192), disk(200, reserved=8)),
    "s96 reserve rounded up": (
        snapshot(files=filesystem(200)),
        settings(reserved_host_disk_mib=1025),
        disk(200, reserved=2),
    ),
    "s12 half a GiB is one": (snapshot(), settings(reserved_host_disk_mib=512), disk(6, reserved=1)),
    "s3 more reserved than there is": (
        snapshot(files=filesystem(10)),
        settings(reserved_host_disk_mib=11 * 1024),
        disk(10, reserved=10),
    ),
    "s91 a volume group of 1 GiB": (snapshot(lvm=vg0(1073741824)), lvm_settings(), disk(1)),
    "a volume group one byte short": (snapshot(lvm=vg0(2147483647)), lvm_settings(), disk(1)),
    "s94 less than 1 GiB": (snapshot(lvm=vg0(1073741823)), lvm_settings(), ()),
    "the file system does not count beside lvm": (
        snapshot(files=filesystem(200), lvm=group(20)),
        lvm_settings(),
        disk(20),
    ),
    "other groups never count": (
        snapshot(lvm=StorageFacts(groups=(*group(20).groups, *group(99, name="vg1").groups))),
        lvm_settings(volume_groups=("vg0", "vg1")),
        disk(20),
    ),
    "s97 a ratio set through the API stays": (
        snapshot(placement=view(provider=root(inventory("DISK_GB", 6, allocation_ratio=1.5)))),
        settings(),
        disk(6, allocation_ratio=1.5),
    ),
    "s98 a new provider": (
        snapshot(placement=view(providers=())),
        settings(disk_ratio=RatioPolicy(configured=None, initial=1.1)),
        disk(6, allocation_ratio=1.1),
    ),
}


@pytest.mark.parametrize(("world", "chosen", "expected"), INVENTORY.values(), ids=INVENTORY.keys())
def test_inventory(world, chosen, expected):
    assert Disk().inventory(world, chosen) == expected


def test_rests_on_what_it_counts():
    assert Disk().needs(settings()) == {FILESYSTEM}
    assert Disk().needs(lvm_settings()) == {LVM}
    # A volume group that is only audited beside the file system freezes nothing.
    assert Disk().needs(settings(volume_groups=("vg0",))) == {FILESYSTEM}


OBSTACLES = {
    "lvm2 answered, and the group is not there": (
        snapshot(lvm=StorageFacts()),
        lvm_settings(),
        "volume group vg0 is not in lvm2's report",
    ),
    "statvfs of another path": (
        snapshot(files=StorageFacts()),
        settings(),
        "/var/lib/nova/instances was not measured",
    ),
    "rbd": (
        snapshot(),
        settings(images_type="rbd"),
        "[libvirt] images_type = rbd: the cluster's size is not read by this version",
    ),
    "all there": (snapshot(), lvm_settings(), None),
    "not read at all is not this one's to say": (snapshot(lost=[LVM, FILESYSTEM]), lvm_settings(), None),
}


@pytest.mark.parametrize(("world", "chosen", "expected"), OBSTACLES.values(), ids=OBSTACLES.keys())
def test_obstacle(world, chosen, expected):
    assert Disk().obstacle(world, chosen) == expected


BY_HAND = volume("by-hand", 2.5)
CINDER = volume(f"volume-{uuid('c')}", 1)
LEFT = volume(f"{uuid('gone')}_disk", 1)
MINE = volume(f"{uuid('i1')}_disk", 1)
SWAP = volume(f"{uuid('i1')}_disk.swap", 0.5)


def volume_claim(made: Volume, cause: Cause, amount: int) -> Claim:
    return Claim(
        consumer=Consumer(key=made.path, kind="volume", name=made.path),
        cause=cause,
        resource_class="DISK_GB",
        amount=amount,
        provider_key=ROOT,
        source=Origin("lvm", made.path),
        size_bytes=made.extent_bytes,
    )


def test_held_by_owner_with_exact_bytes():
    world = snapshot(nova=state(instance()), libvirt=host(domain()), lvm=group(20, BY_HAND, CINDER, LEFT, MINE, SWAP))
    guests = Claim(
        consumer=Consumer(key=uuid("i1"), kind="domain", name="i1", uuid=uuid("i1")),
        cause=Cause.INSTANCE,
        resource_class="DISK_GB",
        amount=2,
        provider_key=ROOT,
        source=Origin("lvm", f"vg0/{uuid('i1')}_disk vg0/{uuid('i1')}_disk.swap"),
        size_bytes=GIB + GIB // 2,
    )
    assert set(Disk().held(world, lvm_settings())) == {
        guests,
        volume_claim(BY_HAND, Cause.FOREIGN_VOLUME, 3),
        volume_claim(CINDER, Cause.BLOCK_STORAGE, 1),
        volume_claim(LEFT, Cause.VOLUME_ORPHANED, 1),
    }


def test_the_disk_of_a_guest_that_nobody_knows_is_the_guest_s():
    used = GuestDisk(target="vda", kind="block", source="/dev/vg0/by-hand")
    world = snapshot(libvirt=host(domain("stranger", disks=(used,))), lvm=group(20, BY_HAND))
    (claim,) = Disk().held(world, lvm_settings())
    assert (claim.consumer.key, claim.amount, claim.size_bytes) == (uuid("stranger"), 3, BY_HAND.extent_bytes)


@pytest.mark.parametrize(
    ("chosen", "name"),
    [(settings(volume_groups=("vg0",)), "vg0"), (lvm_settings(volume_groups=("vg0", "vg1")), "vg1")],
    ids=["files on a file system", "another group"],
)
def test_volumes_outside_what_disk_gb_counts_hold_nothing_of_it(chosen, name):
    world = snapshot(lvm=group(20, volume("by-hand", 3, in_group=name), name=name))
    assert Disk().held(world, chosen) == ()


def test_promised_is_the_flavor_s():
    taken = occupied(state(instance("i1"), instance("i2", boots_from_volume=True)), NODE, frozenset()).occupancies
    (claim,) = Disk().promised(taken, settings())
    assert (claim.consumer.key, claim.amount, claim.size_bytes) == (uuid("i1"), 1, None)
