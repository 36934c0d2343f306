"""Limit the total time of all reads from one socket.

A socket's own time-out starts again with every byte that arrives. A server that sends single bytes with pauses could
therefore block a reader for ever.
"""

from __future__ import annotations

import io
import math
import socket
from collections.abc import Callable
from typing import Any


class BoundedReads(io.RawIOBase):
    """The raw stream of ``sock``. No read blocks longer than ``left_s()``, the seconds left for the whole exchange."""

    def __init__(self, raw: io.RawIOBase, sock: socket.socket, left_s: Callable[[], float]) -> None:
        super().__init__()
        self._raw = raw
        self._sock = sock
        self._left_s = left_s

    def readable(self) -> bool:
        """Return True: this stream only supports reading."""
        return True

    def readinto(self, buffer: Any) -> int | None:  # noqa: ANN401 - typeshed's WriteableBuffer
        """Read into ``buffer``, as the wrapped stream does. Raises TimeoutError when no time is left."""
        left_s = self._left_s()
        if left_s <= 0:
            raise TimeoutError("timed out")
        patience_s = self._sock.gettimeout()
        if left_s < (math.inf if patience_s is None else patience_s):
            self._sock.settimeout(left_s)  # not restored: the socket's owner sets the time-out before the next use
        return self._raw.readinto(buffer)

    def close(self) -> None:
        """Close this stream and the wrapped stream."""
        if not self.closed:
            self._raw.close()
        super().close()
