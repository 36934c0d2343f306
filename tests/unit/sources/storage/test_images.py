"""The source of guests' files: what it lists, what it omits, when it measures again, and what a hung file costs."""

import errno
import json
import os
import threading
import time
from pathlib import Path

import pytest

from agent.deadlines.reader_thread import ReaderThread
from agent.errors import SourceUnavailable
from agent.model.host.storage import GuestFile
from agent.ports import Deadline
from agent.sources.storage import disk_files, image_meter, image_walk
from agent.sources.storage.image_walk import cache_bytes, walk
from agent.sources.storage.images import MAX_AGE_S, Images
from agent.sources.storage.mounts import filesystem_type
from agent.sources.storage.shared_storage import registered_hosts, shared_because
from tests.rigs.wait import until

UUID = "0a8bd4b0-2f6c-4d6e-8f3a-3b7a1f1f2a01"


@pytest.fixture
def reader():
    thread = ReaderThread("images")
    yield thread
    thread.stop()


@pytest.fixture
def place(tmp_path):
    """instances_path with one instance and one base image."""
    for folder in (UUID, "_base", "locks"):
        (tmp_path / folder).mkdir()
    (tmp_path / UUID / "disk").write_bytes(b"x" * 10000)
    (tmp_path / UUID / "console.log").write_bytes(b"")
    (tmp_path / "_base" / "89abcdef").write_bytes(b"x" * 50000)
    return tmp_path


class Clock:
    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def source(place, reader, clock):
    return Images(str(place), str(place / "_base"), reader, clock)


def blocks(path):
    return os.lstat(path).st_blocks * 512


def raw(path):
    return GuestFile(path=str(path), format="raw")


def read(source, *disks):
    return source.read(frozenset(disks), Deadline.after(5))


def test_guest_disks_and_their_folder_are_measured(source, place):
    """The agent measures the guests' disks, the files in nova's instances folder and the image cache."""
    facts = read(source, raw(place / UUID / "disk"), GuestFile(path=str(place / "gone"), format="qcow2"))
    gone, disk = sorted(facts.disk_files, key=lambda file: file.path != str(place / "gone"))
    assert (gone.virtual_bytes, gone.problem) == (None, "ENOENT: No such file or directory")
    assert (disk.virtual_bytes, disk.allocated_bytes) == (10000, blocks(place / UUID / "disk"))
    (store,) = facts.image_stores
    assert store.path == str(place)
    assert store.cache_bytes == blocks(place / "_base" / "89abcdef")
    assert store.filesystem.size_bytes > 0
    assert {file.path: file.allocated_bytes for file in store.files} == {
        str(place): blocks(place),
        str(place / UUID): sum(map(blocks, (place / UUID, *(place / UUID).iterdir()))),
        str(place / "_base"): blocks(place / "_base"),
        str(place / "_base" / "89abcdef"): blocks(place / "_base" / "89abcdef"),
        str(place / "locks"): blocks(place / "locks"),
    }


def test_guest_disks_are_read_without_an_instances_folder(tmp_path, reader):
    """The agent reads a guest's disk in another folder even if nova's instances folder does not exist."""
    (tmp_path / "disk").write_bytes(b"x")
    facts = read(Images(str(tmp_path / "none"), str(tmp_path / "none/_base"), reader), raw(tmp_path / "disk"))
    assert (facts.image_stores, facts.unread) == ((), ())
    assert facts.disk_files[0].virtual_bytes == 1


def test_disk_sizes_are_cached_until_a_maximum_age(source, place, clock):
    """The agent returns the measured disk sizes again until they reach a maximum age, and then measures anew."""
    first = read(source, raw(place / UUID / "disk"))
    (place / UUID / "disk").write_bytes(b"x" * 90000)
    clock.now += MAX_AGE_S - 1
    assert read(source, raw(place / UUID / "disk")) is first
    clock.now += 1
    assert read(source, raw(place / UUID / "disk")).disk_files[0].virtual_bytes == 90000


def other_disks(source, place):
    return read(source)


def forgotten(source, place):
    source.forget()
    return read(source, raw(place / UUID / "disk"))


def folder_made(source, place):
    (place / "new").mkdir()
    return read(source, raw(place / UUID / "disk"))


def folder_renamed(source, place):
    (place / UUID).rename(place / f"{UUID}_del")
    return read(source, raw(place / UUID / "disk"))


def base_image_removed(source, place):
    (place / "_base" / "89abcdef").unlink()
    return read(source, raw(place / UUID / "disk"))


