"""[workarounds]: the one workaround of nova that changes an inventory. Its name and meaning are as in nova.conf."""

from __future__ import annotations

from oslo_config import cfg

GROUP = "workarounds"

OPTS = FROM_NOVA = [
    cfg.BoolOpt(
        "reserve_disk_resource_for_image_cache",
        default=False,
        mutable=True,
        help="Add the size of the image cache to the reserved amount of DISK_GB, if the cache is on the file system "
        "of instances_path. Nova has the same default. SIGHUP applies a new value.",
    ),
]
