"""DISK_GB: facts in, claims and inventory out. Numbers in ids are scenarios."""

from __future__ import annotations

import dataclasses

import pytest

from agent.books.occupancy import occupied
from agent.model.claim import Cause, Claim, Consumer, Origin
from agent.model.host.facts import Disk as GuestDisk
from agent.model.host.storage import CephPool, ImageStore, StorageFacts, Volume, VolumeGroup
from agent.model.placement import ROOT, Inventory, Provider
from agent.model.settings import RatioPolicy
from agent.model.snapshot import CEPH, FILESYSTEM, IMAGES, LVM
from agent.model.units import GIB, MIB
from agent.resources.disk import Disk
from tests.rigs.facts import (
    INSTANCES,
    NODE,
    decided,
    domain,
    failed,
    filesystem,
    good,
    group,
    host,
    instance,
    inventory,
    lvm_settings,
    reserves,
    root,
    settings,
    snapshot,
    state,
    uuid,
    view,
    volume,
    wanted_root,
)


def disk(total, **changes):
    plain = Inventory(resource_class="DISK_GB", total=total, max_unit=total)
    return ((ROOT, dataclasses.replace(plain, **changes)),)


def vg0(size_bytes):
    made = VolumeGroup(name="vg0", uuid="u", size_bytes=size_bytes, free_bytes=0, extent_bytes=4194304)
    return StorageFacts(groups=(made,))


def ceph(cluster_bytes):
    pool = CephPool(name="vms", cluster_bytes=cluster_bytes, available_bytes=GIB, used_bytes=GIB)
    plain = snapshot(files=filesystem(200))
    return dataclasses.replace(plain, storage=(*plain.storage, good(CEPH, StorageFacts(ceph_pools=(pool,)))))


RBD = settings(images_type="rbd", images_rbd_pool="vms")
RBD_OTHER = settings(images_type="rbd", images_rbd_pool="other")


def with_cache(world, cache_bytes, path=INSTANCES):
    """Return the same world with base images of that size."""
    (place,) = filesystem(200).filesystems
    store = ImageStore(path=path, files=(), cache_path=f"{path}/_base", cache_bytes=cache_bytes, filesystem=place)
    return dataclasses.replace(world, storage=(*world.storage, good(IMAGES, StorageFacts(image_stores=(store,)))))


CACHED = settings(reserve_image_cache=True)