@pytest.mark.parametrize("reason", [other_disks, forgotten, folder_made, folder_renamed, base_image_removed])
def test_disks_are_measured_again_after_a_folder_change(source, place, reason):
    """The agent measures the disks again if a folder with disks, the image cache or the list of disks changed."""
    for folder in (place, place / "_base"):
        os.utime(folder, (1, 1))  # the clock of file systems ticks in milliseconds: this test is faster
    first = read(source, raw(place / UUID / "disk"))
    assert reason(source, place) is not first


def test_a_missing_disk_is_tried_again_at_every_read(source, place):
    """The agent tries again at every read to measure a disk that was missing, and finds it once it exists."""
    late = raw(place / UUID / "late")
    first = read(source, late)
    assert first.disk_files[0].problem == "ENOENT: No such file or directory"
    assert read(source, late) is first
    (place / UUID / "late").write_bytes(b"xyz")
    assert read(source, late).disk_files[0].virtual_bytes == 3


def test_a_hanging_disk_file_ends_the_read_at_the_deadline(source, place, reader, monkeypatch):
    """If a disk file does not answer, as on a dead NFS server, the read fails at the deadline with the file's path."""
    # No network file system hangs on demand here, so stat of one path blocks, as it would on a dead NFS server.
    gate, entered = threading.Event(), threading.Event()
    hung, real = str(place / "hung"), os.stat

    def stat(path, **kwargs):
        if path == hung:
            entered.set()
            gate.wait(30)
        return real(path, **kwargs)

    monkeypatch.setattr(disk_files.os, "stat", stat)
    began = time.monotonic()
    with pytest.raises(SourceUnavailable, match=rf"images: {hung}: no answer within 2 s"):
        source.read(frozenset({raw(hung)}), Deadline.after(2))
    assert entered.is_set()
    assert time.monotonic() - began < 20
    with pytest.raises(SourceUnavailable, match=rf"images: {hung}: no answer within 2 s"):
        source.read(frozenset(), Deadline.after(5))
    gate.set()
    # The thread of this test must end with it: the next test counts the walks.
    until(lambda: is_read(source), 60, "the hung measure has ended")


def slow_walk(monkeypatch):
    """Make the walk wait for the returned gate; return the gate and the list of started walks."""
    gate, begun, real = threading.Event(), [], image_meter.walk

    def walk(*args):
        begun.append(args)
        gate.wait(30)
        return real(*args)

    monkeypatch.setattr(image_meter, "walk", walk)
    return gate, begun


def is_read(source):
    try:
        return source.read(frozenset(), Deadline.after(5))
    except SourceUnavailable:
        return None


def test_a_late_measurement_serves_a_later_read(source, place, monkeypatch):
    """A later read returns the result of a disk measurement that missed its deadline."""
    gate, begun = slow_walk(monkeypatch)
    with pytest.raises(SourceUnavailable):
        source.read(frozenset(), Deadline.after(0.05))
    gate.set()
    facts = until(lambda: is_read(source), 60, "the slow measure has ended")
    assert facts.image_stores[0].path == str(place)
    assert len(begun) == 1


def test_the_age_of_disk_sizes_starts_after_the_measurement(source, clock, monkeypatch):
    """The agent counts the age of measured disk sizes from the end of the measurement, not from the start."""
    gate, begun = slow_walk(monkeypatch)
    gate.set()
    real = image_meter.measure
    monkeypatch.setattr(
        image_meter, "measure", lambda path: (setattr(clock, "now", clock.now + 2 * MAX_AGE_S), real(path))[1]
    )
    assert read(source) is read(source)
    assert len(begun) == 1


def test_a_running_measurement_of_disks_can_be_discarded(source, monkeypatch):
    """The agent can discard a measurement of disks that is still running, and then measures the disks again."""
    gate, begun = slow_walk(monkeypatch)
    with pytest.raises(SourceUnavailable):
        source.read(frozenset(), Deadline.after(0.05))
    until(lambda: begun, 60, "the measure has begun")
    source.forget()
    gate.set()
    until(lambda: is_read(source), 60, "the slow measure has ended")
    assert len(begun) == 2


# The agent neither opens nor waits for a file that is not a regular file.
def fifo(path):
    os.mkfifo(path)


def folder(path):
    path.mkdir()


def device(path):
    path.symlink_to("/dev/zero")


def broken_link(path):
    path.symlink_to("nowhere")


