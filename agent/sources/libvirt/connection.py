"""Open libvirt, and tell a lost connection from an answer that is an error.

The binding prints every error to stderr unless a handler is registered, and
the event loop must be registered before the first open: a connection opened
earlier has neither events nor keep-alive. Once registered, the loop must also
run (LibvirtEvents does), or libvirtd ends idle connections that answer none of
its keep-alive messages.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable
from urllib.parse import unquote, urlsplit

import libvirt

from agent.errors import SourceUnavailable

# Three unanswered messages, five seconds apart: a frozen daemon is found out after 20 s.
_KEEPALIVE_INTERVAL_S = 5
_KEEPALIVE_COUNT = 3

_LOST_CODES = frozenset({libvirt.VIR_ERR_SYSTEM_ERROR, libvirt.VIR_ERR_INTERNAL_ERROR, libvirt.VIR_ERR_NO_CONNECT})
_LOST_DOMAINS = frozenset({libvirt.VIR_FROM_REMOTE, libvirt.VIR_FROM_RPC})


@functools.cache
def register_event_loop() -> None:
    """Once per process, before anything is opened."""
    libvirt.virEventRegisterDefaultImpl()


@functools.cache
def silence() -> None:
    """Keep libvirt from printing errors to stderr: each one is raised as well."""
    libvirt.registerErrorHandler(lambda _context, _error: None, None)


def open_read_only(uri: str) -> libvirt.virConnect:
    """A new connection, with keep-alive where the driver has it.

    A daemon that hangs blocks this for ever: call it on a thread that nobody
    waits for. Raises libvirt.libvirtError, and SourceUnavailable where the test
    driver's file cannot be opened.
    """
    return _opened(uri, libvirt.openReadOnly)


def open_read_write(uri: str) -> libvirt.virConnect:
    """The same with the right to change, which some questions need; a user may lack it."""
    return _opened(uri, libvirt.open)


def _opened(uri: str, opener: Callable[[str], libvirt.virConnect]) -> libvirt.virConnect:
    silence()
    _check_test_file(uri)
    connection = opener(uri)
    # The test driver has none, nor has a process without the event loop: the reader's deadline remains.
    with contextlib.suppress(libvirt.libvirtError):
        connection.setKeepAlive(_KEEPALIVE_INTERVAL_S, _KEEPALIVE_COUNT)
    return connection


def _check_test_file(uri: str) -> None:
    """Open the XML file of a ``test:///path`` once before libvirt does.

    Of a file that it cannot open libxml2 writes a line of its own to stderr, which no error handler of libvirt's stops.
    """
    place = urlsplit(uri)
    if place.scheme != "test" or place.netloc or place.path in {"", "/", "/default"}:
        return
    path = unquote(place.path)
    try:
        with open(path, "rb"):
            pass
    except OSError as error:
        raise SourceUnavailable("libvirt", f"{path} cannot be opened: {error.strerror}") from error


def close_quietly(connection: libvirt.virConnect) -> None:
    """Close a connection that is no longer wanted; a dead one cannot be closed, and need not be."""
    with contextlib.suppress(libvirt.libvirtError):
        connection.close()


def is_alive(connection: libvirt.virConnect) -> bool:
    """Whether the socket still stands, as far as this side knows; no message is sent."""
    try:
        return bool(connection.isAlive())
    except libvirt.libvirtError:
        return False


def says_lost(error: libvirt.libvirtError) -> bool:
    """Whether the connection is gone (nova's rule: hypervisor-audit 2), and not merely the call refused."""
    return error.get_error_code() in _LOST_CODES and error.get_error_domain() in _LOST_DOMAINS


def is_unsupported(error: libvirt.libvirtError) -> bool:
    """Whether the driver lacks the call."""
    return bool(error.get_error_code() == libvirt.VIR_ERR_NO_SUPPORT)


def is_gone(error: libvirt.libvirtError) -> bool:
    """Whether the domain vanished meanwhile."""
    return bool(error.get_error_code() == libvirt.VIR_ERR_NO_DOMAIN)
