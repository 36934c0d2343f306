"""Decide which configuration files and which callers stocktake-probe accepts.

The probe runs as root, and the configuration says what the probe reads. So only root may be able to change a
configuration file or to replace the file.
"""

from __future__ import annotations

import os
import pwd
import socket
import stat
import struct
from collections.abc import Iterable, Iterator
from urllib.parse import urlsplit

ROOT = 0
#: The C structure ``ucred``: pid, uid and gid of the caller (unix(7)).
_CREDENTIALS = struct.Struct("3i")
#: The options that a libvirt URI may have. Other options can start a program as root or lead to another host.
_URI_OPTIONS = frozenset({"socket", "mode"})
_OTHERS_MAY_WRITE = stat.S_IWGRP | stat.S_IWOTH


class Untrusted(Exception):
    """A caller or a configuration file that the probe does not accept; the text says why."""


def check_peer(connection: socket.socket, user: str) -> None:
    """Raise Untrusted unless the process that connected runs as root or as ``user``.

    The kernel recorded the user when the process connected. If this host has no account ``user``, only root is
    accepted.
    """
    raw = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    _, uid, _ = _CREDENTIALS.unpack(raw)
    if uid != ROOT and uid != _uid_of(user):
        raise Untrusted(f"the caller has the user id {uid} and is neither root nor the user {user!r}")


def check_files(paths: Iterable[str]) -> None:
    """Raise Untrusted if a user other than root may change or replace one of these files."""
    for path in paths:
        real = os.path.realpath(path)
        for part in (real, *_folders(real), *_folders(os.path.abspath(path))):
            _check(path, part)


def check_uri(uri: str) -> None:
    """Raise Untrusted unless this libvirt URI leads to a libvirt of this host.

    Other URIs start programs that the URI itself names (``qemu+ext:///system?command=...``), or ask another host.
    """
    parts = urlsplit(uri)
    _, _, transport = parts.scheme.partition("+")
    options = {pair.partition("=")[0] for pair in parts.query.split("&") if pair}
    if not parts.scheme or parts.netloc or transport not in ("", "unix") or options - _URI_OPTIONS:
        raise Untrusted(f"the libvirt URI {uri} is not used, because it does not lead to a socket of this host")


def _check(path: str, part: str) -> None:
    status = os.stat(part)
    # In a folder with the sticky bit only the owner of a file may rename or remove the file, so such a folder (/tmp)
    # may be writable for others.
    is_sticky = stat.S_ISDIR(status.st_mode) and status.st_mode & stat.S_ISVTX
    if status.st_uid != ROOT or (status.st_mode & _OTHERS_MAY_WRITE and not is_sticky):
        raise Untrusted(f"the configuration file {path} is not read, because a user other than root may write {part}")


def _folders(path: str) -> Iterator[str]:
    while (folder := os.path.dirname(path)) != path:
        yield folder
        path = folder


def _uid_of(user: str) -> int | None:
    try:
        return pwd.getpwnam(user).pw_uid
    except KeyError:
        return None
