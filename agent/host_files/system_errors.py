"""Word failed system calls with errno's name, which unlike the text depends on no language."""

from __future__ import annotations

import errno


def errno_name(error: OSError) -> str:
    """Return errno's name of a failed system call, such as ``ENOENT``."""
    return errno.errorcode.get(error.errno or 0, "error")


def with_errno(error: OSError) -> str:
    """Return ``ENOENT: No such file or directory``."""
    return f"{errno_name(error)}: {error.strerror or error}"
