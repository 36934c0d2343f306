"""Word failed system calls with errno's name, which unlike the text depends on no language."""

from __future__ import annotations

import errno


def errno_name(error: OSError) -> str:
    """Return the name of the errno of a failed system call, such as ``ENOENT``."""
    return errno.errorcode.get(error.errno or 0, "error")


def with_errno(error: OSError) -> str:
    """Return the errno's name and the text of the error, such as ``ENOENT: No such file or directory``."""
    return f"{errno_name(error)}: {error.strerror or error}"
