"""Measure the one store that DISK_GB counts: the volume group, Ceph pool or file system with the guests' disks.

The free space may differ from the size minus the used space. A file system reserves some space for root. For Ceph, the
agent measures as nova does: the size is that of the whole cluster, copies included, but the used space is that of the
pool. Each host that uses the cluster reports the same size.
"""

from __future__ import annotations

from dataclasses import dataclass

from agent.model.host.storage import CephPool, FileSystem, VolumeGroup
from agent.model.settings import Settings
from agent.model.snapshot import CEPH, FILESYSTEM, LVM, Snapshot
from agent.resources.store_doubt import store_doubt


@dataclass(frozen=True, slots=True, kw_only=True)
class CountedStore:
    """The sizes of the storage for instances' disks, in bytes. ``available_bytes`` is what guests may still take."""

    size_bytes: int
    used_bytes: int
    available_bytes: int


def counted_source(settings: Settings) -> str:
    """Return the name of the source that measures the storage of instances' disks (``[libvirt] images_type``)."""
    if settings.images_type == "rbd":
        return CEPH
    return LVM if settings.disk_group else FILESYSTEM


def counted_store(snapshot: Snapshot, settings: Settings) -> CountedStore | None:
    """Return the sizes of the storage for instances' disks; None if the sizes are unknown or doubtful.

    For example, the sizes are doubtful if the right file system may not be mounted (store_doubt.py).
    """
    if store_doubt(snapshot, settings) is not None:
        return None
    source = counted_source(settings)
    if source == CEPH:
        return next((_pool(p) for p in snapshot.stored.ceph_pools if p.name == settings.images_rbd_pool), None)
    if source == LVM:
        return next((_group(g) for g in snapshot.stored.groups if g.name == settings.disk_group), None)
    return next((_filesystem(fs) for fs in snapshot.stored.filesystems if fs.path == settings.instances_path), None)


def _pool(pool: CephPool) -> CountedStore:
    return CountedStore(size_bytes=pool.cluster_bytes, used_bytes=pool.used_bytes, available_bytes=pool.available_bytes)


def _group(group: VolumeGroup) -> CountedStore:
    used = group.size_bytes - group.free_bytes
    return CountedStore(size_bytes=group.size_bytes, used_bytes=used, available_bytes=group.free_bytes)


def _filesystem(found: FileSystem) -> CountedStore:
    used = found.size_bytes - found.free_bytes
    return CountedStore(size_bytes=found.size_bytes, used_bytes=used, available_bytes=found.available_bytes)
