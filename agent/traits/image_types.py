"""COMPUTE_IMAGE_TYPE_*: the image formats that this host can convert into a disk.

VDI, VHD, VHDX and VMDK are formats of other hypervisors: the agent never changes their traits. The trait of a format in
``[compute] image_type_exclude_list`` is cleared.
"""

from __future__ import annotations

from agent.model.settings import Settings
from agent.model.snapshot import Snapshot
from agent.traits.base import Wish, wish_of


def wish(snapshot: Snapshot, settings: Settings) -> Wish:  # noqa: ARG001
    """Return the Wish that sets or clears the trait of each format."""
    # A logical volume or an RBD image contains raw bytes, so qcow2 works only if nova converts the image to raw.
    converted = settings.force_raw_images or settings.images_type not in ("lvm", "rbd")
    accepted = {kind: True for kind in ("aki", "ami", "ari", "iso", "raw")}
    accepted |= {"qcow2": converted, "ploop": settings.virt_type == "parallels"}
    return wish_of(
        {
            f"COMPUTE_IMAGE_TYPE_{kind.upper()}": there and kind not in settings.image_types_excluded
            for kind, there in accepted.items()
        }
    )
