"""The names that nova and cinder use on a host for instances' folders, instances' volumes and cinder volumes.

Every module that maps a folder, file or volume to its owner must use this module. If two modules disagreed, a disk
could end up without an owner.
"""

from __future__ import annotations

import re

_UUID = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
# Matches the name of an instance's folder. nova adds _resize to the name until a resize is confirmed or reverted, and
# _del before nova removes the folder.
_INSTANCE_FOLDER = re.compile(f"({_UUID})(|_resize|_del)")
# Matches nova's name of an instance's volume, <uuid>_<disk name>; nova doubles underscores of the disk name. To find
# volumes, nova compares the prefix <uuid>_.
_INSTANCE_VOLUME = re.compile(f"({_UUID})_.*")
# Matches cinder's names of volumes (volume_name_template) and snapshots. cinder's LVM driver adds the "_" because lvm2
# reserves names that begin with "snapshot".
_BLOCK_STORAGE_VOLUME = re.compile(f"(volume|_snapshot)-{_UUID}")
# Matches the file names of cinder's NFS driver and similar drivers. A snapshot's file has the snapshot's uuid as a
# suffix.
_BLOCK_STORAGE_FILE = re.compile(f"volume-{_UUID}([.]{_UUID})?")

KEPT_FOR_RESIZE = "_resize"


def instance_folder(name: str) -> tuple[str, str] | None:
    """Split an instance's folder name into uuid and suffix ("", "_resize" or "_del"); None for any other folder."""
    match = _INSTANCE_FOLDER.fullmatch(name)
    return (match[1], match[2]) if match else None


def instance_of_volume(name: str) -> str | None:
    """Return the uuid of the instance that owns a logical volume of this name; None if the name has another form."""
    match = _INSTANCE_VOLUME.fullmatch(name)
    return match[1] if match else None


def is_block_storage_volume(name: str) -> bool:
    """Whether the name is a name that cinder gives to logical volumes."""
    return _BLOCK_STORAGE_VOLUME.fullmatch(name) is not None


def is_block_storage_file(name: str) -> bool:
    """Whether the name is a name that cinder gives to the file of a volume."""
    return _BLOCK_STORAGE_FILE.fullmatch(name) is not None
