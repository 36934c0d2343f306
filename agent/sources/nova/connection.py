"""Provide a PyMySQL connection on which no read outlasts the deadline, from the server's greeting to the rows.

PyMySQL's own time-outs apply to the connect to one address and to each piece of data that arrives. These time-outs do
not limit the look-up of the server's name, which takes as long as the host's resolver takes. Nor do the time-outs limit
the connects to several addresses together, because each address may use the whole time-out. In both cases NovaSql stops
waiting for its thread at the deadline.
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
        # PyMySQL sets this attribute first for the plain socket and again for the TLS socket: limit the reads of both.
        if stream is not None:
            stream = io.BufferedReader(BoundedReads(stream.detach(), self._sock, self._left_s))
        self._stream = stream
