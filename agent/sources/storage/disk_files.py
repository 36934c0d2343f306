"""Measure one file that a guest uses as a disk: its virtual size, and the bytes that the file occupies now.

The format comes from the domain, never from the file: a guest can write a qcow2 header with any size into its raw disk.
If a file cannot be measured, only that file's ``problem`` has the error, with errno's name (scenario 89).

The module opens only regular files: a FIFO or a device has no image header, and may block. The module does not open
the kernel's own files either, although stat reports them as regular: these files have size 0 (/proc, tracefs) or are on
a file system that cannot contain disks (/sys).
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Mapping

from agent.host_files.system_errors import errno_name
from agent.model.host.storage import DiskFile, GuestFile
from agent.sources.storage.mounts import MOUNTS, filesystem_type
from agent.sources.storage.qcow2_header import HEAD_BYTES, HeaderError, parse_ploop, parse_qcow2

# The number of bytes in the unit of st_blocks, which is 512 whatever the file system's block size is.
_BLOCK = 512
_KINDS: tuple[tuple[Callable[[int], bool], str], ...] = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISBLK, "a block device"),
    (stat.S_ISCHR, "a character device"),
    (stat.S_ISFIFO, "a FIFO"),
    (stat.S_ISSOCK, "a socket"),
)
# File systems whose files the kernel generates. /proc/filesystems marks each of them as nodev (proc(5)).
_OF_THE_KERNEL = frozenset(
    {"proc", "sysfs", "debugfs", "tracefs", "securityfs", "configfs", "bpf", "cgroup", "cgroup2", "pstore"}
    | {"efivarfs", "binfmt_misc", "fusectl", "selinuxfs", "smackfs", "rpc_pipefs", "resctrl", "mqueue", "devpts"}
)
# The flags with which this module opens a file. O_NONBLOCK: if the file has become a FIFO since the check, the open
# does not block.
_FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


def measure_disk(wanted: GuestFile) -> DiskFile:
    """Return the sizes in bytes, or the problem that prevented the measurement. Raises no error, whatever the file."""
    sizes: tuple[int, int] | tuple[None, None] = None, None
    problem = error_name = None
    try:
        sizes = _MEASURES.get(wanted.format, _measure_raw)(wanted.path)
    except OSError as error:
        error_name = errno_name(error)
        problem = f"{error_name}: {_reason(error, wanted.path)}"
    except ValueError as error:
        problem = str(error)
    return DiskFile(
        path=wanted.path,
        format=wanted.format,
        virtual_bytes=sizes[0],
        allocated_bytes=sizes[1],
        problem=problem,
        error_name=error_name,
    )


def taken_bytes(status: os.stat_result) -> int:
    """Return the bytes that a file occupies in its file system."""
    return status.st_blocks * _BLOCK


def _reason(error: OSError, path: str) -> str:
    # If the error names another file than ``path``, that file's name is from the image's header. The guest may have
    # written any bytes into the header, so escape the name.
    where = f" ({repr(error.filename)[1:-1]})" if isinstance(error.filename, str) and error.filename != path else ""
    return f"{error.strerror or error}{where}"


def _measure_raw(path: str) -> tuple[int, int]:
    status = _regular(os.stat(path))
    return status.st_size, taken_bytes(status)


def _measure_qcow2(path: str) -> tuple[int, int]:
    head, status = _head(path)
    header = parse_qcow2(head)
    if header.data_file is None:
        return header.virtual_bytes, taken_bytes(status)
    # Like qemu-img, add the bytes of the image and of the separate data file, which has the guest's data.
    beside = os.path.join(os.path.dirname(path), header.data_file)
    return header.virtual_bytes, taken_bytes(status) + taken_bytes(_regular(os.stat(beside)))


def _measure_ploop(path: str) -> tuple[int, int]:
    """Measure a ploop disk, which is a folder. The space that it occupies is the sum of file sizes, not of blocks."""
    head, _ = _head(os.path.join(path, "root.hds"))
    return parse_ploop(head), sum(
        os.stat(os.path.join(folder, name)).st_size for folder, _, names in os.walk(path) for name in names
    )


_MEASURES: Mapping[str, Callable[[str], tuple[int, int]]] = {"qcow2": _measure_qcow2, "ploop": _measure_ploop}


def _regular(status: os.stat_result) -> os.stat_result:
    if stat.S_ISREG(status.st_mode):
        return status
    what = next((name for matches, name in _KINDS if matches(status.st_mode)), "a file of an unknown type")
    raise HeaderError(f"not a regular file but {what}")


def _of_disks(status: os.stat_result) -> os.stat_result:
    """Return ``status`` unchanged. Raises HeaderError for a file that the kernel generates, as in /proc."""
    # File systems such as /proc have no block device, so their major number is 0. NFS has no block device either, but
    # may contain disks. So check the file system's type too.
    kind = "" if os.major(status.st_dev) else filesystem_type(MOUNTS, status.st_dev)
    if kind in _OF_THE_KERNEL:
        raise HeaderError(f"not a disk but a file of a kernel file system ({kind})")
    return status


def _head(path: str) -> tuple[bytes, os.stat_result]:
    if not (status := _of_disks(_regular(os.stat(path)))).st_size:
        return b"", status
    opened = os.open(path, _FLAGS)
    try:
        status = _regular(os.fstat(opened))
        return os.pread(opened, HEAD_BYTES, 0), status
    finally:
        os.close(opened)
