"""Open connections to libvirt, and decide whether an error means a lost connection or only a failed call.

The Python binding prints every error to stderr unless an error handler is registered. The event loop must be registered
before the first connection is opened: a connection opened earlier has neither events nor keep-alive. A registered loop
must also run (LibvirtEvents runs the loop). Otherwise no connection answers libvirtd's keep-alive messages, and
libvirtd closes the connection.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable
from urllib.parse import unquote, urlsplit

import libvirt

from agent.errors import SourceUnavailable

# The seconds between two keep-alive messages, and how many messages may stay unanswered. If libvirtd freezes, the
# connection fails after 20 s: five seconds after the third unanswered message.
_KEEPALIVE_INTERVAL_S = 5
_KEEPALIVE_COUNT = 3

_LOST_CODES = frozenset({libvirt.VIR_ERR_SYSTEM_ERROR, libvirt.VIR_ERR_INTERNAL_ERROR, libvirt.VIR_ERR_NO_CONNECT})
_LOST_DOMAINS = frozenset({libvirt.VIR_FROM_REMOTE, libvirt.VIR_FROM_RPC})


@functools.cache
def register_event_loop() -> None:
    """Register libvirt's default event loop, once per process, before any connection is opened."""
    libvirt.virEventRegisterDefaultImpl()


@functools.cache
def silence() -> None:
    """Stop libvirt from printing errors to stderr: the binding also raises each error as an exception."""
    libvirt.registerErrorHandler(lambda _context, _error: None, None)


def open_read_only(uri: str) -> libvirt.virConnect:
    """Open a new read-only connection, with keep-alive if the driver supports it.

    If the daemon hangs, this call never returns. So never wait for this call without a deadline.
    Raises libvirt.libvirtError, and SourceUnavailable if the test driver's file cannot be opened.
    """
    return _opened(uri, libvirt.openReadOnly)


def open_read_write(uri: str) -> libvirt.virConnect:
    """Open a new read-write connection, which some queries need; the agent's user may lack the permission."""
    return _opened(uri, libvirt.open)


def _opened(uri: str, opener: Callable[[str], libvirt.virConnect]) -> libvirt.virConnect:
    silence()
    _check_test_file(uri)
    connection = opener(uri)
    # Keep-alive is not available with the test driver, or without the event loop. Then nothing detects a libvirtd that
    # hangs, except the deadline of the caller that waits for the call.
    with contextlib.suppress(libvirt.libvirtError):
        connection.setKeepAlive(_KEEPALIVE_INTERVAL_S, _KEEPALIVE_COUNT)
    return connection


def _check_test_file(uri: str) -> None:
    """Check that the XML file of a ``test:///path`` can be opened, before libvirt opens it. Raises SourceUnavailable.

    If libxml2 cannot open a file, libxml2 prints a line to stderr that libvirt's error handler cannot suppress.
    """
    place = urlsplit(uri)
    if place.scheme != "test" or place.netloc or place.path in {"", "/", "/default"}:
        return
    path = unquote(place.path)
    try:
        with open(path, "rb"):
            pass
    except OSError as error:
        raise SourceUnavailable("libvirt", f"the agent cannot open {path}: {error.strerror}") from error


def close_quietly(connection: libvirt.virConnect) -> None:
    """Close a connection that is no longer needed; ignore the error if the connection is already dead."""
    with contextlib.suppress(libvirt.libvirtError):
        connection.close()


def is_alive(connection: libvirt.virConnect) -> bool:
    """Return whether the connection's socket is open, as far as this process knows. The function sends no message."""
    try:
        return bool(connection.isAlive())
    except libvirt.libvirtError:
        return False


def means_lost(error: Exception) -> bool:
    """Return whether, by nova's rule, the error means a lost connection and not only a failed call."""
    return (
        isinstance(error, libvirt.libvirtError)
        and error.get_error_code() in _LOST_CODES
        and error.get_error_domain() in _LOST_DOMAINS
    )


def is_unsupported(error: libvirt.libvirtError) -> bool:
    """Return whether the error means that the driver lacks the call."""
    return bool(error.get_error_code() == libvirt.VIR_ERR_NO_SUPPORT)


def is_gone(error: libvirt.libvirtError) -> bool:
    """Return whether the error means that the domain has vanished."""
    return bool(error.get_error_code() == libvirt.VIR_ERR_NO_DOMAIN)
