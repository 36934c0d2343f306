"""Write a small file so that a reader sees all of it or nothing of it, also after a power cut.

The text is written beside its place first, under a name that holds the pid: two
processes that write the same file do not write into each other's. A process that is
killed leaves that file behind, so whoever starts next sweeps it away.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
from collections.abc import Iterator

_TEMPORARY = re.compile(r"(?P<name>.+)\.(?P<pid>[0-9]+)\.tmp")


def replace_file(path: str, text: str, mode: int) -> None:
    """Put ``text`` in the place of what is at ``path``, if anything. Raises OSError."""
    with _written(path, text, mode) as temporary:
        os.replace(temporary, path)


def write_new_file(path: str, text: str, mode: int) -> None:
    """Put ``text`` at ``path``. Raises FileExistsError where something is there already, other OSError as it comes."""
    with _written(path, text, mode) as temporary:
        # A link fails where the name is taken; a rename would overwrite it.
        os.link(temporary, path)


def share(descriptor: int, mode: int, folder: str) -> None:
    """Give an open file its mode, and to the group of its folder: who may enter the folder may read what is in it.

    A process that may not give files away keeps its own group. Raises OSError.
    """
    group = os.stat(folder or ".").st_gid
    if os.fstat(descriptor).st_gid != group:
        with contextlib.suppress(PermissionError):
            os.fchown(descriptor, -1, group)
    # After the open: its mode goes through the umask, 0077 in the unit.
    os.fchmod(descriptor, mode)


def close_to_others(path: str) -> None:
    """Take what an older program let everybody do with this file; what is no file of ours to change stays."""
    with contextlib.suppress(OSError):
        found = os.lstat(path)
        if stat.S_ISREG(found.st_mode) and found.st_mode & 0o007:
            os.chmod(path, stat.S_IMODE(found.st_mode) & ~0o007)


def sweep(path: str) -> None:
    """Remove what processes that are no more left behind while they wrote ``path``; what cannot be removed stays."""
    folder, target = os.path.split(path)
    with contextlib.suppress(OSError):
        for name in os.listdir(folder):
            found = _TEMPORARY.fullmatch(name)
            if found and found["name"] == target and not _is_alive(int(found["pid"])):
                os.unlink(os.path.join(folder, name))


@contextlib.contextmanager
def _written(path: str, text: str, mode: int) -> Iterator[str]:
    """The name of a synced file beside ``path``; then its folder is synced, and that name is gone."""
    temporary = f"{path}.{os.getpid()}.tmp"
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW, mode)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            share(file.fileno(), mode, os.path.dirname(path))
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        yield temporary
    finally:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
    _sync_folder(os.path.dirname(path))


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True


def _sync_folder(folder: str) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
