"""[lvm]: the volume groups to audit; only the volume group of the guests' disks can change DISK_GB."""

from __future__ import annotations

from oslo_config import cfg

GROUP = "lvm"

OPTS = [
    cfg.ListOpt(
        "volume_groups",
        default=[],
        sample_default="<[libvirt] images_volume_group>",
        help="Volume groups to audit. With images_type = lvm, the agent audits [libvirt] images_volume_group in any "
        "case. Unset: that group only, or none. Needs a restart.",
    ),
    cfg.FloatOpt(
        "deadline",
        default=20.0,
        min=0.1,
        help="Maximum seconds for one LVM command; then the agent ends the command. A healthy report takes well below "
        "one second. Needs a restart.",
    ),
    cfg.StrOpt(
        "foreign_volumes",
        default="reserve",
        choices=["reserve", "report", "ignore"],
        mutable=True,
        help="What the agent does about volumes in the group of the guests' disks that belong to no instance and to "
        "no service that the agent knows. reserve: raise DISK_GB's reserved (in role companion: write "
        "allocations of the agent's own consumers); report: only report the volumes; ignore: neither. SIGHUP "
        "applies it.",
    ),
]
