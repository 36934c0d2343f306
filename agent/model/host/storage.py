"""The facts about the host's storage: LVM, file systems, disk files, Ceph, persistent memory; all sizes in bytes."""

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
    """A logical volume. The name of a hidden volume is LVM's name without the brackets.

    ``size_bytes``: the virtual size.
    ``extent_bytes``: the volume's own bytes on physical volumes. A thin or cached volume, a raid or a mirror has 0: its
    data lies on hidden volumes or in a pool, and counts there.
    ``pool``: the thin or VDO pool that has the volume's extents.
    ``origin``: the volume of which this volume is a snapshot.
    ``parent``: the volume of which this hidden volume is a part.

    ``pool``, ``origin`` and ``parent`` are names within the group.
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
        """``VG/LV``, as lvm2 names the volume."""
        return f"{self.group}/{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ThinPool:
    """A thin pool: its size and how full it is.

    ``size_bytes`` is the size of the data area. The percentages are None if lvm2 does not report them because the pool
    is not active on this host. ``mapped`` has (name, written bytes) of each thin volume for which lvm2 reports them.
    Snapshots share blocks, so the sum of ``mapped`` may exceed the pool's used bytes.
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
    """What identifies the file system of a path.

    ``kind`` is the type. ``device`` is the mounted device or export (/dev/vdb, server:/export). ``inner`` is the path
    as seen from the file system's own root; a bind mount changes ``mount_point`` but not ``inner``. ``uuid`` is None
    if the file system is not on a disk, or if the host does not report its uuid.
    """

    mount_point: str
    kind: str
    device: str
    inner: str
    uuid: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FileSystem:
    """The file system of one path, as statvfs reports it. ``free_bytes`` includes root's reserve.

    ``identity`` is None if the kernel's list of mounts does not contain the file system.
    """

    path: str
    size_bytes: int
    free_bytes: int
    available_bytes: int
    identity: FileSystemIdentity | None = None


class GuestFile(NamedTuple):
    """A file that a domain names as its disk; ``format`` comes from the domain's XML, never from the file's contents.

    A guest can write anything into its raw disk, even a qcow2 header that states a false size. Each audit compares its
    files with those of the last audit. The class is a tuple because tuples compare fast.
    """

    path: str
    format: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskFile:
    """A file that is a guest's disk, with its virtual size and the bytes that it takes now.

    ``format`` is qcow2 or ploop; any other format counts as raw. ``virtual_bytes`` is the size that the guest sees.
    ``allocated_bytes`` are the bytes that the file takes (st_blocks × 512). If the agent could not measure the file,
    both sizes are None and ``problem`` is the reason; ``error_name`` is the errno's name, such as ENOENT. Decisions
    use ``error_name``, never the text of ``problem``.
    """

    path: str
    format: str
    virtual_bytes: int | None
    allocated_bytes: int | None
    problem: str | None = None
    error_name: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredFile:
    """The measured size of one file or folder below ``instances_path``.

    Each file and folder directly in ``instances_path`` has a StoredFile. Each cached image has a StoredFile, too. A
    guest's disk has its own StoredFile only if the disk lies outside the folders of instances. All other contents of a
    folder count in the folder's size. Bytes are st_blocks × 512. Several hard links to one file count once.
    """

    path: str
    allocated_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageStore:
    """The files below ``instances_path`` that are on the same file system as ``instances_path``.

    ``cache_path``: the folder of cached base images below ``path``.
    ``cache_bytes``: bytes that the regular files in this folder take; 0 if the folder is absent or on another device,
    None if the agent could not measure the folder.
    ``filesystem``: the file system, measured right after the files.
    ``shared_because``: why other hosts may store their guests here too, "" if nothing indicates that.
    """

    path: str
    files: tuple[StoredFile, ...]
    cache_path: str
    cache_bytes: int | None
    filesystem: FileSystem
    shared_because: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CephPool:
    """``ceph df``: the size of the whole cluster, and the used and available bytes of one pool."""

    name: str
    cluster_bytes: int
    available_bytes: int
    used_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PmemNamespace:
    """A namespace of persistent memory, with size and alignment in bytes."""

    name: str
    device_path: str
    size_bytes: int
    alignment_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StorageFacts:
    """The result of one storage source. Each source fills only its own fields.

    ``unread`` are (path, reason) of the parts that the source could not read. The other parts are valid.
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
