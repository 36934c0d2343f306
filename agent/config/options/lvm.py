"""[lvm]: the volume groups to audit; only the volume group of the guests' disks can change DISK_GB."""

from __future__ import annotations

from oslo_config import cfg

GROUP = "lvm"

OPTS = [
    cfg.ListOpt(
        "volume_groups",
        default=[],
        sample_default="<[libvirt] images_volume_group>",
        help="Volume groups to audit. Unset: [libvirt] images_volume_group when images_type = lvm, which is audited "
        "in any case; else none. Needs a restart.",
    ),
    cfg.FloatOpt(
        "deadline",
        default=20.0,
        min=0.1,
        help="Seconds that one LVM command may take; it is ended then. A healthy report takes well below one. "
        "Needs a restart.",
    ),
    cfg.StrOpt(
        "foreign_volumes",
        default="reserve",
        choices=["reserve", "report", "ignore"],
        mutable=True,
        help="What to do with volumes that are nobody's in the group of the guests' disks: raise DISK_GB's reserved "
        "(role companion: hold it by allocations of our own), report them only, or neither. SIGHUP applies it.",
    ),
]
