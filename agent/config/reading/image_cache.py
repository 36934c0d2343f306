"""Find the folder of cached images: nova-compute joins ``instances_path`` and ``subdirectory_name``.

A name in Stocktake's own files must stay inside ``instances_path``. A name in nova.conf may lead elsewhere, because
nova-compute allows that. If it leads to ``instances_path`` itself or to a folder above, the default applies: otherwise
every disk would count as a cached image.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from agent.config.load import Loaded
from agent.config.reading.tolerance import novas_notices, refuse_ours

_NAME = ("image_cache", "subdirectory_name")


def cache_path(loaded: Loaded) -> str:
    """Return the absolute path of the folder.

    Raises ConfigError if the name in Stocktake's own files leads out of ``instances_path``.
    """
    refuse_ours(loaded, _NAME, _problems(loaded))
    instances_path = loaded.value("DEFAULT", "instances_path")
    return _joined(instances_path, loaded.default(*_NAME) if _holds_all(loaded) else loaded.value(*_NAME))


def cache_notices(loaded: Loaded) -> Iterator[str]:
    """Yield a notice if the name in nova.conf leads out of ``instances_path``."""
    outcome = (
        "the agent takes the default"
        if _holds_all(loaded)
        else "the agent looks for the cache there, as nova-compute does"
    )
    yield from novas_notices(loaded, _NAME, _problems(loaded), outcome)


def _problems(loaded: Loaded) -> Iterator[str]:
    name = loaded.value(*_NAME)
    if os.path.isabs(name) or os.path.normpath(name).split(os.sep)[0] in (os.curdir, os.pardir):
        yield f"{loaded.quote(*_NAME)}: must name a folder inside {loaded.quote('DEFAULT', 'instances_path')}"


def _holds_all(loaded: Loaded) -> bool:
    """Return whether the folder is ``instances_path`` or a folder above it."""
    instances_path = os.path.normpath(loaded.value("DEFAULT", "instances_path"))
    folder = _joined(instances_path, loaded.value(*_NAME))
    return os.path.commonpath([folder, instances_path]) == folder if os.path.isabs(instances_path) else False


def _joined(instances_path: str, name: str) -> str:
    return os.path.normpath(os.path.join(instances_path, name))