def ring(path):
    path.symlink_to(path)


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (fifo, "not a regular file but a FIFO"),
        (folder, "not a regular file but a folder"),
        (device, "not a regular file but a character device"),
        (broken_link, "ENOENT: No such file or directory"),
        (ring, "ELOOP: Too many levels of symbolic links"),
    ],
)
@pytest.mark.parametrize("form", ["raw", "qcow2"])
def test_a_disk_must_be_a_regular_file(source, tmp_path, make, problem, form):
    """A disk path that is a FIFO, folder, device or broken link is listed with an error text and without a size."""
    make(tmp_path / "odd")
    (file,) = read(source, GuestFile(path=str(tmp_path / "odd"), format=form)).disk_files
    assert (file.virtual_bytes, file.allocated_bytes, file.problem) == (None, None, problem)


# /proc/kcore is as large as the address space; reading /proc/kmsg takes the messages from their next reader.
KERNEL_FILES = {
    "/proc/kmsg": "proc",
    "/proc/self/mem": "proc",
    "/proc/kcore": "proc",
    "/sys/kernel/uevent_seqnum": "sysfs",
}


@pytest.mark.parametrize(("path", "kind"), [pair for pair in KERNEL_FILES.items() if os.path.exists(pair[0])])
def test_a_disk_path_in_proc_or_sysfs_is_not_opened(source, monkeypatch, path, kind):
    """A guest's disk path may refer to a kernel file in /proc or /sys. The agent does not open this file."""
    opened, real = [], os.open
    monkeypatch.setattr(disk_files.os, "open", lambda name, *args: (opened.append(name), real(name, *args))[1])
    (file,) = read(source, GuestFile(path=path, format="qcow2")).disk_files
    assert file.problem == f"not a disk but a file of a kernel file system ({kind})"
    assert opened == []


def test_a_file_of_size_zero_is_not_opened(source, tmp_path, monkeypatch):
    """A disk file of size 0 may be a kernel file, for example in /proc. The agent does not open the file."""
    (tmp_path / "empty").touch()
    monkeypatch.setattr(disk_files.os, "open", None)
    (file,) = read(source, GuestFile(path=str(tmp_path / "empty"), format="qcow2")).disk_files
    assert file.problem == "not a qcow2 image: the first bytes are not those of a qcow2 header"


def test_a_control_character_in_a_data_file_name_is_escaped(source, tmp_path):
    """The error about a qcow2 image's missing data file shows the file name with control characters escaped."""
    name, head = b"\xff\x1b[31mgone", bytearray(512)
    for offset, size, number in ((0, 4, 0x514649FB), (4, 4, 3), (24, 8, 1 << 30), (72, 8, 4), (100, 4, 104)):
        head[offset : offset + size] = number.to_bytes(size, "big")
    head[104 : 112 + len(name)] = (0x44415441).to_bytes(4, "big") + len(name).to_bytes(4, "big") + name
    (tmp_path / "image").write_bytes(head)
    (file,) = read(source, GuestFile(path=str(tmp_path / "image"), format="qcow2")).disk_files
    assert file.problem == rf"ENOENT: No such file or directory ({tmp_path}/\udcff\x1b[31mgone)"


def test_a_symlink_to_a_disk_has_the_size_of_the_disk(source, place):
    (place / "link").symlink_to(place / UUID / "disk")
    assert read(source, raw(place / "link")).disk_files[0].virtual_bytes == 10000


@pytest.mark.parametrize("number", [errno.ENOENT, errno.ESTALE, errno.EACCES, errno.EIO, errno.ENAMETOOLONG])
def test_s89_an_error_on_one_disk_spares_the_other_disk(source, place, monkeypatch, number):
    """If the operating system returns an error for one of two disks, the agent still reads the other disk."""
    real, bad = os.stat, str(place / "bad")

    def stat(path, **kwargs):
        if path == bad:
            raise OSError(number, os.strerror(number), path)
        return real(path, **kwargs)

    monkeypatch.setattr(disk_files.os, "stat", stat)
    one, other = read(source, raw(bad), raw(place / UUID / "disk")).disk_files
    problems = {file.path: file.problem for file in (one, other)}
    assert problems == {bad: f"{errno.errorcode[number]}: {os.strerror(number)}", str(place / UUID / "disk"): None}


def test_a_disk_path_with_a_null_byte_gets_an_error_text(source):
    (file,) = read(source, raw("/a\0b")).disk_files
    # Python 3.11 says "embedded null byte", Python 3.13 "embedded null character in path".
    assert "embedded null" in file.problem


def walked(place, *disks):
    """Return the bytes by path, as the walk reports them."""
    found = walk(str(place), str(place / "_base"), frozenset(map(str, disks)))
    return {file.path: file.allocated_bytes for file in found}


