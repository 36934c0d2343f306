"""Which file system a path is on: real mounts, and a folder that imitates udev's."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.sources.storage import mounts as under_test
from agent.sources.storage.filesystem import measure, measure_identified
from tests.rigs.mounts import Mounts, ext4_image, needs_mounts, run

UUID = "11111111-2222-4333-8444-555555555555"


@pytest.fixture
def mounts() -> Iterator[Mounts]:
    made = Mounts()
    try:
        yield made
    finally:
        made.close()


@needs_mounts
def test_the_mount_above_a_folder_is_found(tmp_path: Path, mounts: Mounts):
    """If nothing is mounted on a folder itself, the agent finds the mount that contains the folder."""
    place = tmp_path / "a folder\twith \\ in its name"
    mounts.tmpfs(place, 3)
    seen = measure_identified(str(place))
    assert seen.size_bytes == measure(str(place)).size_bytes == 3 << 30
    assert seen.identity is not None
    assert (seen.identity.mount_point, seen.identity.kind, seen.identity.inner) == (str(place), "tmpfs", "/")
    assert seen.identity.uuid is None
    mounts.unmount(place)
    parent = measure_identified(str(place)).identity
    assert parent is not None
    assert parent.mount_point != str(place)
    assert parent.inner.endswith(place.name)


@needs_mounts
def test_the_newer_of_two_mounts_on_a_folder_is_measured(tmp_path: Path, mounts: Mounts):
    """If two file systems are mounted on one folder, the agent measures the one that was mounted last."""
    mounts.tmpfs(tmp_path / "m", 3)
    mounts.tmpfs(tmp_path / "m", 5)
    assert measure_identified(str(tmp_path / "m")).size_bytes == 5 << 30
    (tmp_path / "m" / "folder").mkdir()
    identity = measure_identified(str(tmp_path / "m" / "folder")).identity
    assert identity is not None
    assert identity.inner == "/folder"


@needs_mounts
def test_a_bind_mount_has_the_path_of_its_source_folder(tmp_path: Path, mounts: Mounts):
    """A folder /nova of a file system is bind-mounted elsewhere.

    The agent finds the path /nova, from the file system's root.
    """
    mounts.tmpfs(tmp_path / "srv", 3)
    (tmp_path / "srv" / "nova").mkdir()
    mounts.bind(tmp_path / "srv" / "nova", tmp_path / "instances")
    (tmp_path / "link").symlink_to(tmp_path / "instances")
    found = [measure_identified(str(tmp_path / name)).identity for name in ("srv/nova", "instances", "link")]
    assert [identity.inner if identity else None for identity in found] == ["/nova"] * 3


@needs_mounts
def test_an_ext4_mount_has_the_uuid_of_its_superblock(tmp_path: Path, mounts: Mounts):
    mounts.ext4(tmp_path / "m", ext4_image(tmp_path / "image", 16, UUID))
    identity = measure_identified(str(tmp_path / "m")).identity
    assert identity is not None
    assert (identity.kind, identity.uuid) == ("ext4", UUID)


@needs_mounts
def test_the_uuid_is_read_from_udev_on_an_old_kernel(tmp_path: Path, mounts: Mounts, monkeypatch: pytest.MonkeyPatch):
    """If the kernel is too old to report a file system's UUID, the agent reads the UUID from udev."""
    mounts.ext4(tmp_path / "m", ext4_image(tmp_path / "image", 16, UUID))
    device = run("findmnt", "-n", "-o", "SOURCE", str(tmp_path / "m")).strip()
    links = tmp_path / "by-uuid"
    links.mkdir()
    (links / "0000-other").symlink_to("/dev/null")
    (links / UUID).symlink_to(device)
    (links / "9999-dangling").symlink_to("/dev/that-there-is-not")
    monkeypatch.setattr(under_test, "BY_UUID", links)
    monkeypatch.setattr(under_test, "_FS_IOC_GETFSUUID", 0x80111599)
    identity = measure_identified(str(tmp_path / "m")).identity
    assert identity is not None
    assert identity.uuid == UUID
    (links / UUID).unlink()
    monkeypatch.setattr(under_test, "UDEV_DATA", tmp_path)
    number = os.stat(device).st_rdev
    data = tmp_path / f"b{os.major(number)}:{os.minor(number)}"
    data.write_text(f"S:disk/by-uuid/x\nE:ID_FS_TYPE=ext4\nE:ID_FS_UUID_ENC={UUID}\n")
    assert measure_identified(str(tmp_path / "m")).identity == identity
    data.write_text("E:ID_FS_TYPE=ext4\n")
    unknown = measure_identified(str(tmp_path / "m")).identity
    assert unknown == dataclasses.replace(identity, uuid=None)


def test_a_size_is_measured_despite_an_empty_mount_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """The agent measures the size of a file system even if the kernel's mount table is empty."""
    empty = tmp_path / "mountinfo"
    empty.write_text("")
    monkeypatch.setattr(under_test, "MOUNTS", empty)
    found = measure_identified(str(tmp_path))
    assert found.identity is None
    assert found.size_bytes == os.statvfs(tmp_path).f_blocks * os.statvfs(tmp_path).f_frsize
