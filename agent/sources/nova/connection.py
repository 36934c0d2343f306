"""A connection of PyMySQL's on which nothing waits past a deadline: greeting, TLS, log-in and rows included.

What a newcomer would get wrong: PyMySQL's time-outs are for connecting to one address and for
each piece that arrives. The name of the server takes what the host's resolver takes, and each
address of it the whole time-out; NovaSql's thread is there for both.
"""

from __future__ import annotations

import io
import socket
from collections.abc import Callable
from typing import Any

from pymysql.connections import Connection

from agent.deadlines.bounded_reads import BoundedReads


class BoundedConnection(Connection):
    """As PyMySQL's. ``left_s`` says how long whatever goes on may still take; 0 ends it."""

    _sock: socket.socket

    def __init__(self, *args: Any, left_s: Callable[[], float], **options: Any) -> None:  # noqa: ANN401 - handed on
        self._left_s = left_s
        self._stream: io.BufferedReader | None = None
        super().__init__(*args, **options)

    @property
    def _rfile(self) -> io.BufferedReader | None:
        """What PyMySQL reads from."""
        return self._stream

    @_rfile.setter
    def _rfile(self, stream: io.BufferedReader | None) -> None:
        # Set once for the plain socket, and again for the one that speaks TLS.
        if stream is not None:
            stream = io.BufferedReader(BoundedReads(stream.detach(), self._sock, self._left_s))
        self._stream = stream
