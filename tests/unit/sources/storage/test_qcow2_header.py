"""The first bytes of broken disk images. For real images see tests/contract/test_images.py."""

import contextlib
import struct

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agent.sources.storage.qcow2_header import HEAD_BYTES, HeaderError, Qcow2Header, parse_ploop, parse_qcow2

GIB = 1 << 30
DATA_FILE = 0x44415441


def qcow2(version=3, size=GIB, incompatible=0, extensions=b"", header_length=104):
    """Return a header as QEMU's docs/interop/qcow2.txt lays it out."""
    common = struct.pack(">4sIQIIQIIQQIIQ", b"QFI\xfb", version, 0, 0, 16, size, 0, 4, 0, 0, 1, 0, 0)
    if version == 2:
        return (common + extensions).ljust(HEAD_BYTES, b"\0")
    return (common + struct.pack(">QQQII", incompatible, 0, 0, 4, header_length) + extensions).ljust(HEAD_BYTES, b"\0")


def extension(kind, body):
    return struct.pack(">II", kind, len(body)) + body.ljust((len(body) + 7) // 8 * 8, b"\0")


def ploop(magic=b"WithoutFreeSpace", sectors=2048):
    return struct.pack("<16sIIIIIQ", magic, 2, 16, 0, 2048, 1, sectors).ljust(64, b"\0")


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("size", [0, 1, GIB, (1 << 63) - 1])
def test_the_virtual_size_is_read_from_a_qcow2_header(version, size):
    assert parse_qcow2(qcow2(version, size)) == Qcow2Header(virtual_bytes=size)


def test_the_data_file_name_is_found_behind_other_extensions():
    """A qcow2 header may contain several extensions.

    The agent finds the external data file's name behind the others.
    """
    extensions = extension(0xE2792ACA, b"raw") + extension(0x6803F857, b"x" * 48) + extension(DATA_FILE, b"d.raw")
    assert parse_qcow2(qcow2(incompatible=4, extensions=extensions)).data_file == "d.raw"


def test_a_data_file_name_without_its_feature_bit_is_ignored():
    """The agent ignores a data file's name in a qcow2 header if the header does not set the bit for a data file."""
    assert parse_qcow2(qcow2(extensions=extension(DATA_FILE, b"d.raw"))).data_file is None


def test_feature_bits_are_ignored_in_qcow2_version_2():
    """A qcow2 header of version 2 has no feature bits, so the agent ignores any bits at their place."""
    assert parse_qcow2(qcow2(2, extensions=struct.pack(">Q", 4))).data_file is None


BROKEN = {
    "empty": (b"", "not a qcow2 image"),
    "raw": (b"\0" * 512, "not a qcow2 image"),
    "another byte order": (b"\xfbIFQ" + b"\0" * 508, "not a qcow2 image"),
    "magic alone": (b"QFI\xfb", "the first 4 bytes of the image do not contain its whole header"),
    "cut off before the size": (qcow2()[:28], "the first 28 bytes of the image"),
    "version 2 cut off": (qcow2(2)[:71], "ends after 71 bytes"),
    "version 3 cut off": (qcow2()[:103], "ends after 103 bytes"),
    "version 1": (qcow2(1), "unknown qcow2 version 1"),
    "version 4": (qcow2(4), "unknown qcow2 version 4"),
    "a size that no file can have": (qcow2(size=1 << 63), f"impossible disk size: {1 << 63}"),
    "a data file without a name": (qcow2(incompatible=4), "does not name that file"),
    "an empty name": (qcow2(incompatible=4, extensions=extension(DATA_FILE, b"")), "does not name that file"),
    "a name that is longer than the file": (
        qcow2(incompatible=4, extensions=struct.pack(">II", DATA_FILE, 1 << 31)),
        "does not name that file",
    ),
    "extensions beyond what was read": (qcow2(incompatible=4, header_length=(1 << 32) - 8), "the first 4096"),
}


@pytest.mark.parametrize(("head", "said"), BROKEN.values(), ids=BROKEN.keys())
def test_the_error_for_a_broken_qcow2_header_says_why(head, said):
    """If a qcow2 header is broken, the error says why, for example that the version is unknown."""
    with pytest.raises(HeaderError, match=said):
        parse_qcow2(head)


@given(st.binary(max_size=300), st.integers(0, 255))
@example(b"", 4)
def test_a_damaged_image_header_is_parsed_or_rejected(noise, position):
    """A damaged qcow2 or ploop header is parsed or raises HeaderError. It causes no other error."""
    head = bytearray(qcow2(incompatible=4, extensions=extension(DATA_FILE, b"d.raw")))
    head[position : position + len(noise)] = noise
    for parse in (parse_qcow2, parse_ploop):
        with contextlib.suppress(HeaderError):
            parse(bytes(head))


def test_a_ploop_size_is_counted_in_512_byte_sectors():
    """The agent multiplies the sector count in a ploop disk image's header by 512 bytes."""
    assert parse_ploop(ploop()) == 1 << 20
    assert parse_ploop(ploop(b"WithouFreSpacExt", 1 << 33)) == 1 << 42


def test_the_sector_count_of_the_first_ploop_format_has_32_bits():
    """The agent reads only 32 bits of the sector count if a ploop disk image has the first format."""
    assert parse_ploop(ploop(sectors=(7 << 32) | 2048)) == 1 << 20


@pytest.mark.parametrize(
    ("head", "said"),
    [
        (b"", "not a ploop image"),
        (b"\0" * 64, "not a ploop image"),
        (ploop()[:40], "ends after 40 bytes"),
        (ploop(b"WithouFreSpacExt", 1 << 62), "impossible disk size"),
    ],
)
def test_the_error_for_a_broken_ploop_header_says_why(head, said):
    """If a ploop disk image's header is broken, the error says why, for example that the image ends too early."""
    with pytest.raises(HeaderError, match=said):
        parse_ploop(head)