def all_bytes(place):
    return sum(map(blocks, (place, *place.rglob("*"))))


def test_each_byte_in_the_instances_folder_is_counted_once(place):
    """The agent counts each byte below nova's instances folder for exactly one path."""
    (place / "snapshots" / "a" / "b").mkdir(parents=True)
    (place / "snapshots" / "a" / "b" / "file").write_bytes(b"x" * 30000)
    (place / f"{UUID}_resize").mkdir()
    (place / f"{UUID}_resize" / "disk").write_bytes(b"x" * 40000)
    found = walked(place)
    assert sum(found.values()) == all_bytes(place)
    assert set(found) == {
        str(place / name) for name in ("", UUID, f"{UUID}_resize", "_base", "_base/89abcdef", "locks", "snapshots")
    }


def test_a_disk_in_a_folder_with_a_suffix_is_counted_alone(place):
    """A disk in a folder like UUID_foo is counted on its own. A disk in the folder UUID is part of that folder."""
    folder = place / f"{UUID}_foo"
    folder.mkdir()
    (folder / "disk").write_bytes(b"x" * 40000)
    inside = place / UUID / "disk"
    found = walked(place, folder / "disk", inside)
    assert found[str(folder / "disk")] == blocks(folder / "disk")
    assert found[str(folder)] == blocks(folder)
    assert str(inside) not in found


def test_a_file_with_two_hard_links_is_counted_once(place):
    """A file with two hard links in nova's instances folder is counted once."""
    before = walked(place)
    os.link(place / "_base" / "89abcdef", place / "locks" / "again")
    assert walked(place) == before


def test_the_folder_walk_does_not_follow_symlinks(place):
    """The agent does not follow a symbolic link while it measures nova's instances folder."""
    (place / "all").symlink_to(place)
    assert walked(place)[str(place / "all")] == blocks(place / "all")


def test_a_disk_outside_instance_folders_is_counted_alone(place):
    """A guest's disk in a folder that belongs to no instance is counted on its own, not as part of that folder."""
    deep = place / "by-hand" / "a" / "b"
    deep.mkdir(parents=True)
    (deep / "disk").write_bytes(b"x" * 60000)
    (deep / "file").write_bytes(b"x" * 30000)
    found = walked(place, deep / "disk", place / UUID / "disk")
    assert found[str(deep / "disk")] == blocks(deep / "disk")
    assert str(place / UUID / "disk") not in found
    assert sum(found.values()) == all_bytes(place)


def test_the_folder_walk_stops_at_its_maximum_of_entries(place, monkeypatch):
    """The agent measures nova's instances folder only up to a maximum number of entries."""
    monkeypatch.setattr(image_walk, "MAX_ENTRIES", 10)
    for number in range(100):
        (place / f"many-{number}").touch()
    assert len(walked(place)) == 11  # the folder itself


def test_the_folder_walk_stops_at_its_maximum_depth(place):
    """The agent does not count a file that lies 40 folders deep in nova's instances folder."""
    deep = place.joinpath(*("d" for _ in range(40)))
    deep.mkdir(parents=True)
    (deep / "far").write_bytes(b"x" * 30000)
    assert sum(walked(place).values()) <= all_bytes(place) - blocks(deep / "far")


def test_a_path_that_is_not_utf_8_is_escaped(place):
    """If a name in nova's instances folder is not UTF-8, the agent lists its path with the invalid bytes escaped."""
    os.mkdir(os.fsencode(place) + b"/\xff\xfe")
    assert f"{place}/\\xff\\xfe" in walked(place)


def test_an_unreadable_folder_is_counted_without_its_files(place, monkeypatch):
    """If the agent may not list an instance's folder, it counts only the folder itself, not the files in it."""
    real = os.scandir

    def scandir(path):
        if path == str(place / UUID):
            raise PermissionError(errno.EACCES, "Permission denied", path)
        return real(path)

    monkeypatch.setattr(image_walk.os, "scandir", scandir)
    assert walked(place)[str(place / UUID)] == blocks(place / UUID)


def test_the_image_cache_size_excludes_its_subfolders(place):
    """The size of nova's image cache (_base) does not include files in its subfolders."""
    (place / "_base" / "folder").mkdir()
    (place / "_base" / "folder" / "file").write_bytes(b"x" * 9000)
    assert cache_bytes(str(place), str(place / "_base")) == blocks(place / "_base" / "89abcdef")