INVENTORY = {
    "the whole cluster": (ceph(100 * GIB + 1), RBD, disk(100)),
    "s94 a cluster of less than 1 GiB": (ceph(GIB - 1), RBD, ()),
    "cached images count only where the operator asks for it": (
        with_cache(snapshot(files=filesystem(200)), 8192 * MIB),
        settings(),
        disk(200),
    ),
    "the cache of another folder is not ours": (
        with_cache(snapshot(files=filesystem(200)), 8192 * MIB, "/srv/other"),
        CACHED,
        disk(200),
    ),
    "cached images beside a volume group count as in nova": (
        with_cache(snapshot(lvm=group(20)), GIB),
        lvm_settings(reserve_image_cache=True),
        disk(20, reserved=1),
    ),
    "s93": (snapshot(files=filesystem(200)), settings(), disk(200)),
    "s16 truncated": (snapshot(files=filesystem(99.7)), settings(), disk(99)),
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
def test_disk_gb_is_the_size_of_the_guest_disk_storage(world, chosen, expected):
    """The total of DISK_GB is the size of the guest disks' storage, for example of their volume group."""
    assert Disk().inventory(world, chosen) == expected


# An operator's own reserves are in MiB or bytes, DISK_GB in GiB.
RESERVED = {
    "reserve of a cluster": (
        ceph(100 * GIB),
        settings(images_type="rbd", images_rbd_pool="vms", reserved_host_disk_mib=1025),
        disk(100, reserved=2),
    ),
    "cached images of 8192 MiB": (
        with_cache(snapshot(files=filesystem(200)), 8192 * MIB),
        CACHED,
        disk(200, reserved=8),
    ),
    "cached images of 1025 MiB, rounded up": (
        with_cache(snapshot(files=filesystem(200)), 1025 * MIB),
        CACHED,
        disk(200, reserved=2),
    ),
    "reserve and cached images, each rounded up": (
        with_cache(snapshot(files=filesystem(200)), 1025 * MIB),
        settings(reserve_image_cache=True, reserved_host_disk_mib=1025),
        disk(200, reserved=4),
    ),
    "reserve": (snapshot(files=filesystem(200)), settings(reserved_host_disk_mib=8192), disk(200, reserved=8)),
    "reserve rounded up": (
        snapshot(files=filesystem(200)),
        settings(reserved_host_disk_mib=1025),
        disk(200, reserved=2),
    ),
}


@pytest.mark.parametrize(("world", "chosen", "expected"), RESERVED.values(), ids=RESERVED.keys())
def test_s96_each_part_of_reserved_disk_is_rounded_up(world, chosen, expected):
    """In `reserved` of DISK_GB, the operator's reserve and the cached images are each rounded up to whole GiB."""
    assert Disk().inventory(world, chosen) == expected


UNREAD_CACHE = {
    "the cache could not be measured": lambda world: with_cache(world, None),
    "the store could not be listed": lambda world: dataclasses.replace(
        world, storage=(*world.storage, good(IMAGES, StorageFacts()))
    ),
    "the files were not read": lambda world: dataclasses.replace(world, storage=(*world.storage, failed(IMAGES))),
}


@pytest.mark.parametrize("unread", UNREAD_CACHE.values(), ids=UNREAD_CACHE.keys())
def test_reserved_disk_stays_if_the_cache_size_is_unknown(unread):
    """With reserve_image_cache, the agent keeps `reserved` of DISK_GB if it cannot measure the cached images."""
    recorded = view(provider=root(inventory("DISK_GB", 200, reserved=40)))
    world = snapshot(files=filesystem(200), placement=recorded)
    assert reserves(decided(unread(world), CACHED))["DISK_GB"] == 40
    assert reserves(decided(unread(world), settings()))["DISK_GB"] == 0
    assert reserves(decided(with_cache(world, 0), CACHED))["DISK_GB"] == 0


def test_disk_gb_needs_only_the_storage_of_guest_disks():
    """The agent can update DISK_GB if it can read the storage of the guest disks, for example LVM."""
    assert Disk().needs(settings()) == {FILESYSTEM}
    assert Disk().needs(lvm_settings()) == {LVM}
    assert Disk().needs(RBD) == {CEPH}
    # The cached images only raise reserved, and reserved keeps its value while the images are not read.
    assert Disk().needs(CACHED) == {FILESYSTEM}
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
        "the file system of /var/lib/nova/instances was not measured",
    ),
    "another pool": (ceph(100 * GIB), RBD_OTHER, "pool other is not in Ceph's report"),
    "ceph was not read": (snapshot(), RBD, None),
    "the pool": (ceph(100 * GIB), RBD, None),
    "all there": (snapshot(), lvm_settings(), None),
    "not read at all is not this one's to say": (snapshot(lost=[LVM, FILESYSTEM]), lvm_settings(), None),
}


@pytest.mark.parametrize(("world", "chosen", "expected"), OBSTACLES.values(), ids=OBSTACLES.keys())
def test_the_agent_shows_which_storage_is_missing(world, chosen, expected):
    """If the configured volume group, file system or Ceph pool is not found, the agent's error contains its name."""
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


def test_each_use_of_a_volume_group_is_counted_separately():
    """The agent counts the volumes of guests, of Cinder and of deleted instances separately."""
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


def test_a_volume_of_a_guest_unknown_to_nova_uses_disk_gb():
    """If nova does not know a guest in libvirt, the guest's LVM volume still uses DISK_GB."""
    used = GuestDisk(target="vda", kind="block", source="/dev/vg0/by-hand")
    world = snapshot(libvirt=host(domain("stranger", disks=(used,))), lvm=group(20, BY_HAND))
    (claim,) = Disk().held(world, lvm_settings())
    assert (claim.consumer.key, claim.amount, claim.size_bytes) == (uuid("stranger"), 3, BY_HAND.extent_bytes)


