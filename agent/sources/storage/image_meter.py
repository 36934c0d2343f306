"""Measure the guests' disk files and nova's image folder. The module keeps no earlier measurements.

If a folder cannot be read, only the measurements of this folder are missing. If the image folder does not exist, this
is not an error: the host then has no image store. The agent and stocktake-probe use the same functions. ``OwnMeter``
here calls them in this process. The meter in agent/sources/probe/storage.py asks stocktake-probe.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from agent.host_files.system_errors import with_errno
from agent.model.host.storage import DiskFile, GuestFile, ImageStore, StorageFacts
from agent.sources.storage.disk_files import measure_disk
from agent.sources.storage.filesystem import measure
from agent.sources.storage.image_walk import cache_bytes, walk
from agent.sources.storage.shared_storage import shared_because


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageFolders:
    """The absolute paths of nova's ``instances_path`` and of the folder with cached images."""

    instances_path: str
    cache_path: str


class ImageMeter(Protocol):
    """Measures disk files and the image store. A method may call ``go_to`` with the path that it reads next."""

    def measure(self, disks: frozenset[GuestFile], go_to: Callable[[str], None], /) -> StorageFacts:
        """Measure the files ``disks``, in the order of their paths, and nova's image folder. Raises SourceError."""
        ...

    def still_fails(self, file: DiskFile, go_to: Callable[[str], None], /) -> bool:
        """Return whether a file that could not be measured still has the same problem; False if that is not certain."""
        ...

    def changed_ns(self, path: str) -> object:
        """Return a value that changes when an entry of the folder is created, renamed or removed."""
        ...


@dataclass(frozen=True, slots=True)
class OwnMeter:
    """Implements ImageMeter with the rights of this process."""

    folders: ImageFolders

    def measure(self, disks: frozenset[GuestFile], go_to: Callable[[str], None]) -> StorageFacts:
        """Measure the disk images in this process, without stocktake-probe."""
        return measure_images(self.folders, disks, go_to)

    def still_fails(self, file: DiskFile, go_to: Callable[[str], None]) -> bool:
        """Measure the file again, and return whether the result is the same."""
        go_to(file.path)
        return measure_disk(GuestFile(path=file.path, format=file.format)) == file

    def changed_ns(self, path: str) -> int | None:
        """Return when an entry of the folder was last created, renamed or removed, in ns; None if stat fails."""
        try:
            return os.stat(path).st_mtime_ns
        except OSError:
            return None


def measure_images(
    folders: ImageFolders, disks: frozenset[GuestFile], go_to: Callable[[str], None] = lambda _path: None
) -> StorageFacts:
    """Measure the files ``disks`` and nova's image folder. The result's ``unread`` lists what could not be read."""
    files = []
    for disk in sorted(disks, key=lambda disk: (disk.path, disk.format)):
        go_to(disk.path)
        files.append(measure_disk(disk))
    go_to(folders.instances_path)
    unread: list[tuple[str, str]] = []
    stores = _stores(folders, frozenset(disk.path for disk in disks), unread)
    return StorageFacts(disk_files=tuple(files), image_stores=stores, unread=tuple(unread))


def _stores(folders: ImageFolders, disks: frozenset[str], unread: list[tuple[str, str]]) -> tuple[ImageStore, ...]:
    root = folders.instances_path
    try:
        store = ImageStore(
            path=root,
            files=walk(root, folders.cache_path, disks),
            cache_path=folders.cache_path,
            cache_bytes=_cache_bytes(folders, unread),
            # Measure the file system directly after the walk, so that its size and the files' sizes are of the same
            # time. The class FileSystems (another source) measures at another time.
            filesystem=measure(root),
            shared_because=shared_because(root),
        )
    except FileNotFoundError:
        return ()
    except OSError as error:
        unread.append((root, with_errno(error)))
        return ()
    return (store,)


def _cache_bytes(folders: ImageFolders, unread: list[tuple[str, str]]) -> int | None:
    try:
        return cache_bytes(folders.instances_path, folders.cache_path)
    except OSError as error:
        unread.append((folders.cache_path, with_errno(error)))
        return None
