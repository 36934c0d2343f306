"""The one store that DISK_GB counts: the volume group, the Ceph pool or the file system that holds guests' disks.

What a newcomer would get wrong: what is free is not the size less what is used. A file
system keeps some for root, and of Ceph the size is the whole cluster's, copies and
all, while a pool has its own use: so nova reports it, and each of its hosts says the same.
"""

from __future__ import annotations

from dataclasses import dataclass

from agent.model.host.storage import CephPool, FileSystem, VolumeGroup
from agent.model.settings import Settings
from agent.model.snapshot import CEPH, FILESYSTEM, LVM, Snapshot
from agent.resources.store_doubt import store_doubt


@dataclass(frozen=True, slots=True, kw_only=True)
class CountedStore:
    """hypervisor-audit 3.1, in bytes; ``available_bytes`` is what guests may still take."""

    size_bytes: int
    used_bytes: int
    available_bytes: int


def counted_source(settings: Settings) -> str:
    """The source that measures it, by ``[libvirt] images_type``."""
    if settings.images_type == "rbd":
        return CEPH
    return LVM if settings.disk_group else FILESYSTEM


def counted_store(snapshot: Snapshot, settings: Settings) -> CountedStore | None:
    """The store as it was measured; None where it was not read, is not in its source's answer, or is another one."""
    if store_doubt(snapshot, settings) is not None:
        return None
    source = counted_source(settings)
    if source == CEPH:
        return next((_pool(p) for p in snapshot.ceph_pools if p.name == settings.images_rbd_pool), None)
    if source == LVM:
        return next((_group(g) for g in snapshot.groups if g.name == settings.disk_group), None)
    return next((_filesystem(fs) for fs in snapshot.filesystems if fs.path == settings.instances_path), None)


def _pool(pool: CephPool) -> CountedStore:
    return CountedStore(size_bytes=pool.cluster_bytes, used_bytes=pool.used_bytes, available_bytes=pool.available_bytes)


def _group(group: VolumeGroup) -> CountedStore:
    used = group.size_bytes - group.free_bytes
    return CountedStore(size_bytes=group.size_bytes, used_bytes=used, available_bytes=group.free_bytes)


def _filesystem(found: FileSystem) -> CountedStore:
    used = found.size_bytes - found.free_bytes
    return CountedStore(size_bytes=found.size_bytes, used_bytes=used, available_bytes=found.available_bytes)
