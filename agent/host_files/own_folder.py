"""Decide who can mend a folder or file of the agent's own that cannot be used: the operator, or the machine by itself.

What surprises: exit 78 is final, since systemd does not start the agent again after it.
A file system that is read-only, full or not mounted yet may be well in a minute; a file
where a folder should be stays until an operator acts.
"""

from __future__ import annotations

import errno
import os

from agent.errors import ConfigError, FolderUnavailable

#: What says that a folder, or the server or disk below it, is away for the moment: every process here meets the same.
AWAY = frozenset(
    {
        *(errno.EROFS, errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.ENOENT, errno.ENODEV, errno.ENXIO),
        *(errno.ENOMEDIUM, errno.EREMOTEIO, errno.ESTALE, errno.ETIMEDOUT, errno.ENOTCONN, errno.ESHUTDOWN),
        *(errno.EHOSTDOWN, errno.EHOSTUNREACH, errno.ENETDOWN, errno.ENETUNREACH, errno.ECONNREFUSED),
    }
)
#: What passes without a change of configuration: that, and what this process or this machine's load met alone.
PASSING = AWAY | {errno.ENOMEM, errno.EMFILE, errno.ENFILE, errno.EAGAIN, errno.EBUSY, errno.EINTR}


def failure(sentence: str, error: OSError) -> ConfigError | FolderUnavailable:
    """What to raise: ``sentence`` names the file and what cannot be done."""
    problem = f"{sentence}: {error.strerror or error}"
    return FolderUnavailable(problem) if error.errno in PASSING else ConfigError(problem)


def make_usable(path: str) -> None:
    """Make the folder where it is missing. Raises OSError where files cannot be made in it."""
    os.makedirs(path, mode=0o750, exist_ok=True)
    problem = why_not_writable(path)
    if problem is not None:
        raise problem


def why_not_writable(path: str) -> OSError | None:
    """Why no file can be made in this folder, as far as that is known without making one: a full one is not seen."""
    try:
        if os.access(path, os.W_OK | os.X_OK):
            return None
        is_read_only = os.statvfs(path).f_flag & os.ST_RDONLY
    except OSError as error:
        return error
    number = errno.EROFS if is_read_only else errno.EACCES
    return OSError(number, os.strerror(number), path)
