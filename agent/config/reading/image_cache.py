"""Decide where the cached images lie: nova-compute joins ``instances_path`` and the name that the option gives.

A name in our file must stay inside ``instances_path``. One in nova.conf may lead elsewhere, as nova-compute lets it,
but not to ``instances_path`` itself or a folder above it: every disk would count as a cached image.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from agent.config.load import Loaded
from agent.config.reading.tolerance import novas_notices, refuse_ours

_NAME = ("image_cache", "subdirectory_name")


def cache_path(loaded: Loaded) -> str:
    """The folder, absolute. Raises ConfigError on a name of ours that leads out of instances_path."""
    refuse_ours(loaded, _NAME, _problems(loaded))
    instances_path = loaded.value("DEFAULT", "instances_path")
    return _joined(instances_path, loaded.default(*_NAME) if _holds_all(loaded) else loaded.value(*_NAME))


def cache_notices(loaded: Loaded) -> Iterator[str]:
    """A name in nova.conf that leads out of instances_path."""
    outcome = "the default holds" if _holds_all(loaded) else "the cache is looked for there, as by nova-compute"
    yield from novas_notices(loaded, _NAME, _problems(loaded), outcome)


def _problems(loaded: Loaded) -> Iterator[str]:
    name = loaded.value(*_NAME)
    if os.path.isabs(name) or os.path.normpath(name).split(os.sep)[0] in (os.curdir, os.pardir):
        yield f"{loaded.quote(*_NAME)}: must name a folder inside {loaded.quote('DEFAULT', 'instances_path')}"


def _holds_all(loaded: Loaded) -> bool:
    """Whether the folder is instances_path, or one above it."""
    instances_path = os.path.normpath(loaded.value("DEFAULT", "instances_path"))
    folder = _joined(instances_path, loaded.value(*_NAME))
    return os.path.commonpath([folder, instances_path]) == folder if os.path.isabs(instances_path) else False


def _joined(instances_path: str, name: str) -> str:
    return os.path.normpath(os.path.join(instances_path, name))
