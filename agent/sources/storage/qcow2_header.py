"""Parse the first bytes of a guest's disk image to get the size that the guest sees.

The header has the size at a fixed offset; ``qemu-img info`` would need a process per disk (3 ms and more, each time).
Formats: qcow2 as in QEMU's docs/interop/qcow2.txt, ploop's images as in docs/interop/parallels.txt. Numbers are
big-endian in qcow2 and little-endian in ploop. Pure.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

# Enough for a qcow2 header and its extensions: a data file's name has at most 1023 bytes, other extensions far fewer.
HEAD_BYTES = 4096

_MAGIC = b"QFI\xfb"
_V2_HEADER_BYTES = 72
_V3_HEADER_BYTES = 104
_DATA_FILE_BIT = 1 << 2
_DATA_FILE_NAME = 0x44415441
# QEMU's own limit: offsets are signed.
_MAX_BYTES = (1 << 63) - 1

_PLOOP_BYTES = 64
# Each magic with the mask for the number of sectors: the first format has 32 bits, the second has 64.
_PLOOP_MAGICS = {b"WithoutFreeSpace": (1 << 32) - 1, b"WithouFreSpacExt": (1 << 64) - 1}
_SECTOR = 512


class HeaderError(ValueError):
    """The first bytes of an image do not fit its format; the message names the problem."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Qcow2Header:
    """The two facts that the agent reads from a qcow2 header.

    ``virtual_bytes`` is the size that the guest sees. ``data_file`` is the path of a separate file with the guest's
    data, as in the header (relative to the image's folder); None if the image itself contains the data.
    """

    virtual_bytes: int
    data_file: str | None = None


def parse_qcow2(head: bytes) -> Qcow2Header:
    """Parse the first HEAD_BYTES of a qcow2 image (fewer only if the file is shorter). Raises HeaderError."""
    if not head.startswith(_MAGIC):
        raise HeaderError("not a qcow2 image: its first bytes are another format's")
    version, virtual_bytes = _big(head, 4, 4), _big(head, 24, 8)
    if version not in (2, 3):
        raise HeaderError(f"qcow2 version {version} is not known")
    if virtual_bytes > _MAX_BYTES:
        raise HeaderError(f"a qcow2 header with the impossible size {virtual_bytes}")
    if len(head) < (_V2_HEADER_BYTES if version == 2 else _V3_HEADER_BYTES):
        raise HeaderError(f"a qcow2 header that ends after {len(head)} bytes")
    if version == 2 or not _big(head, 72, 8) & _DATA_FILE_BIT:
        return Qcow2Header(virtual_bytes=virtual_bytes)
    return Qcow2Header(virtual_bytes=virtual_bytes, data_file=_data_file(head, _big(head, 100, 4)))


def parse_ploop(head: bytes) -> int:
    """Return the guest's size in bytes from the first bytes of a ploop image. Raises HeaderError."""
    mask = _PLOOP_MAGICS.get(head[:16])
    if mask is None:
        raise HeaderError("not a ploop image: its first bytes are another format's")
    if len(head) < _PLOOP_BYTES:
        raise HeaderError(f"a ploop header that ends after {len(head)} bytes")
    size_bytes = (_number(head, 36, 8, "little") & mask) * _SECTOR
    if size_bytes > _MAX_BYTES:
        raise HeaderError(f"a ploop header with the impossible size {size_bytes}")
    return size_bytes


def _data_file(head: bytes, at: int) -> str:
    """Return the data file's name from the extensions after the header: each padded to 8 bytes, the last of type 0."""
    while (kind := _big(head, at, 4)) != 0:
        length = _big(head, at + 4, 4)
        start = at + 8
        if kind == _DATA_FILE_NAME:
            name = head[start : start + length]
            if len(name) < length or not name:
                break
            return name.decode("utf-8", "surrogateescape")
        at = start + (length + 7) // 8 * 8
    raise HeaderError("the guest's bytes are in another file, and the header does not name it")


def _big(head: bytes, offset: int, length: int) -> int:
    return _number(head, offset, length, "big")


def _number(head: bytes, offset: int, length: int, order: Literal["big", "little"]) -> int:
    digits = head[offset : offset + length]
    if len(digits) < length:
        raise HeaderError(f"a header that ends after {len(head)} bytes")
    return int.from_bytes(digits, order)
