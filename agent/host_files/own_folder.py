"""Decide whether an unusable folder or file of the agent needs an operator, or may become usable by itself.

A file system that is read-only, full or not mounted yet may become usable within a minute. A file in the place of a
folder stays until an operator acts: the agent then exits with 78, after which systemd does not start it again.
"""

from __future__ import annotations

import errno
import os

from agent.errors import ConfigError, FolderUnavailable

#: The errno values of a folder whose disk or file server is temporarily unavailable. Every process on this host then
#: gets the same error.
AWAY = frozenset(
    {
        *(errno.EROFS, errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.ENOENT, errno.ENODEV, errno.ENXIO),
        *(errno.ENOMEDIUM, errno.EREMOTEIO, errno.ESTALE, errno.ETIMEDOUT, errno.ENOTCONN, errno.ESHUTDOWN),
        *(errno.EHOSTDOWN, errno.EHOSTUNREACH, errno.ENETDOWN, errno.ENETUNREACH, errno.ECONNREFUSED),
    }
)
#: Errors that may end by themselves: an unavailable disk or file server, too little memory, too many open files, and a
#: busy device.
PASSING = AWAY | {errno.ENOMEM, errno.EMFILE, errno.ENFILE, errno.EAGAIN, errno.EBUSY, errno.EINTR}


def failure(sentence: str, error: OSError) -> ConfigError | FolderUnavailable:
    """Return FolderUnavailable if the error may pass by itself, else ConfigError; ``sentence`` says what failed."""
    problem = f"{sentence}: {error.strerror or error}"
    return FolderUnavailable(problem) if error.errno in PASSING else ConfigError(problem)


def make_usable(path: str) -> None:
    """Create the folder if it is missing. Raises OSError if files cannot be created in it."""
    os.makedirs(path, mode=0o750, exist_ok=True)
    problem = why_not_writable(path)
    if problem is not None:
        raise problem


def why_not_writable(path: str) -> OSError | None:
    """Return why files cannot be created in this folder, or None if the check finds no reason.

    The check creates no file, so it does not detect a full file system.
    """
    try:
        if os.access(path, os.W_OK | os.X_OK):
            return None
        is_read_only = os.statvfs(path).f_flag & os.ST_RDONLY
    except OSError as error:
        return error
    number = errno.EROFS if is_read_only else errno.EACCES
    return OSError(number, os.strerror(number), path)
