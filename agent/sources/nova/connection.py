"""Provide a PyMySQL connection on which every read from the socket ends at the deadline, during the login too.

PyMySQL's own time-outs do not suffice: each time-out applies to one connect to one address, or to one piece of data.
This class limits only reads. So the look-up of the server's name takes as long as the host's resolver takes. If the
server has several addresses, each connect may use the whole time-out. In both cases NovaSql stops waiting for its
thread at the deadline.
"""

from __future__ import annotations

import io
import socket
from collections.abc import Callable
from typing import Any

from pymysql.connections import Connection

from agent.deadlines.bounded_reads import BoundedReads


class BoundedConnection(Connection):
    """A PyMySQL connection with a deadline: ``left_s`` returns the seconds left for the current operation."""

    _sock: socket.socket

    def __init__(self, *args: Any, left_s: Callable[[], float], **options: Any) -> None:  # noqa: ANN401 - handed on
        self._left_s = left_s
        self._stream: io.BufferedReader | None = None
        super().__init__(*args, **options)

    @property
    def _rfile(self) -> io.BufferedReader | None:
        """The stream that PyMySQL reads from."""
        return self._stream

    @_rfile.setter
    def _rfile(self, stream: io.BufferedReader | None) -> None:
        # PyMySQL sets this attribute twice: first to a stream of the plain socket, later to a stream of the TLS socket.
        # Limit the reads of both streams.
        if stream is not None:
            stream = io.BufferedReader(BoundedReads(stream.detach(), self._sock, self._left_s))
        self._stream = stream