@pytest.mark.parametrize(
    ("chosen", "name"),
    [(settings(volume_groups=("vg0",)), "vg0"), (lvm_settings(volume_groups=("vg0", "vg1")), "vg1")],
    ids=["files on a file system", "another group"],
)
def test_volumes_outside_the_guest_storage_are_not_counted(chosen, name):
    """An LVM volume in another volume group than the guest disks does not use any DISK_GB."""
    world = snapshot(lvm=group(20, volume("by-hand", 3, in_group=name), name=name))
    assert Disk().held(world, chosen) == ()


def test_a_root_disk_on_a_cinder_volume_needs_no_disk_gb():
    """An instance that boots from a Cinder volume needs no DISK_GB for its root disk."""
    taken = occupied(state(instance("i1"), instance("i2", boots_from_volume=True)), NODE, frozenset()).occupancies
    (claim,) = Disk().promised(taken, settings())
    assert (claim.consumer.key, claim.amount, claim.size_bytes) == (uuid("i1"), 1, None)


def disk_of(world, chosen):
    """Return DISK_GB of the wanted root: the inventory, or why it is frozen."""
    wanted = wanted_root(decided(world, chosen))
    frozen = {one.name: one.why for one in wanted.frozen}
    return wanted.inventory("DISK_GB"), frozen.get("DISK_GB")


SHARING = Provider(
    uuid=uuid("nfs"),
    name="nfs",
    parent_uuid=None,
    generation=1,
    inventories=(inventory("DISK_GB", 10000),),
    traits=frozenset({"MISC_SHARES_VIA_AGGREGATE"}),
    aggregates=frozenset({uuid("aggregate")}),
)


def test_s99_a_sharing_provider_leaves_local_disk_in_place():
    """If a sharing provider also offers DISK_GB to the host, the agent still publishes the local DISK_GB."""
    ours = root(aggregates=frozenset({uuid("aggregate")}))
    world = snapshot(placement=view(providers=(ours, SHARING)), files=filesystem(200))
    assert disk_of(world, settings()) == (inventory("DISK_GB", 200), None)


def test_memory_mb_is_published_without_ceph():
    """If Ceph cannot be read, the agent leaves DISK_GB as it is and still publishes MEMORY_MB."""
    world = ceph(100 * GIB)
    lost = dataclasses.replace(world, storage=(*world.storage[:-1], failed(CEPH)))
    assert disk_of(lost, RBD) == (None, "ceph could not be read")
    assert wanted_root(decided(lost, RBD)).inventory("MEMORY_MB") is not None
    assert disk_of(world, RBD) == (inventory("DISK_GB", 100), None)


RESERVED = view(provider=root(inventory("DISK_GB", 200, reserved=8)))


def unread(world):
    return dataclasses.replace(world, storage=(*world.storage, failed(IMAGES)))


@pytest.mark.parametrize(
    ("world", "chosen", "reserved"),
    [
        (unread(snapshot(placement=RESERVED, files=filesystem(200))), CACHED, 8),
        (snapshot(placement=RESERVED, files=filesystem(200)), CACHED, 8),
        (unread(snapshot(placement=RESERVED, files=filesystem(200))), settings(), 0),
        (with_cache(snapshot(placement=RESERVED, files=filesystem(200)), GIB), CACHED, 1),
        (
            unread(snapshot(placement=RESERVED, files=filesystem(200))),
            settings(reserve_image_cache=True, reserved_host_disk_mib=9 * 1024),
            9,
        ),
    ],
    ids=["not read", "no source at all", "not asked for", "read", "the operator's own reserve alone is more"],
)
def test_reserved_disk_is_kept_if_cached_images_are_unreadable(world, chosen, reserved):
    """With reserve_image_cache, the agent keeps `reserved` of DISK_GB if nova's cached images are unreadable."""
    assert disk_of(world, chosen)[0].reserved == reserved


def test_the_image_cache_is_a_separate_part_of_reserved():
    """For DISK_GB, the agent lists the operator's reserve and the cached images as separate parts of `reserved`."""
    world = with_cache(snapshot(files=filesystem(200)), 1025 * MIB)
    wanted = wanted_root(decided(world, settings(reserve_image_cache=True, reserved_host_disk_mib=1024)))
    (terms,) = (one for one in wanted.reserves if one.resource_class == "DISK_GB")
    assert terms.terms == (("reserved_host_disk_mb", 1), ("image-cache", 2))
