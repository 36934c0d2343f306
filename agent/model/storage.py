"""What the storage of the host says: volume groups, their volumes, file systems. All sizes in bytes."""

from __future__ import annotations

from dataclasses import dataclass


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

    @property
    def path(self) -> str:
        """``VG/LV``, the way lvm2 names it."""
        return f"{self.group}/{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class FileSystem:
    """statvfs of one path: size, free (root's reserve included) and available, in bytes."""

    path: str
    size_bytes: int
    free_bytes: int
    available_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StorageFacts:
    """What one storage source read; a source fills only its own part."""

    groups: tuple[VolumeGroup, ...] = ()
    volumes: tuple[Volume, ...] = ()
    filesystems: tuple[FileSystem, ...] = ()
