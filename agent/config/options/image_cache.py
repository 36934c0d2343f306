"""[image_cache]: the folder of nova's cached images; name and meaning are those of nova.conf."""

from __future__ import annotations

from oslo_config import cfg

GROUP = "image_cache"

OPTS = FROM_NOVA = [
    cfg.StrOpt(
        "subdirectory_name",
        default="_base",
        deprecated_name="image_cache_subdirectory_name",
        deprecated_group="DEFAULT",
        help="Folder of cached images inside [DEFAULT] instances_path. The default is nova's. Needs a restart.",
    ),
]