def test_a_vanished_image_is_left_out_of_the_cache_size(place, monkeypatch):
    """If an image vanishes while nova's image cache is measured, the agent counts only the other images."""
    listed = [*os.listdir(place / "_base"), "gone"]
    monkeypatch.setattr(image_walk.os, "listdir", lambda _path: listed)
    assert cache_bytes(str(place), str(place / "_base")) == blocks(place / "_base" / "89abcdef") > 0


REFUSALS = [errno.ESTALE, errno.EIO, errno.EACCES, errno.ENOTDIR]


def refusing(monkeypatch, call, refused, number):
    """Make the call of os fail for that path, as it would on a dead disk or a network file system."""
    real = getattr(os, call)

    def wrapped(path=".", **kwargs):
        if str(path) == str(refused):
            raise OSError(number, os.strerror(number), str(path))
        return real(path, **kwargs)

    monkeypatch.setattr(image_walk.os, call, wrapped)


@pytest.mark.parametrize("number", REFUSALS)
@pytest.mark.parametrize(("call", "of"), [("listdir", "_base"), ("stat", "_base"), ("stat", "_base/89abcdef")])
def test_an_unreadable_image_cache_has_an_unknown_size(source, place, monkeypatch, number, call, of):
    """If nova's image cache cannot be read, its size is unknown. The next read measures the cache again."""
    with monkeypatch.context() as patched:
        refusing(patched, call, place / of, number)
        facts = read(source, raw(place / UUID / "disk"))
    why = f"{errno.errorcode[number]}: {os.strerror(number)}"
    assert facts.unread == ((str(place / "_base"), why),)
    assert (facts.image_stores[0].cache_bytes, facts.disk_files[0].virtual_bytes) == (None, 10000)
    again = read(source, raw(place / UUID / "disk"))
    assert (again.image_stores[0].cache_bytes, again.unread) == (blocks(place / "_base" / "89abcdef"), ())


@pytest.mark.parametrize("number", REFUSALS)
def test_guest_disks_are_read_if_their_folder_cannot_be_listed(source, place, monkeypatch, number):
    """If nova's instances folder cannot be listed, the agent still measures the disks of the guests in it."""
    refusing(monkeypatch, "scandir", place, number)
    facts = read(source, raw(place / UUID / "disk"))
    assert facts.unread == ((str(place), f"{errno.errorcode[number]}: {os.strerror(number)}"),)
    assert (facts.image_stores, facts.disk_files[0].virtual_bytes) == ((), 10000)


def test_an_image_cache_on_another_file_system_counts_as_zero(place):
    """An image cache that is missing or lies on another file system counts 0 bytes."""
    assert cache_bytes(str(place), str(place / "none")) == 0
    assert cache_bytes(str(place), "/proc") == 0


def test_several_hosts_in_compute_nodes_show_shared_storage(place):
    """Nova's file compute_nodes lists the hosts that use the instances folder. With two hosts, the folder is shared."""
    (place / "compute_nodes").write_text(json.dumps({"cmp1": time.time()}))
    assert shared_because(str(place)) == ""
    (place / "compute_nodes").write_text(json.dumps({"cmp2": time.time(), "cmp1": time.time() - 3600}))
    assert shared_because(str(place)) == "nova's file compute_nodes in the folder lists several hosts: cmp1, cmp2"


@pytest.mark.parametrize(
    "written", ["", "[]", "null", '{"a": "yesterday", "b": null}', "\xff", "[" * 100000, '{"a": 1.0, "b": 2.0}']
)
def test_an_invalid_or_old_compute_nodes_file_gives_no_hosts(place, written):
    """The agent reads no hosts from nova's file compute_nodes if the file is invalid or its entries are old."""
    (place / "compute_nodes").write_text(written, encoding="latin-1")
    assert registered_hosts(str(place), 1e9) == ()


def test_the_file_system_type_is_found_by_device_number(tmp_path):
    """The agent looks up a device number in the mount table and finds its file system type, for example nfs4."""
    mounts = tmp_path / "mountinfo"
    mounts.write_text(
        "22 27 0:21 / /proc rw - proc proc rw\n"
        "98 27 0:52 / /var/lib/nova/instances rw,relatime shared:1 - nfs4 server:/export rw\n"
        "broken\n"
    )
    assert filesystem_type(mounts, os.makedev(0, 52)) == "nfs4"
    assert filesystem_type(mounts, os.makedev(8, 1)) == ""
    assert filesystem_type(tmp_path / "none", os.makedev(0, 52)) == ""


def test_the_file_system_type_at_proc_is_proc():
    """The agent finds the type "proc" for the file system that is mounted at /proc."""
    assert filesystem_type(Path("/proc/self/mountinfo"), os.stat("/proc").st_dev) == "proc"
