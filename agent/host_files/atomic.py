"""Write a small file atomically: a reader sees the whole new text or the state before, even after a power cut.

The state before is the whole old text, or no file. The text is first written to a temporary file in the same folder.
The temporary file's name contains the pid, so two processes that write the same file use different temporary files. A
killed process leaves its temporary file behind; ``sweep`` removes that file at the agent's next start.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
from collections.abc import Iterable, Iterator

_TEMPORARY = re.compile(r"(?P<name>.+)\.(?P<pid>[0-9]+)\.tmp")


def replace_file(path: str, text: str, mode: int) -> None:
    """Replace the content of the file ``path``, or create the file. Raises OSError."""
    replace_by_parts(path, (text,), mode)


def replace_by_parts(path: str, parts: Iterable[str], mode: int) -> None:
    """Replace the content of ``path`` as replace_file does, with a text that the caller passes in parts.

    The function writes one part after the other, so a large text is never in memory as a whole.
    """
    with _written(path, parts, mode) as temporary:
        os.replace(temporary, path)


def write_new_file(path: str, text: str, mode: int) -> None:
    """Create ``path`` with ``text``. Raises FileExistsError if ``path`` exists, other OSErrors as they occur."""
    with _written(path, (text,), mode) as temporary:
        # If another process has created ``path``, the link fails; a rename would overwrite that process's file.
        os.link(temporary, path)


def share(descriptor: int, mode: int, folder: str) -> None:
    """Set an open file's mode, and set its group to the folder's group. Raises OSError.

    So users of the folder's group may read the file if the mode allows it. If the process may not change the group,
    the file keeps the process's group.
    """
    group = os.stat(folder or ".").st_gid
    if os.fstat(descriptor).st_gid != group:
        with contextlib.suppress(PermissionError):
            os.fchown(descriptor, -1, group)
    # Set the mode after the open, because the umask (0077 in the systemd unit) reduces the mode that open() sets.
    os.fchmod(descriptor, mode)


def close_to_others(path: str) -> None:
    """Remove the permissions that an older release of the agent gave to all users; ignore a failure."""
    with contextlib.suppress(OSError):
        found = os.lstat(path)
        if stat.S_ISREG(found.st_mode) and found.st_mode & 0o007:
            os.chmod(path, stat.S_IMODE(found.st_mode) & ~0o007)


def sweep(path: str) -> None:
    """Remove temporary files that dead processes left beside ``path``; ignore a file that cannot be removed."""
    folder, target = os.path.split(path)
    with contextlib.suppress(OSError):
        for name in os.listdir(folder):
            found = _TEMPORARY.fullmatch(name)
            if found and found["name"] == target and not _is_alive(int(found["pid"])):
                os.unlink(os.path.join(folder, name))


@contextlib.contextmanager
def _written(path: str, parts: Iterable[str], mode: int) -> Iterator[str]:
    """Write a temporary file beside ``path``, sync the file and yield its name.

    After the caller's block, remove that name if it still exists, and sync the folder.
    """
    temporary = f"{path}.{os.getpid()}.tmp"
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW, mode)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            share(file.fileno(), mode, os.path.dirname(path))
            file.writelines(parts)
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
