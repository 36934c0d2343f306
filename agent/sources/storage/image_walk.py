"""List the files below ``instances_path``, on the same file system only, as rows with the bytes that they occupy.

Each entry of ``instances_path`` has a row that includes the files below that entry: the row of an instance's folder
includes its disks, logs and configuration. Only two kinds of files have rows of their own instead: cached images, and
guests' disks outside the instances' folders.

The walk does not follow links. A file or folder that has two paths (hard link, bind mount) counts once, at the path
that the walk finds first.
"""

from __future__ import annotations

import os
import stat
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

from agent.model.host.storage import StoredFile
from agent.model.naming import instance_folder
from agent.sources.storage.disk_files import taken_bytes

# The deepest level of folders that the walk enters; nova creates three levels.
MAX_DEPTH = 16
# The walk stops after this number of entries (half a second), because a larger tree is not nova's image folder. The
# remaining entries count as other use of the file system.
MAX_ENTRIES = 100_000


@dataclass(frozen=True, slots=True)
class _Folder:
    """A folder to walk through. ``row`` is the path of the StoredFile to which the sizes of the entries are added.

    Two kinds of entries have a StoredFile of their own instead: cached images and, if ``has_rows`` is True, guests'
    disks.
    """

    path: str
    depth: int
    row: str
    has_rows: bool


def walk(root: str, cache_path: str, disks: frozenset[str]) -> tuple[StoredFile, ...]:
    """Return the paths below the folder ``root`` with the bytes that they occupy, as rows sorted by path.

    ``root`` itself has a row too. ``disks`` are the paths of guests' disks. The walk skips entries that vanish and
    folders that it may not list. Raises OSError if ``root`` is unreadable.
    """
    status = os.stat(root)
    taken = {root: taken_bytes(status)}
    met = {status.st_ino}
    folders = deque([_Folder(root, 0, root, has_rows=True)])
    entries = 0
    while folders and entries < MAX_ENTRIES:
        folder = folders.popleft()
        for entry, found in _listed(folder.path, root):
            if found.st_dev != status.st_dev or _met_before(found, met):
                continue
            if (entries := entries + 1) > MAX_ENTRIES:
                break
            row = _row(entry.path, folder, cache_path, disks)
            taken[row] = taken.get(row, 0) + taken_bytes(found)
            if stat.S_ISDIR(found.st_mode) and folder.depth < MAX_DEPTH:
                has_rows = folder.has_rows and not (folder.depth == 0 and instance_folder(entry.name))
                folders.append(_Folder(entry.path, folder.depth + 1, row, has_rows=has_rows))
    return tuple(StoredFile(path=_path_text(path), allocated_bytes=size) for path, size in sorted(taken.items()))


def cache_bytes(root: str, cache_path: str) -> int:
    """Return the bytes of the regular files in the image cache; 0 if the cache is missing or on another device.

    Source: nova's ImageCacheManager.get_disk_usage, with two differences. If a file vanishes during the call, nova
    returns 0 for the whole cache; this function skips the file. If the cache is unreadable, nova returns 0; this
    function raises OSError, because the agent computes a reserve from the result.
    """
    try:
        if os.stat(root).st_dev != os.stat(cache_path).st_dev:
            return 0
        names = os.listdir(cache_path)
    except FileNotFoundError:
        return 0
    return sum(_plain_bytes(os.path.join(cache_path, name)) for name in names)


def _path_text(path: str) -> str:
    """Return a path as text, with each byte that is not UTF-8 in hexadecimal."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def _row(path: str, folder: _Folder, cache_path: str, disks: frozenset[str]) -> str:
    if folder.depth == 0 or cache_path in (folder.path, path):
        return path
    return path if folder.has_rows and path in disks else folder.row


def _listed(folder: str, root: str) -> Iterator[tuple[os.DirEntry[str], os.stat_result]]:
    try:
        with os.scandir(folder) as listing:
            entries = sorted(listing, key=lambda entry: entry.name)
    except OSError:
        if folder == root:
            raise
        return
    for entry in entries:
        try:
            yield entry, entry.stat(follow_symlinks=False)
        except OSError:
            continue


def _met_before(status: os.stat_result, met: set[int]) -> bool:
    if not stat.S_ISDIR(status.st_mode) and status.st_nlink == 1:
        return False
    if status.st_ino in met:
        return True
    met.add(status.st_ino)
    return False


def _plain_bytes(path: str) -> int:
    try:
        status = os.stat(path)
    except FileNotFoundError:
        return 0
    return taken_bytes(status) if stat.S_ISREG(status.st_mode) else 0
