"""Run stocktake-probe: accept one caller on standard input, read one request, write one answer, and end.

There are two time limits. A command is killed at the request's deadline. If this process itself hangs, SIGALRM ends the
process soon after; the signal keeps its default action, because a Python handler would wait for the hanging call.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import os
import signal
import socket
import sys
import time
from collections.abc import Sequence

from agent.errors import ConfigError
from agent.ports import Deadline
from agent.privileged.trust import Untrusted, check_peer
from agent.sources.probe.protocol import (
    LONGEST_DEADLINE_S,
    MOST_REQUEST_BYTES,
    Answer,
    BadMessage,
    Kind,
    answer_line,
    parse_request,
)

PROGRAM = "stocktake-probe"
STARTED = time.monotonic()
#: The seconds within which a caller must send its request line.
ASKING_S = 10.0
#: When the request's deadline is over, the process has this many seconds to write its answer.
ANSWERING_S = 1.0
OK, BAD_USE = 0, 127


def main() -> int:
    """Run the program ``stocktake-probe`` (entry point of the console script) and return its exit code."""
    arguments = argument_parser().parse_args()
    signal.setitimer(signal.ITIMER_REAL, ASKING_S)
    try:
        connection = socket.socket(fileno=os.dup(sys.stdin.fileno()))
        is_unix = connection.family is socket.AF_UNIX
    except OSError:
        is_unix = False
    if not is_unix:
        sys.stderr.write(f"{PROGRAM}: standard input is not a unix socket; only systemd should start this program\n")
        return BAD_USE
    with connection:
        _serve(connection, arguments.config_file, arguments.config_dir)
    return OK


def argument_parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(
        prog=PROGRAM, allow_abbrev=False, description="Read data as root for one request of an agent that is not root."
    )
    parser.add_argument("--config-file", action="append", default=[], metavar="FILE", help="configuration file")
    parser.add_argument("--config-dir", action="append", default=[], metavar="DIR", help="folder of *.conf files")
    parser.add_argument("--version", action="version", version=_version())
    return parser


def _version() -> str:
    try:
        return importlib.metadata.version("stocktake")
    except importlib.metadata.PackageNotFoundError:
        return "unknown: not installed"


def _serve(connection: socket.socket, files: Sequence[str], folders: Sequence[str]) -> None:
    try:
        line = answer_line(_answer(connection, files, folders))
    except (Untrusted, BadMessage) as error:
        line = answer_line(_refused(str(error)))
    except ConfigError as error:
        # The problems may quote values of options, which the caller may not see, so only the log has the problems.
        line = answer_line(_refused("the configuration is wrong: run stocktake config check to see why"))
        sys.stderr.write("".join(f"{PROGRAM}: {problem}\n" for problem in error.problems))
    try:
        connection.sendall(line)
    except OSError as error:
        sys.stderr.write(f"{PROGRAM}: the caller did not take the answer: {error.strerror}\n")


def _refused(why: str) -> Answer:
    sys.stderr.write(f"{PROGRAM}: refused: {why}\n")
    return Answer(kind=Kind.REFUSED, content=why)


def _answer(connection: socket.socket, files: Sequence[str], folders: Sequence[str]) -> Answer:
    # Receive the line first, and check the caller after that: if this process closed the connection with unread input,
    # the kernel would reset the connection, and the caller would never see why it was refused. The line is parsed only
    # after the check.
    line = _request_line(connection)
    # SIGALRM gets the longest deadline for now. The request's own deadline is known only after the configuration has
    # been read, which may take long on a busy host.
    signal.setitimer(signal.ITIMER_REAL, LONGEST_DEADLINE_S)
    from agent.privileged.configuration import configured

    scope, user = configured(files, folders)
    check_peer(connection, user)
    request = parse_request(line)
    # The deadline counts from the start of this process, because the caller has been waiting since then.
    deadline = Deadline(STARTED + request.deadline_s, request.deadline_s)
    signal.setitimer(signal.ITIMER_REAL, deadline.left_s() + ANSWERING_S)
    from agent.privileged.verbs import answer
    from agent.sources.storage.lvm import SubprocessRunner

    return answer(request.verb, scope, SubprocessRunner(), deadline)


def _request_line(connection: socket.socket) -> bytes:
    """Read one line, but never more bytes than a request may have."""
    line = b""
    while not line.endswith(b"\n") and len(line) <= MOST_REQUEST_BYTES:
        piece = connection.recv(MOST_REQUEST_BYTES + 1 - len(line))
        if not piece:
            break
        line += piece
    return line
