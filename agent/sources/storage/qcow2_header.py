"""Parse the first bytes of a guest's disk image to get the size that the guest sees.

The header has the size at a fixed offset, so the agent needs no ``qemu-img info``, a process of 3 ms for each disk.
QEMU's docs/interop/qcow2.txt describes qcow2, and docs/interop/parallels.txt describes ploop. Numbers are big-endian in
qcow2 and little-endian in ploop. Pure: no I/O.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

# The number of bytes to read from the start of an image: enough for a qcow2 header and its extensions. The longest
# extension is the name of the external data file, at most 1023 bytes.
HEAD_BYTES = 4096

_MAGIC = b"QFI\xfb"
_V2_HEADER_BYTES = 72
_V3_HEADER_BYTES = 104
_DATA_FILE_BIT = 1 << 2
_DATA_FILE_NAME = 0x44415441
# The largest size in bytes that QEMU accepts: QEMU's offsets are signed 64-bit numbers.
_MAX_BYTES = (1 << 63) - 1

_PLOOP_BYTES = 64
# The first bytes (magic) of the two ploop formats -> a mask for the number of sectors. In the first format this number
# has only 32 bits, in the second format 64 bits.
_PLOOP_MAGICS = {b"WithoutFreeSpace": (1 << 32) - 1, b"WithouFreSpacExt": (1 << 64) - 1}
_SECTOR = 512


class HeaderError(ValueError):
    """The error for a file that is not a disk image of the expected format; the message names the problem."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Qcow2Header:
    """The two facts that the agent reads from a qcow2 header.

    ``virtual_bytes`` is the size that the guest sees. ``data_file`` is the path of a separate file with the guest's
    data, as the header has it (relative to the image's folder); None if the image itself contains the data.
    """

    virtual_bytes: int
    data_file: str | None = None


def parse_qcow2(head: bytes) -> Qcow2Header:
    """Parse the first 4096 bytes of a qcow2 image (fewer only if the file is shorter). Raises HeaderError."""
    if not head.startswith(_MAGIC):
        raise HeaderError("not a qcow2 image: the first bytes are not those of a qcow2 header")
    version, virtual_bytes = _big(head, 4, 4), _big(head, 24, 8)
    if version not in (2, 3):
        raise HeaderError(f"unknown qcow2 version {version}")
    if virtual_bytes > _MAX_BYTES:
        raise HeaderError(f"the qcow2 header states an impossible disk size: {virtual_bytes} bytes")
    if len(head) < (_V2_HEADER_BYTES if version == 2 else _V3_HEADER_BYTES):
        raise HeaderError(f"the qcow2 header is incomplete: the file ends after {len(head)} bytes")
    if version == 2 or not _big(head, 72, 8) & _DATA_FILE_BIT:
        return Qcow2Header(virtual_bytes=virtual_bytes)
    return Qcow2Header(virtual_bytes=virtual_bytes, data_file=_data_file(head, _big(head, 100, 4)))


def parse_ploop(head: bytes) -> int:
    """Return the disk size that the guest sees, in bytes, from a ploop image's first bytes. Raises HeaderError."""
    mask = _PLOOP_MAGICS.get(head[:16])
    if mask is None:
        raise HeaderError("not a ploop image: the first bytes are not those of a ploop header")
    if len(head) < _PLOOP_BYTES:
        raise HeaderError(f"the ploop header is incomplete: the file ends after {len(head)} bytes")
    size_bytes = (_number(head, 36, 8, "little") & mask) * _SECTOR
    if size_bytes > _MAX_BYTES:
        raise HeaderError(f"the ploop header states an impossible disk size: {size_bytes} bytes")
    return size_bytes


def _data_file(head: bytes, at: int) -> str:
    """Return the data file's name from the list of header extensions, which begins at the offset ``at``.

    Each extension is padded to a multiple of 8 bytes. An extension of type 0 ends the list.
    """
    while (kind := _big(head, at, 4)) != 0:
        length = _big(head, at + 4, 4)
        start = at + 8
        if kind == _DATA_FILE_NAME:
            name = head[start : start + length]
            if len(name) < length or not name:
                break
            return name.decode("utf-8", "surrogateescape")
        at = start + (length + 7) // 8 * 8
    raise HeaderError("the guest's data are in a separate file, and the header does not name that file")


def _big(head: bytes, offset: int, length: int) -> int:
    return _number(head, offset, length, "big")


def _number(head: bytes, offset: int, length: int, order: Literal["big", "little"]) -> int:
    digits = head[offset : offset + length]
    if len(digits) < length:
        raise HeaderError(f"the first {len(head)} bytes of the image do not contain its whole header")
    return int.from_bytes(digits, order)
