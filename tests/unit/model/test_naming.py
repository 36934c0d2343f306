"""The names that nova and cinder use for their files and volumes on a host."""

from __future__ import annotations

import pytest

from agent.model.naming import instance_folder, instance_of_volume, is_block_storage_file, is_block_storage_volume

U = "0f4cba20-5b4e-4f05-8a4b-6c0d3c9f2f11"
V = "9d3b6f0e-2a57-4c1d-b1a4-5f5d1f0f8f10"


@pytest.mark.parametrize("suffix", ["", "_resize", "_del"])
def test_an_instance_folder_is_recognised_by_its_name(suffix):
    """A folder belongs to an instance if its name is the instance's uuid, alone or with _resize or _del."""
    assert instance_folder(f"{U}{suffix}") == (U, suffix)


@pytest.mark.parametrize(
    "name",
    [f"{U}_foo", f"{U}_", f"{U}_resize_del", f"x{U}", U.upper(), f"{U}\n", U[:-1], U.replace("-", ""), "", "_base"],
)
def test_a_folder_with_an_invalid_name_belongs_to_no_instance(name):
    """A folder belongs to no instance if its name has an invalid uuid or an unknown suffix such as _foo."""
    assert instance_folder(name) is None


@pytest.mark.parametrize(
    ("name", "owner"),
    [
        (f"{U}_disk", U),
        (f"{U}_disk.eph0", U),
        (f"{U}_disk__of__ours", U),
        (U, None),
        (f"volume-{U}", None),
        (f"x{U}_disk", None),
    ],
)
def test_a_volume_name_shows_its_instance(name, owner):
    """A volume belongs to an instance if its name is the instance's uuid and a suffix that begins with _disk."""
    assert instance_of_volume(name) == owner


@pytest.mark.parametrize(
    ("name", "volume", "file"),
    [
        (f"volume-{U}", True, True),
        (f"_snapshot-{U}", True, False),
        (f"snapshot-{U}", False, False),
        (f"volume-{U}.{V}", False, True),
        (f"volume-{U}.qcow2", False, False),
        ("volume-1", False, False),
        (f"{U}_disk", False, False),
    ],
)
def test_cinder_volumes_are_recognised_by_name(name, volume, file):
    """The agent recognises Cinder's volumes and files by names such as volume-<uuid>."""
    assert (is_block_storage_volume(name), is_block_storage_file(name)) == (volume, file)
