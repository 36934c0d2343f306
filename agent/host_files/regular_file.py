"""Open a file that another program may have created. If the path is a named pipe, the open must not block."""

from __future__ import annotations

import errno
import os
import stat
from typing import TextIO


def open_regular(path: str | os.PathLike[str]) -> TextIO:
    """Open the file as UTF-8 text. Raises OSError, also if the path is not a regular file.

    Without O_NONBLOCK, the open of a named pipe would wait for a writer, perhaps forever.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        _check(os.fstat(descriptor).st_mode)
        return open(descriptor, encoding="utf-8")
    except BaseException:
        os.close(descriptor)
        raise


def _check(mode: int) -> None:
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "not a regular file")
