"""What the storage of the host says: volume groups, their volumes, file systems. All sizes in bytes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


@dataclass(frozen=True, slots=True, kw_only=True)
class VolumeGroup:
    """An LVM volume group; ``missing_pvs`` counts physical volumes that LVM cannot find."""

    name: str
    uuid: str
    size_bytes: int
    free_bytes: int
    extent_bytes: int
    missing_pvs: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Volume:
    """A logical volume, hidden ones included (their name as LVM gives it, without brackets).

    ``size_bytes`` is the virtual size; ``extent_bytes`` what it takes from the
    group itself, counted once on the physical side (0 for a thin volume, a
    cached view, a raid or mirror whose legs are counted). ``pool`` is the thin or
    VDO pool that holds its extents, ``origin`` what it is a snapshot of, ``parent``
    the volume that a hidden one is a part of: names within the group.
    """

    group: str
    name: str
    uuid: str
    size_bytes: int
    extent_bytes: int
    pool: str | None = None
    origin: str | None = None
    parent: str | None = None
    role: str = ""
    hidden: bool = False
    tags: tuple[str, ...] = ()
    segment_type: str = ""

    @property
    def path(self) -> str:
        """``VG/LV``, the way lvm2 names it."""
        return f"{self.group}/{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ThinPool:
    """A thin pool: what it can give out and how full it is.

    ``size_bytes`` is the room for data. The percentages are None where lvm2 cannot
    say (the pool is not active here). ``mapped`` has (name, bytes) of each thin
    volume of which it says how much is written; snapshots share blocks, so their
    sum may be more than the pool has given out.
    """

    group: str
    name: str
    size_bytes: int
    metadata_bytes: int
    data_percent: float | None
    metadata_percent: float | None
    mapped: tuple[tuple[str, int], ...] = ()

    @property
    def path(self) -> str:
        """``VG/LV``."""
        return f"{self.group}/{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class FileSystemIdentity:
    """Which file system a path is on. ``kind`` is its type, ``device`` what is mounted (/dev/vdb, server:/export).

    ``inner`` is the path within the file system: a bind mount changes the mount point and not this. ``uuid`` is of a
    file system on a disk, None of any other and where the host does not say.
    """

    mount_point: str
    kind: str
    device: str
    inner: str
    uuid: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FileSystem:
    """statvfs of one path: size, free (root's reserve included) and available, in bytes.

    ``identity`` is None where the kernel's list of mounts does not have it.
    """

    path: str
    size_bytes: int
    free_bytes: int
    available_bytes: int
    identity: FileSystemIdentity | None = None


class GuestFile(NamedTuple):
    """A file that a domain names as its disk; ``format`` by the domain's XML, never by what the file holds.

    A guest writes what it likes into a raw disk, a qcow2 header with any size too.
    A tuple, since each audit compares all of them with those of the last.
    """

    path: str
    format: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskFile:
    """A file that is a guest's disk: what the guest may write into it, and what it takes now.

    ``format`` is qcow2, ploop or raw (any other). ``virtual_bytes`` is the size
    that the guest sees, ``allocated_bytes`` what the file takes (st_blocks × 512).
    ``problem`` names why they are unknown (None then): a file that vanished, or may not be read. ``error_name`` is
    errno's name where a call failed, such as ENOENT: decisions rest on it, never on the words of ``problem``.
    """

    path: str
    format: str
    virtual_bytes: int | None
    allocated_bytes: int | None
    problem: str | None = None
    error_name: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredFile:
    """A folder in ``instances_path`` with all that is in it, or a file of its own. Bytes are st_blocks × 512.

    Of their own are the cache's images and guests' disks outside folders named after an instance; hard links are one.
    """

    path: str
    allocated_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageStore:
    """What lies below ``instances_path`` on its own file system.

    ``cache_path`` is the folder of base images below it, ``cache_bytes`` what its
    plain files take (0 where the folder is on another device or not there), None
    where that could not be measured.
    ``filesystem`` is it as measured right after the files. ``shared_because`` says why
    other hosts may keep their guests here too, "" where nothing says so.
    """

    path: str
    files: tuple[StoredFile, ...]
    cache_path: str
    cache_bytes: int | None
    filesystem: FileSystem
    shared_because: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CephPool:
    """``ceph df``: the whole cluster's size, and what one pool uses and can still take."""

    name: str
    cluster_bytes: int
    available_bytes: int
    used_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PmemNamespace:
    """A namespace of persistent memory by its name; size and alignment in bytes."""

    name: str
    device_path: str
    size_bytes: int
    alignment_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StorageFacts:
    """What one storage source read; a source fills only its own part.

    ``unread`` are (path, why) of what it could not read while all the rest stands.
    """

    groups: tuple[VolumeGroup, ...] = ()
    volumes: tuple[Volume, ...] = ()
    thin_pools: tuple[ThinPool, ...] = ()
    filesystems: tuple[FileSystem, ...] = ()
    disk_files: tuple[DiskFile, ...] = ()
    image_stores: tuple[ImageStore, ...] = ()
    ceph_pools: tuple[CephPool, ...] = ()
    pmem_namespaces: tuple[PmemNamespace, ...] = ()
    unread: tuple[tuple[str, str], ...] = ()
