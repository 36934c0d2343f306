"""List what lies below ``instances_path``, on its own file system only, with what each takes.

Entries of the first two levels have rows of their own (an instance's folder, and
each file in it); what lies deeper is summed into its second-level folder, but for
a guest's disk. Links are not followed, and a file or folder that is reachable
twice (hard link, bind mount) is counted once, where it is met first.
"""

from __future__ import annotations

import os
import stat
from collections import deque
from collections.abc import Iterator

from agent.model.storage import StoredFile
from agent.sources.disk_files import taken_bytes

# Folders deeper than this are not entered: nova makes three levels.
MAX_DEPTH = 16
# Half a second of work. A tree of more is no image store; the rest counts as used by others on that file system.
MAX_ENTRIES = 100_000
_ROW_DEPTH = 2


def walk(root: str, disks: frozenset[str]) -> tuple[StoredFile, ...]:
    """Rows sorted by path, ``root`` itself among them. Raises OSError where ``root`` cannot be listed.

    ``disks`` are paths that get a row of their own however deep they lie. What
    vanishes or may not be listed on the way is left out.
    """
    status = os.stat(root)
    taken = {root: taken_bytes(status)}
    met = {status.st_ino}
    folders = deque([(root, 1, root)])
    entries = 0
    while folders and entries < MAX_ENTRIES:
        folder, depth, above = folders.popleft()
        for entry, found in _listed(folder, root):
            if found.st_dev != status.st_dev or _met_before(found, met):
                continue
            if (entries := entries + 1) > MAX_ENTRIES:
                break
            row = entry.path if depth <= _ROW_DEPTH or entry.path in disks else above
            taken[row] = taken.get(row, 0) + taken_bytes(found)
            if stat.S_ISDIR(found.st_mode) and depth < MAX_DEPTH:
                folders.append((entry.path, depth + 1, row))
    return tuple(StoredFile(path=printable(path), allocated_bytes=size) for path, size in sorted(taken.items()))


def cache_bytes(root: str, cache_path: str) -> int:
    """What the plain files of the cache folder take; 0 on another device or where it cannot be listed.

    Source: hypervisor-audit 4 (nova's ImageCacheManager.get_disk_usage). A file that
    vanishes meanwhile is left out; nova gives 0 for the whole cache then.
    """
    try:
        if os.stat(root).st_dev != os.stat(cache_path).st_dev:
            return 0
        names = os.listdir(cache_path)
    except OSError:
        return 0
    return sum(_plain_bytes(os.path.join(cache_path, name)) for name in names)


def printable(path: str) -> str:
    """A path that can be printed: bytes that are no UTF-8 are written by their hexadecimal number."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


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
    except OSError:
        return 0
    return taken_bytes(status) if stat.S_ISREG(status.st_mode) else 0
