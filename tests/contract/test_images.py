"""Disk files made by qemu-img: the agent reads the sizes that qemu-img itself reports, without running qemu-img."""

import contextlib
import json
import pathlib
import shutil
import subprocess

import pytest

from agent.deadlines.reader_thread import ReaderThread
from agent.model.host.facts import Disk
from agent.model.host.storage import DiskFile, GuestFile
from agent.node_record.overcommit import guest_files, over_commit
from agent.ports import Deadline
from agent.sources.storage.disk_files import measure_disk
from agent.sources.storage.images import Images
from tests.rigs.facts import domain, host

MIB = 1 << 20

pytestmark = pytest.mark.skipif(shutil.which("qemu-img") is None, reason="qemu-img is not installed (qemu-utils)")


MEASURES = 9


def tool(*argv: object) -> str:
    return subprocess.run(list(map(str, argv)), check=True, capture_output=True, text=True).stdout


def image(path: pathlib.Path, size: str, *options: str) -> pathlib.Path:
    tool("qemu-img", "create", "-q", "-f", "qcow2", *options, path, size)
    return path


def fill(path: pathlib.Path, form: str, size: str) -> None:
    tool("qemu-io", "-f", form, "-c", f"write -P 7 0 {size}", path)


def measured(path: pathlib.Path, form: str = "qcow2") -> DiskFile:
    return measure_disk(GuestFile(path=str(path), format=form))


def plain(folder: pathlib.Path) -> pathlib.Path:
    return image(folder / "disk", "10G")


def old(folder: pathlib.Path) -> pathlib.Path:
    return image(folder / "disk", "3G", "-o", "compat=0.10")


def with_backing_file(folder: pathlib.Path) -> pathlib.Path:
    tool("qemu-img", "create", "-q", "-f", "raw", folder / "base", "1G")
    return image(folder / "disk", "5G", "-b", str(folder / "base"), "-F", "raw")


def with_bytes_in_it(folder: pathlib.Path) -> pathlib.Path:
    path = image(folder / "disk", "1G")
    fill(path, "qcow2", "7M")
    return path


def grown(folder: pathlib.Path) -> pathlib.Path:
    path = image(folder / "disk", "1G")
    tool("qemu-img", "resize", "-q", path, "7G")
    return path


def shrunk(folder: pathlib.Path) -> pathlib.Path:
    path = with_bytes_in_it(folder)
    tool("qemu-img", "resize", "-q", "--shrink", path, "512M")
    return path


def compressed(folder: pathlib.Path) -> pathlib.Path:
    fill_from = folder / "raw"
    fill_from.write_bytes(b"stocktake " * 400000)
    tool("qemu-img", "convert", "-q", "-c", "-O", "qcow2", fill_from, folder / "disk")
    return folder / "disk"


def encrypted(folder: pathlib.Path) -> pathlib.Path:
    secret = (
        "--object",
        "secret,id=s0,data=xyz",
        "-o",
        "encrypt.format=luks,encrypt.key-secret=s0,encrypt.iter-time=100",
    )
    # qemu-img measures this machine's speed, and sometimes fails if the machine is busy.
    for _ in range(MEASURES):
        with contextlib.suppress(subprocess.CalledProcessError):
            return image(folder / "disk", "2G", *secret)
    return image(folder / "disk", "2G", *secret)


def preallocated(folder: pathlib.Path) -> pathlib.Path:
    return image(folder / "disk", "16M", "-o", "preallocation=falloc")


def with_a_snapshot_inside(folder: pathlib.Path) -> pathlib.Path:
    path = with_bytes_in_it(folder)
    tool("qemu-img", "snapshot", "-c", "before", path)
    tool("qemu-img", "resize", "-q", path, "2G")
    return path


KINDS = [
    *(plain, old, with_backing_file, with_bytes_in_it, grown, shrunk, compressed, encrypted, preallocated),
    with_a_snapshot_inside,
]


def sizes_by_qemu_img(path: pathlib.Path, form: str = "qcow2") -> tuple[int, int]:
    said = json.loads(tool("qemu-img", "info", "-f", form, "--output=json", path))
    return said["virtual-size"], said["actual-size"]


@pytest.mark.parametrize("make", KINDS, ids=lambda make: make.__name__)
def test_the_sizes_of_a_qcow2_image_equal_those_of_qemu_img(tmp_path: pathlib.Path, make) -> None:
    """The agent reads the same virtual and allocated size of a qcow2 image as `qemu-img info` prints."""
    path = make(tmp_path)
    found = measured(path)
    assert (found.virtual_bytes, found.allocated_bytes) == sizes_by_qemu_img(path)
    assert found.problem is None


@pytest.mark.parametrize("filled", [0, 5], ids=["sparse", "partly written"])
def test_the_sizes_of_a_raw_file_equal_those_of_qemu_img(tmp_path: pathlib.Path, filled: int) -> None:
    """The agent reads the same virtual and allocated size of a raw disk file as `qemu-img info` prints."""
    path = tmp_path / "disk"
    tool("qemu-img", "create", "-q", "-f", "raw", path, "10G")
    if filled:
        fill(path, "raw", f"{filled}M")
    found = measured(path, "raw")
    assert (found.virtual_bytes, found.allocated_bytes) == sizes_by_qemu_img(path, "raw")
    assert found.virtual_bytes == 10 << 30


