"""[image_cache]: the folder of cached images, which is ``instances_path``/``subdirectory_name`` as in nova-compute.

In Stocktake's own files, the folder must be inside ``instances_path``. In nova.conf, the folder may be elsewhere,
because nova-compute allows that. But if the folder in nova.conf is or contains ``instances_path``, the agent uses the
default folder, because otherwise every disk would count as a cached image.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from oslo_config import cfg

from agent.config.loaded import Loaded
from agent.config.problems import is_novas, novas_notices, refuse

GROUP = "image_cache"

OPTS = FROM_NOVA = [
    cfg.StrOpt(
        "subdirectory_name",
        default="_base",
        deprecated_name="image_cache_subdirectory_name",
        deprecated_group="DEFAULT",
        help="Folder of cached images inside [DEFAULT] instances_path. Nova has the same default. A new value needs a "
        "restart.",
    ),
]

_NAME = (GROUP, "subdirectory_name")


def cache_path(loaded: Loaded) -> str:
    """Return the absolute path of the folder of cached images.

    Raises ConfigError if Stocktake's configuration sets a folder outside ``instances_path``.
    """
    if not is_novas(loaded, _NAME):
        refuse(_problems(loaded))
    name: str = loaded.default(*_NAME) if _holds_all(loaded) else loaded.value(*_NAME)
    instances_path: str = loaded.value("DEFAULT", "instances_path")
    return os.path.normpath(os.path.join(instances_path, name))


def cache_notices(loaded: Loaded) -> Iterator[str]:
    """Yield a notice if nova.conf sets an image cache folder outside ``instances_path``."""
    as_nova = "the agent looks for the cache in the named folder, as nova-compute does"
    outcome = "the agent uses the default folder" if _holds_all(loaded) else as_nova
    yield from novas_notices(loaded, _NAME, _problems(loaded), outcome)


def _problems(loaded: Loaded) -> Iterator[str]:
    name = loaded.value(*_NAME)
    if os.path.isabs(name) or os.path.normpath(name).split(os.sep)[0] in (os.curdir, os.pardir):
        yield f"{loaded.quote(*_NAME)}: must name a folder inside {loaded.quote('DEFAULT', 'instances_path')}"


def _holds_all(loaded: Loaded) -> bool:
    """Return whether the folder of cached images is ``instances_path`` itself or a folder that contains it."""
    instances_path = os.path.normpath(loaded.value("DEFAULT", "instances_path"))
    folder = os.path.normpath(os.path.join(instances_path, loaded.value(*_NAME)))
    return os.path.isabs(instances_path) and os.path.commonpath([folder, instances_path]) == folder
