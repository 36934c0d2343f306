"""Describe a failed system call by its errno name (such as ENOENT), which is the same in every locale."""

from __future__ import annotations

import errno


def errno_name(error: OSError) -> str:
    """Return the name of the errno of a failed system call, such as ``ENOENT``."""
    return errno.errorcode.get(error.errno or 0, "error")


def with_errno(error: OSError) -> str:
    """Return the errno's name and the text of the error, such as ``ENOENT: No such file or directory``."""
    return f"{errno_name(error)}: {error.strerror or error}"
