"""Replace a small file so that a reader sees the old text or the new one, also after a power cut."""

from __future__ import annotations

import contextlib
import os


def replace_file(path: str, text: str, mode: int) -> None:
    """Write ``text`` beside ``path``, sync it, rename it over ``path``, sync the folder. Raises OSError.

    The name of the temporary file holds the pid: two processes that replace the
    same file do not write into each other's.
    """
    folder = os.path.dirname(path)
    temporary = f"{path}.{os.getpid()}.tmp"
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW, mode)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            # open()'s mode goes through the umask, 0077 in the unit.
            os.fchmod(file.fileno(), mode)
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
    _sync_folder(folder)


def _sync_folder(folder: str) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
