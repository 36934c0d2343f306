"""Ask stocktake-probe one question over its unix socket, within a deadline.

Each question has a connection of its own: after any failure the next question begins anew, and a probe that hangs
blocks the caller only until the deadline. Error texts contain no time, because the agent confirms a finding only if two
audits report the same text.
"""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Iterator
from typing import Any

from agent.errors import SourceDenied, SourceUnavailable
from agent.ports import Deadline
from agent.sources.probe.protocol import (
    LONGEST_DEADLINE_S,
    MOST_ANSWER_BYTES,
    Answer,
    BadMessage,
    Kind,
    Request,
    Verb,
    parse_answer,
    request_line,
)

_PIECE_BYTES = 1 << 18
#: The probe's deadline is this number of seconds before the caller's deadline. So the probe's own error arrives before
#: the caller gives up. The probe always gets at least half of the caller's time.
_LAST_WORDS_S = 2.0


def ask(path: str, source: str, verb: Verb, deadline: Deadline) -> Answer:
    """Return the answer of the probe at ``path``. ``source`` names the source in errors.

    Raises SourceUnavailable if the probe cannot be reached, does not answer in time, or breaks the protocol. Raises
    SourceDenied if this process may not use the socket, or if the probe refuses the question.
    """
    try:
        answer = parse_answer(_exchange(path, verb, deadline))
    except TimeoutError:
        raise SourceUnavailable(source, f"stocktake-probe ({path}) did not answer in time") from None
    except PermissionError as error:
        raise SourceDenied(source, f"stocktake-probe ({path}) cannot be reached: {error.strerror}") from error
    except OSError as error:
        raise SourceUnavailable(source, f"stocktake-probe ({path}) cannot be reached: {error.strerror}") from error
    except BadMessage as error:
        raise SourceUnavailable(source, f"stocktake-probe ({path}) gave no usable answer: {error}") from error
    if answer.kind is Kind.REFUSED:
        raise SourceDenied(source, f"stocktake-probe ({path}) refused: {answer.content}")
    return answer


def ask_facts(path: str, source: str, verb: Verb, deadline: Deadline) -> dict[str, Any]:
    """Return facts that stocktake-probe (the process with root access) read. The caller must check the JSON object.

    Raises the errors of ``ask``, and SourceUnavailable if the probe got no answer from the source.
    """
    answer = ask(path, source, verb, deadline)
    if answer.kind is Kind.FACTS:
        facts: dict[str, Any] = answer.content
        return facts
    if answer.kind is Kind.UNREAD:
        raise SourceUnavailable(source, f"stocktake-probe ({path}): {answer.content}")
    raise SourceUnavailable(source, f"stocktake-probe ({path}) gave no usable answer: {answer.kind.value!r}")


def _exchange(path: str, verb: Verb, deadline: Deadline) -> bytes:
    left_s = deadline.left_s()
    probe_s = min(max(left_s - _LAST_WORDS_S, left_s / 2), LONGEST_DEADLINE_S)
    if probe_s <= 0:
        raise TimeoutError
    with _connected(path, deadline) as connection:
        connection.sendall(request_line(Request(verb=verb, deadline_s=probe_s)))
        return b"".join(_pieces(connection, deadline))


@contextlib.contextmanager
def _connected(path: str, deadline: Deadline) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC) as connection:
        connection.settimeout(deadline.left_s())
        try:
            connection.connect(path)
        except BlockingIOError:
            # If the socket's queue of connections is full, connect() on a socket with a time-out does not wait, but
            # raises BlockingIOError at once. The caller gets the same error as after a wait.
            raise TimeoutError from None
        yield connection


def _pieces(connection: socket.socket, deadline: Deadline) -> Iterator[bytes]:
    """Yield what the probe sends until it closes the connection; stop as soon as the answer is larger than allowed."""
    received = 0
    while received <= MOST_ANSWER_BYTES:
        left_s = deadline.left_s()
        if left_s <= 0:
            raise TimeoutError
        connection.settimeout(left_s)
        piece = connection.recv(_PIECE_BYTES)
        if not piece:
            return
        received += len(piece)
        yield piece


def os_error(code: int) -> OSError:
    """Return the OSError for an errno that the probe reported."""
    return OSError(code, os.strerror(code))
