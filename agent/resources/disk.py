"""Decide DISK_GB from the store that contains the guests' disks: a volume group, a file system or a Ceph cluster.

``[libvirt] images_type`` selects the store. If the store is a volume group, the agent counts the group's volumes of
every owner, whichever program created them (story 2 of the README). The agent audits and reports other volume groups,
but they never change DISK_GB.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from agent.model.claim import Cause, Claim, Consumer, Origin
from agent.model.occupancy import Occupancy
from agent.model.placement import ROOT, Inventory, ProviderKey
from agent.model.settings import Settings
from agent.model.snapshot import CEPH, FILESYSTEM, IMAGE_CACHE, LVM, Snapshot
from agent.model.units import bytes_to_gib_ceil, bytes_to_gib_floor, mib_to_gib_ceil
from agent.resources.base import Resource, on_root, promised_of, ratio, whole
from agent.resources.counted_store import counted_source, counted_store
from agent.resources.guests import guests_of
from agent.resources.store_doubt import store_doubt
from agent.resources.volumes import OwnedVolume, OwnerKind, owners

_UNMANAGED = {
    OwnerKind.FOREIGN: Cause.FOREIGN_VOLUME,
    OwnerKind.ORPHANED: Cause.VOLUME_ORPHANED,
    OwnerKind.BLOCK_STORAGE: Cause.BLOCK_STORAGE,
    # A thin pool with an instance's disk. The bytes of the pool that guests can still get are not counted.
    OwnerKind.THIN_POOL: Cause.THIN_POOL,
}


class Disk(Resource):
    """The resource class DISK_GB of the root provider: local disk."""

    name = "disk"
    classes = frozenset({"DISK_GB"})

    def needs(self, settings: Settings) -> frozenset[str]:
        """Return the source that measures the store of DISK_GB: lvm2, statvfs or Ceph."""
        return frozenset({counted_source(settings)})

    def obstacle(self, snapshot: Snapshot, settings: Settings) -> str | None:
        """Return why the size of the disk store is unknown, None if it is known.

        There are two reasons: the store was not listed or measured, or another store may have taken its place.
        """
        if (doubt := store_doubt(snapshot, settings)) is not None:
            return f"{doubt.why} (finding store-changed)"
        counted = counted_source(settings)
        if not snapshot.fresh(counted) or _size_bytes(snapshot, settings) is not None:
            return None
        return {
            LVM: f"volume group {settings.disk_group} is not in lvm2's report",
            CEPH: f"pool {settings.images_rbd_pool} is not in Ceph's report",
            FILESYSTEM: f"the file system of {settings.instances_path} was not measured",
        }[counted]

    def inventory(self, snapshot: Snapshot, settings: Settings) -> tuple[tuple[ProviderKey, Inventory], ...]:
        """Return the inventory of DISK_GB.

        The total is the size of the disk store in whole GiB. ``reserved`` is what the operator reserves
        (``own_reserve``).
        """
        total = bytes_to_gib_floor(_size_bytes(snapshot, settings) or 0)
        own = self.own_reserve(snapshot, settings)
        return on_root(whole("DISK_GB", total, own, ratio(settings.disk_ratio, snapshot, "DISK_GB")))

    def own_reserve(self, snapshot: Snapshot, settings: Settings) -> tuple[tuple[str, int], ...]:
        """Return the parts of ``reserved``, each rounded up to GiB: ``reserved_host_disk_mb`` and the image cache.

        As in nova, ``reserve_disk_resource_for_image_cache`` alone decides whether the image cache counts.
        ``images_type`` makes no difference. If the cache could not be measured, its part is 0 here, but the agent then
        does not lower ``reserved`` (``reserve_needs``).
        """
        own = ("reserved_host_disk_mb", mib_to_gib_ceil(settings.reserved_host_disk_mib))
        if not settings.reserve_image_cache:
            return (own,)
        stores = (store for store in snapshot.stored.image_stores if store.path == settings.instances_path)
        return own, ("image-cache", bytes_to_gib_ceil(sum(store.cache_bytes or 0 for store in stores)))

    def reserve_needs(self, settings: Settings) -> frozenset[str]:
        """Return which sources the agent must read to compute the reserved amount.

        These are LVM if DISK_GB counts a volume group, and IMAGE_CACHE if the configuration reserves the image cache.
        """
        wanted = {LVM: settings.disk_group is not None, IMAGE_CACHE: settings.reserve_image_cache}
        return frozenset(source for source, counts in wanted.items() if counts)

    def held(self, snapshot: Snapshot, settings: Settings) -> tuple[Claim, ...]:
        """Return what guests and unmanaged volumes take in the volume group that DISK_GB counts, one Claim for each.

        A Claim has the exact bytes, and the amount in GiB, rounded up. If DISK_GB counts no volume group, return ().
        """
        if settings.disk_group is None:
            return ()
        owned = [v for v in owners(snapshot, guests_of(snapshot)) if v.volume.group == settings.disk_group]
        unmanaged = (v for v in owned if v.kind in _UNMANAGED and v.bytes_taken > v.free_bytes)
        return _guest_claims(owned, snapshot) + tuple(map(unmanaged_claim, unmanaged))

    def promised(self, occupancies: Iterable[Occupancy], settings: Settings) -> tuple[Claim, ...]:  # noqa: ARG002
        """Return the disk sizes that the flavors request. A root disk on a block storage volume counts as 0."""
        return promised_of("DISK_GB", occupancies)


def _size_bytes(snapshot: Snapshot, settings: Settings) -> int | None:
    store = counted_store(snapshot, settings)
    return store.size_bytes if store else None


def _guest_claims(owned: Iterable[OwnedVolume], snapshot: Snapshot) -> tuple[Claim, ...]:
    taken: dict[str, int] = defaultdict(int)
    names: dict[str, list[str]] = defaultdict(list)
    for volume in owned:
        if volume.kind in (OwnerKind.INSTANCE, OwnerKind.DOMAIN) and volume.owner_uuid:
            taken[volume.owner_uuid] += volume.bytes_taken
            names[volume.owner_uuid].append(volume.volume.path)
    guests = {d.uuid: d.name for d in snapshot.host.value.domains} if snapshot.host.value else {}
    return tuple(
        Claim(
            consumer=Consumer(key=uuid, kind="domain", name=guests.get(uuid, ""), uuid=uuid),
            cause=Cause.INSTANCE,
            resource_class="DISK_GB",
            amount=bytes_to_gib_ceil(size_bytes),
            provider_key=ROOT,
            source=Origin("lvm", " ".join(sorted(names[uuid]))),
            size_bytes=size_bytes,
        )
        for uuid, size_bytes in sorted(taken.items())
        if size_bytes
    )


def unmanaged_claim(owned: OwnedVolume) -> Claim:
    """Return the claim of an unmanaged volume.

    The claim of a thin pool leaves out the pool's free space, because guests can still get this space.
    """
    path, size_bytes = owned.volume.path, owned.bytes_taken - owned.free_bytes
    return Claim(
        consumer=Consumer(key=path, kind="volume", name=path),
        cause=_UNMANAGED[owned.kind],
        resource_class="DISK_GB",
        amount=bytes_to_gib_ceil(size_bytes),
        provider_key=ROOT,
        source=Origin("lvm", path),
        size_bytes=size_bytes,
    )
