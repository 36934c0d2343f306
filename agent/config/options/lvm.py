"""[lvm]: the volume groups to audit. Only the volume group with the guests' disks has an influence on DISK_GB."""

from __future__ import annotations

from oslo_config import cfg

GROUP = "lvm"

OPTS = [
    cfg.ListOpt(
        "volume_groups",
        default=[],
        sample_default="<[libvirt] images_volume_group>",
        help="LVM volume groups to audit. If [libvirt] images_type = lvm, the agent also audits [libvirt] "
        "images_volume_group, even if this list does not name it. A new value needs a restart.",
    ),
    cfg.FloatOpt(
        "deadline",
        default=20.0,
        min=0.1,
        help="Maximum seconds for one LVM command; after this time the agent ends the command. Normally a command "
        "takes well below one second. A new value needs a restart.",
    ),
    cfg.StrOpt(
        "foreign_volumes",
        default="reserve",
        choices=["reserve", "report", "ignore"],
        mutable=True,
        help="What the agent does about foreign volumes. A foreign volume lies in the volume group of the guests' "
        "disks and belongs to no instance and no known service. ignore: nothing. report: the agent only reports the "
        "volumes. reserve: the agent also makes Placement count the volumes' space as taken. The agent raises the "
        "reserved amount of DISK_GB; if the agent's role is companion, it creates an allocation instead. SIGHUP "
        "applies a new value.",
    ),
    cfg.ListOpt(
        "accepted_volumes",
        default=[],
        mutable=True,
        sample_default="<none>",
        help="Foreign volumes that are meant to be there, each as GROUP/VOLUME; * and ? are wildcards. The agent "
        "does not report these volumes. If foreign_volumes = reserve, the agent still reserves their space. SIGHUP "
        "applies a new value.",
    ),
]
