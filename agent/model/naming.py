"""How nova and cinder name what they keep on a host: instances' folders and volumes, volumes of block storage.

Every module that asks whose a folder, file or volume is asks here: two of them
that disagree would give one disk to nobody.
"""

from __future__ import annotations

import re

_UUID = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
# nova renames the folder to _resize until a resize is confirmed or reverted, and to _del to remove it.
_INSTANCE_FOLDER = re.compile(f"({_UUID})(|_resize|_del)")
# nova: <uuid>_<disk name>, the disk name's own underscores doubled; nova itself matches by the prefix alone.
_INSTANCE_VOLUME = re.compile(f"({_UUID})_.*")
# cinder's volume_name_template and its snapshots ("snapshot" at the front of a name is reserved by lvm2, hence "_").
_BLOCK_STORAGE_VOLUME = re.compile(f"(volume|_snapshot)-{_UUID}")
# The same on NFS and its like; a snapshot's file has its own uuid behind that.
_BLOCK_STORAGE_FILE = re.compile(f"volume-{_UUID}([.]{_UUID})?")

KEPT_FOR_RESIZE = "_resize"


def instance_folder(name: str) -> tuple[str, str] | None:
    """(uuid, what nova appended: "", "_resize" or "_del") of an instance's folder; None for any other."""
    match = _INSTANCE_FOLDER.fullmatch(name)
    return (match[1], match[2]) if match else None


def instance_of_volume(name: str) -> str | None:
    """The uuid of the instance whose disk a logical volume is by its name, or None."""
    match = _INSTANCE_VOLUME.fullmatch(name)
    return match[1] if match else None


def is_block_storage_volume(name: str) -> bool:
    """Whether cinder names a logical volume so."""
    return _BLOCK_STORAGE_VOLUME.fullmatch(name) is not None


def is_block_storage_file(name: str) -> bool:
    """Whether cinder names a volume's file so."""
    return _BLOCK_STORAGE_FILE.fullmatch(name) is not None