def test_a_qcow2_size_includes_its_external_data_file(tmp_path: pathlib.Path) -> None:
    """The agent adds the bytes of an external data file to the allocated size of the qcow2 image."""
    # Current versions of qemu-img do not open the data file (CVE-2024-4467); the agent counts its bytes nevertheless.
    path = image(tmp_path / "disk", "1G", "-o", f"data_file={tmp_path}/bytes.raw")
    fill(path, "qcow2", "6M")
    beside = int(tool("stat", "-c", "%b", tmp_path / "bytes.raw")) * 512
    virtual, _ = sizes_by_qemu_img(path)
    found = measured(path)
    assert found.virtual_bytes == virtual
    assert found.allocated_bytes == int(tool("stat", "-c", "%b", path)) * 512 + beside
    assert beside >= 6 * MIB


def test_a_missing_qcow2_data_file_is_reported_with_its_path(tmp_path: pathlib.Path) -> None:
    path = image(tmp_path / "disk", "1G", "-o", f"data_file={tmp_path}/bytes.raw")
    (tmp_path / "bytes.raw").unlink()
    assert measured(path).problem == f"ENOENT: No such file or directory ({tmp_path}/bytes.raw)"


def test_a_relative_data_file_is_found_beside_its_image(tmp_path: pathlib.Path) -> None:
    """The agent resolves the relative path of a qcow2 data file from the folder of the image."""
    path = image(tmp_path / "disk", "1G", "-o", f"data_file={tmp_path}/bytes.raw")
    tool("qemu-img", "amend", "-q", "-f", "qcow2", "-o", "data_file=bytes.raw", path)
    assert measured(path).problem is None


def cut_off(folder: pathlib.Path) -> pathlib.Path:
    path = plain(folder)
    path.write_bytes(path.read_bytes()[:60])
    return path


def empty(folder: pathlib.Path) -> pathlib.Path:
    (folder / "disk").touch()
    return folder / "disk"


def raw_instead(folder: pathlib.Path) -> pathlib.Path:
    (folder / "disk").write_bytes(bytes(range(256)) * 64)
    return folder / "disk"


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (cut_off, "the qcow2 header is incomplete: the file ends after 60 bytes"),
        (empty, "not a qcow2 image: the first bytes are not those of a qcow2 header"),
        (raw_instead, "not a qcow2 image: the first bytes are not those of a qcow2 header"),
    ],
    ids=["cut off", "empty", "raw"],
)
def test_an_invalid_qcow2_file_is_reported_without_sizes(tmp_path: pathlib.Path, make, problem: str) -> None:
    """If a disk file has no valid qcow2 header, the agent reports the reason and treats the sizes as unknown."""
    found = measured(make(tmp_path))
    assert (found.virtual_bytes, found.allocated_bytes, found.problem) == (None, None, problem)


def test_a_qcow2_header_in_a_raw_disk_is_ignored(tmp_path: pathlib.Path) -> None:
    """A guest may write a qcow2 header into its raw disk; the agent still reports the size of the raw file."""
    path, fake = tmp_path / "disk", image(tmp_path / "fake", "1T")
    path.write_bytes(fake.read_bytes().ljust(10 * MIB, b"\0"))
    assert measured(path, "raw").virtual_bytes == 10 * MIB


def test_a_ploop_size_includes_all_files_of_its_folder(tmp_path: pathlib.Path) -> None:
    """A ploop disk is a folder; the agent adds up all files in that folder for the allocated size."""
    tool("qemu-img", "create", "-q", "-f", "parallels", tmp_path / "root.hds", "64M")
    (tmp_path / "DiskDescriptor.xml").write_text("<Parallels_disk_image/>")
    found = measured(tmp_path, "ploop")
    virtual, _ = sizes_by_qemu_img(tmp_path / "root.hds", "parallels")
    assert found.virtual_bytes == virtual == 64 * MIB
    assert found.allocated_bytes == sum(path.stat().st_size for path in tmp_path.iterdir())


def test_a_missing_ploop_image_is_reported_with_its_path(tmp_path: pathlib.Path) -> None:
    assert measured(tmp_path, "ploop").problem == f"ENOENT: No such file or directory ({tmp_path}/root.hds)"


def test_the_disk_over_commit_matches_qemu_img(tmp_path: pathlib.Path) -> None:
    """The agent's disk over-commit is the virtual minus the allocated size that `qemu-img info` shows."""
    qcow2 = with_bytes_in_it(tmp_path)
    raw, garbage = tmp_path / "raw", tmp_path / "garbage"
    tool("qemu-img", "create", "-q", "-f", "raw", raw, "3G")
    garbage.write_bytes(b"garbage")
    facts = host(
        domain("a", disks=(Disk(target="vda", kind="file", source=str(qcow2), format="qcow2"),)),
        domain("b", disks=(Disk(target="vda", kind="file", source=str(raw), format="raw"),)),
        domain("c", disks=(Disk(target="vda", kind="file", source=str(garbage), format="qcow2"),)),
    )
    reader = ReaderThread("images")
    try:
        files = Images(str(tmp_path), str(tmp_path / "_base"), reader).read(guest_files(facts), Deadline.after(60))
    finally:
        reader.stop()
    found = over_commit(facts, files.disk_files)
    virtual, actual = sizes_by_qemu_img(qcow2)
    raw_virtual, raw_actual = sizes_by_qemu_img(raw, "raw")
    assert found.total_bytes == virtual - actual + raw_virtual - raw_actual
    assert [unknown.name for unknown in found.unknown] == ["c"]
