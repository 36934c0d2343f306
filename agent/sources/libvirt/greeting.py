"""Ask libvirt for its version, the host's name and the number of guests, to prove that libvirt answers."""

from __future__ import annotations

import contextlib

import libvirt

from agent.errors import SourceUnavailable
from agent.model.snapshot import LIBVIRT
from agent.sources.libvirt.connection import close_quietly, open_read_only


def greeting(uri: str) -> str:
    """Return libvirt's version, the host's name and the number of guests. Hangs for ever if libvirtd hangs.

    Raises SourceUnavailable with libvirt's message.
    """
    try:
        connection = open_read_only(uri)
        with contextlib.closing(_Open(connection)):
            version = connection.getLibVersion()
            guests = len(connection.listAllDomains())
            return f"libvirt {_version(version)} on {connection.getHostname()}, {guests} guests"
    except libvirt.libvirtError as error:
        raise SourceUnavailable(LIBVIRT, f"{uri}: {error.get_error_message() or error}") from error


class _Open:
    """Wraps a connection, so that ``contextlib.closing`` can close the connection."""

    def __init__(self, connection: libvirt.virConnect) -> None:
        self._connection = connection

    def close(self) -> None:
        close_quietly(self._connection)


def _version(number: int) -> str:
    return f"{number // 1_000_000}.{number // 1000 % 1000}.{number % 1000}"
