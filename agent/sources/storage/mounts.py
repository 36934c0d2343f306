"""Read the list of mounts, and identify the file system of an open folder by properties that survive a reboot.

Device numbers do not survive: dm-3 may be dm-4 after the next boot, and a file system with a device number of its own
(NFS, btrfs, tmpfs) gets a new number at each mount. f_fsid does not survive, because XFS and others derive f_fsid from
the device number. The UUID in the superblock, read from udev or from the kernel, survives. A network file system has no
UUID, but the names of its server and export survive.
"""

from __future__ import annotations

import fcntl
import os
import re
import struct
import uuid
from pathlib import Path

from agent.model.host.storage import FileSystemIdentity

MOUNTS = Path("/proc/self/mountinfo")
BY_UUID = Path("/dev/disk/by-uuid")
# The folder with udev's files about devices. Every user may read these files, and a sandbox that hides /dev
# (PrivateDevices=) does not hide the files.
UDEV_DATA = Path("/run/udev/data")
BTRFS = Path("/sys/fs/btrfs")
# The types of file systems that store their UUID in the superblock, so that the UUID stays the same. Other types, for
# example tmpfs and overlay, create a new UUID at each mount.
_WITH_UUID = frozenset({"ext2", "ext3", "ext4", "xfs", "btrfs", "f2fs", "bcachefs"})
# An ioctl of linux/fs.h since Linux 6.9. Its result is one byte with the length and sixteen bytes with the UUID.
_FS_IOC_GETFSUUID = 0x80111500
_UUID_STRUCT = struct.Struct("B16s")
_ESCAPED = re.compile(r"\\([0-7]{3})")


def identity_of(descriptor: int, path: str) -> FileSystemIdentity | None:
    """Return the identity of the file system that contains ``path``.

    ``descriptor`` is an open descriptor of ``path``. Return None if the list of mounts lacks this file system, as may
    happen in a chroot.
    """
    words = _mount(MOUNTS, 0, _mount_id(descriptor))
    if not words:
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


def filesystem_type(mountinfo: Path, device: int) -> str:
    """Return the file system type of the mount with that device number, or "" if there is no such mount."""
    try:
        words = _mount(mountinfo, 2, f"{os.major(device)}:{os.minor(device)}")
    except OSError:
        return ""
    return words[words.index("-") + 1] if words else ""


def _mount_id(descriptor: int) -> str:
    """Return the id of the descriptor's mount, which distinguishes two mounts at the same mount point."""
    lines = Path(f"/proc/self/fdinfo/{descriptor}").read_text("ascii").splitlines()
    return next((line.split()[1] for line in lines if line.startswith("mnt_id:")), "")


def _mount(mountinfo: Path, field: int, word: str) -> list[str]:
    """Search a mountinfo file (see proc(5)) for a line with ``word`` in column ``field``; return its words, or []."""
    split = (line.split(" ") for line in mountinfo.read_text("utf-8", "surrogateescape").splitlines())
    return next((words for words in split if words[field : field + 1] == [word] and "-" in words), [])


def _plain(word: str) -> str:
    """Return a word of mountinfo without its escapes, in printable form."""
    raw = _ESCAPED.sub(lambda found: chr(int(found[1], 8)), word)
    return raw.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def _uuid(path: str, descriptor: int, kind: str, device: str) -> str | None:
    return _of_kernel(path, descriptor) or (_of_btrfs(device) if kind == "btrfs" else _of_udev(descriptor))


def _of_kernel(path: str, descriptor: int) -> str | None:
    """Return the UUID of the file system as the kernel (Linux 6.9 or newer) reports it.

    The function opens the path again, because ``descriptor`` is an O_PATH descriptor, which allows no ioctl.
    """
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
    """Return the file system's UUID from udev's link in /dev/disk/by-uuid, else from udev's file about the device."""
    device = os.fstat(descriptor).st_dev
    linked = next((name for name in _names(BY_UUID) if _device_number(BY_UUID / name) == device), None)
    return linked or _of_udev_data(UDEV_DATA / f"b{os.major(device)}:{os.minor(device)}")


def _of_udev_data(path: Path) -> str | None:
    try:
        lines = path.read_text("utf-8", "replace").splitlines()
    except OSError:
        return None
    # udev names the link in /dev/disk/by-uuid after this value, so the link's name and this file have the same text.
    return next((line.partition("=")[2] for line in lines if line.startswith("E:ID_FS_UUID_ENC=")), None) or None


def _of_btrfs(device: str) -> str | None:
    """Return the UUID of the btrfs on ``device``: the folder /sys/fs/btrfs/UUID/devices lists this device.

    udev's links do not lead to the UUID. A btrfs has its own device number, which is not the number of its disk, so no
    link matches the btrfs.
    """
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
