"""COMPUTE_IMAGE_TYPE_*: the image formats that this host turns into a disk.

VDI, VHD, VHDX and VMDK are other hypervisors' formats: never mentioned, so that a
trait of theirs stays. A format in ``[compute] image_type_exclude_list`` is cleared.
"""

from __future__ import annotations

from agent.model.settings import Settings
from agent.model.snapshot import Snapshot
from agent.traits.base import Wish, told


class ImageTypeTraits:
    """Seven formats, by configuration alone."""

    name = "image-types"

    def wish(self, snapshot: Snapshot, settings: Settings) -> Wish:  # noqa: ARG002
        """Each set or cleared."""
        # A logical volume or an RBD image holds raw bytes: qcow2 only where it is converted on the way.
        converted = settings.force_raw_images or settings.images_type not in ("lvm", "rbd")
        accepted = {kind: True for kind in ("aki", "ami", "ari", "iso", "raw")}
        accepted |= {"qcow2": converted, "ploop": settings.virt_type == "parallels"}
        return told(
            {
                f"COMPUTE_IMAGE_TYPE_{kind.upper()}": there and kind not in settings.image_types_excluded
                for kind, there in accepted.items()
            }
        )
