"""Let each read of a socket wait no longer than what is left of a whole.

What a newcomer would get wrong: the time-out of a socket starts anew with every byte that
arrives, so a peer that sends one now and then holds up for ever whoever waits for more.
"""

from __future__ import annotations

import io
import math
import socket
from collections.abc import Callable
from typing import Any


class BoundedReads(io.RawIOBase):
    """The raw stream of ``sock``, each read of which ends when the whole must: ``left_s`` says how long that is."""

    def __init__(self, raw: io.RawIOBase, sock: socket.socket, left_s: Callable[[], float]) -> None:
        super().__init__()
        self._raw = raw
        self._sock = sock
        self._left_s = left_s

    def readable(self) -> bool:
        """It is for nothing else."""
        return True

    def readinto(self, buffer: Any) -> int | None:  # noqa: ANN401 - typeshed's WriteableBuffer
        """As the stream's. Raises TimeoutError."""
        left_s = self._left_s()
        if left_s <= 0:
            raise TimeoutError("timed out")
        patience_s = self._sock.gettimeout()
        if left_s < (math.inf if patience_s is None else patience_s):
            self._sock.settimeout(left_s)  # its owner sets its own again before it waits for something else
        return self._raw.readinto(buffer)

    def close(self) -> None:
        """Close the stream too."""
        if not self.closed:
            self._raw.close()
        super().close()
