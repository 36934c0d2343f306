"""Read where guests' disks are stored, which volume groups to audit, and which image formats are not offered."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from agent.config.loaded import Loaded
from agent.config.problems import Tolerated, refuse

_EXCLUDED = ("compute", "image_type_exclude_list")

# Matches a valid name of a volume group (lvm(8), VALID NAMES): at most 127 characters, 128 bytes with the terminating
# NUL.
_LVM_NAME = re.compile(r"(?!\.{1,2}\Z)[a-zA-Z0-9+_.][a-zA-Z0-9+_.-]{0,126}\Z")
# The disk formats of the image service (Glance). Only some of them have a trait.
IMAGE_FORMATS = frozenset(
    ("aki", "ami", "ari", "gpt", "iso", "luks", "ploop", "qcow2", "raw", "vdi", "vhd", "vhdx", "vmdk")
)


def images_type(loaded: Loaded) -> str:
    """Return ``[libvirt] images_type`` with ``default`` resolved. Raises ConfigError if a required option is unset."""
    refuse(_problems(loaded))
    configured: str = loaded.value("libvirt", "images_type")
    if configured != "default":
        return configured
    return "qcow2" if loaded.value("DEFAULT", "use_cow_images") else "flat"


def volume_groups(loaded: Loaded) -> tuple[str, ...]:
    """Return the volume groups to audit, sorted. Raises ConfigError for a name that LVM does not allow."""
    homes = dict.fromkeys(loaded.value("lvm", "volume_groups"), ("lvm", "volume_groups"))
    own = loaded.value("libvirt", "images_volume_group")
    if own and loaded.value("libvirt", "images_type") == "lvm":
        homes.setdefault(own, ("libvirt", "images_volume_group"))
    bad = [name for name in sorted(homes) if not _LVM_NAME.match(name)]
    refuse(f"{loaded.quote(*homes[name])}: {name!r} is not a valid name of a volume group" for name in bad)
    return tuple(sorted(homes))


def excluded_image_types(loaded: Loaded) -> frozenset[str]:
    """Return ``image_type_exclude_list``. Raises ConfigError if Stocktake's own files list an unknown format."""
    EXCLUDED_TYPES.refuse_own(loaded)
    return frozenset(loaded.listed(*_EXCLUDED)) & IMAGE_FORMATS


def _strange_formats(loaded: Loaded) -> Iterator[str]:
    quoted, formats = loaded.quote(*_EXCLUDED), ", ".join(sorted(IMAGE_FORMATS))
    for name in loaded.listed(*_EXCLUDED):
        if name not in IMAGE_FORMATS:
            yield f"{quoted}: {name!r} is not an image format; the formats are {formats}"


EXCLUDED_TYPES = Tolerated(_EXCLUDED, _strange_formats, "the agent ignores this entry of the list")


def _problems(loaded: Loaded) -> Iterable[str]:
    images = loaded.quote("libvirt", "images_type")
    kind = loaded.value("libvirt", "images_type")
    if kind == "lvm" and not loaded.value("libvirt", "images_volume_group"):
        yield f"{images}: needs [libvirt] images_volume_group, which is not set"
    if kind == "rbd" and not loaded.value("DEFAULT", "force_raw_images"):
        raw = loaded.quote("DEFAULT", "force_raw_images")
        yield f"{raw}: cannot be set together with {images}, because disks in Ceph are raw"
