"""Decide how each failure of a command appears: its exit code, its kind, its message and its list of problems.

A command that fails does not print its result on stdout. With ``-f json`` the command prints an error object
(``error_document``) instead, so that a program that reads stdout always gets JSON. Pure.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Any

from agent.errors import AgentError, ConfigError, Retry
from agent.exit_codes import BAD_ARGUMENTS, BUG, CONFIGURATION, TEMPORARY
from agent.usage_error import UsageError

#: The ``schema_version`` of the error object and of all other JSON documents.
SCHEMA_VERSION = 1
# The exit code after SIGINT (Ctrl-C): 128 + the number of the signal, as shells report it.
INTERRUPTED = 130


class FailureKind(enum.Enum):
    """Why a command failed. Programs compare these values, so a value never changes."""

    ARGUMENTS = "arguments"
    CONFIGURATION = "configuration"
    UNAVAILABLE = "unavailable"
    REFUSED = "refused"
    PERMISSION = "permission"
    INTERRUPTED = "interrupted"
    BUG = "bug"


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """How a command failed. ``problems``: the individual mistakes or errors, which are printed before the message."""

    kind: FailureKind
    message: str
    code: int
    problems: tuple[str, ...] = ()

    @property
    def lines(self) -> tuple[str, ...]:
        """The lines for stderr: the problems, then the message, unless the message only repeats the problems."""
        return self.problems if self.message == "; ".join(self.problems) else (*self.problems, self.message)


class NoDocument(Exception):
    """The command ends without its result. The reason is neither a bug nor a wrong command line."""

    def __init__(self, kind: FailureKind, message: str, code: int, problems: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.failure = Failure(kind=kind, message=message, code=code, problems=problems)


def failure_of(error: BaseException) -> Failure:
    """Return how a command fails if it raised this error.

    An error of a type that no case below names counts as a bug.
    """
    match error:
        case NoDocument():
            return error.failure
        case KeyboardInterrupt():
            return Failure(kind=FailureKind.INTERRUPTED, message="interrupted", code=INTERRUPTED)
        case UsageError():
            return Failure(kind=FailureKind.ARGUMENTS, message=str(error), code=BAD_ARGUMENTS)
        case ConfigError():
            return Failure(
                kind=FailureKind.CONFIGURATION, message=str(error), code=CONFIGURATION, problems=error.problems
            )
        case AgentError() if error.retry is not Retry.NEVER:
            return Failure(kind=FailureKind.UNAVAILABLE, message=str(error), code=TEMPORARY)
    message = str(error) if isinstance(error, AgentError) else _bug(error)
    return Failure(kind=FailureKind.BUG, message=message, code=BUG)


def error_document(failure: Failure) -> dict[str, Any]:
    """Return the JSON object that the command prints instead of its document."""
    return {
        "schema_version": SCHEMA_VERSION,
        "error": {"kind": failure.kind.value, "message": failure.message, "problems": list(failure.problems)},
        "exit_code": failure.code,
    }


def _bug(error: BaseException) -> str:
    first_line = (str(error).splitlines() or ["no message"])[0]
    return f"this is a bug: {type(error).__name__}: {first_line} (at {_place(error)}; --debug shows more)"


def _place(error: BaseException) -> str:
    trace = error.__traceback__
    if trace is None:
        return "unknown"
    while trace.tb_next is not None:
        trace = trace.tb_next
    return f"{trace.tb_frame.f_code.co_filename.rpartition('/')[2]}:{trace.tb_lineno}"
