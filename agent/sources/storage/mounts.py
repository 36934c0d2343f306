"""Tell which file system an open folder is on, by what stays the same over a reboot.

Device numbers do not: what was dm-3 may be dm-4 after the next boot, and file systems
without a device (NFS, btrfs, tmpfs) get a new number at each mount. So f_fsid does not
either, since XFS and others make it of the device number. The UUID in the superblock
stays, as udev or the kernel itself says it. A file system over the network has no
UUID; its server and export stay.
"""

from __future__ import annotations

import fcntl
import os
import re
import struct
import uuid
from pathlib import Path

from agent.model.host.storage import FileSystemIdentity
from agent.sources.storage.shared_storage import MOUNTS

BY_UUID = Path("/dev/disk/by-uuid")
BTRFS = Path("/sys/fs/btrfs")
# Only of these is the UUID that of the superblock; tmpfs and overlay make up one at each mount.
_WITH_UUID = frozenset({"ext2", "ext3", "ext4", "xfs", "btrfs", "f2fs", "bcachefs"})
# linux/fs.h, from Linux 6.9 on: one byte of length, sixteen of the UUID.
_FS_IOC_GETFSUUID = 0x80111500
_UUID_STRUCT = struct.Struct("B16s")
_ESCAPED = re.compile(r"\\([0-7]{3})")


def identity_of(descriptor: int, path: str) -> FileSystemIdentity | None:
    """The file system of an open ``path``; None where the list of mounts does not have it (after a chroot)."""
    words = _mount(_mount_id(descriptor))
    if words is None:
        return None
    root, mount_point = map(_plain, words[3:5])
    kind, device = (_plain(word) for word in words[words.index("-") + 1 :][:2])
    below = os.path.relpath(os.path.realpath(path), mount_point)
    return FileSystemIdentity(
        mount_point=mount_point,
        kind=kind,
        device=device,
        inner=os.path.normpath(os.path.join(root, below)),
        uuid=_uuid(path, descriptor, kind, device) if kind in _WITH_UUID else None,
    )


def _mount_id(descriptor: int) -> str:
    """The number of its mount: of two mounts at one place it says which one the descriptor is on."""
    lines = Path(f"/proc/self/fdinfo/{descriptor}").read_text("ascii").splitlines()
    return next((line.split()[1] for line in lines if line.startswith("mnt_id:")), "")


def _mount(number: str) -> list[str] | None:
    """The words of that mount in mountinfo (proc(5))."""
    lines = MOUNTS.read_text("utf-8", "surrogateescape").splitlines()
    split = (line.split(" ") for line in lines)
    return next((words for words in split if words[0] == number and "-" in words), None)


def _plain(word: str) -> str:
    """A word of mountinfo as it is meant, and so that it can be printed."""
    raw = _ESCAPED.sub(lambda found: chr(int(found[1], 8)), word)
    return raw.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def _uuid(path: str, descriptor: int, kind: str, device: str) -> str | None:
    return _of_kernel(path, descriptor) or (_of_btrfs(device) if kind == "btrfs" else _of_udev(descriptor))


def _of_kernel(path: str, descriptor: int) -> str | None:
    """What the kernel says, where it is new enough; a descriptor of O_PATH takes no ioctl, so the path is opened."""
    try:
        opened = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            if os.fstat(opened).st_dev != os.fstat(descriptor).st_dev:
                return None
            _, raw = _UUID_STRUCT.unpack(fcntl.ioctl(opened, _FS_IOC_GETFSUUID, bytes(_UUID_STRUCT.size)))
        finally:
            os.close(opened)
    except OSError:
        return None
    return str(uuid.UUID(bytes=raw)) if any(raw) else None


def _of_udev(descriptor: int) -> str | None:
    """The name of udev's link to the device that the file system is on."""
    device = os.fstat(descriptor).st_dev
    return next((name for name in _names(BY_UUID) if _device_number(BY_UUID / name) == device), None)


def _of_btrfs(device: str) -> str | None:
    """Of btrfs the device number is its own; /sys has the devices of each file system by its UUID."""
    member = os.path.basename(os.path.realpath(device))
    return next((name for name in _names(BTRFS) if (BTRFS / name / "devices" / member).exists()), None)


def _names(folder: Path) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []


def _device_number(path: Path) -> int | None:
    try:
        return path.stat().st_rdev
    except OSError:
        return None
