"""Write and parse the messages between the agent and stocktake-probe, without I/O.

The agent sends one line of JSON: the name of a request from a fixed list, and the seconds within which the probe must
answer. There are no other keys, so no request can name a path, a program or an option. The probe answers with one line
of JSON that has one of the keys of ``Kind``, and closes the connection. An answer without its line feed is incomplete.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

MOST_REQUEST_BYTES = 4096
MOST_ANSWER_BYTES = 16 << 20
#: The longest deadline of a request, in seconds. systemd ends every process of the probe after a minute
#: (RuntimeMaxSec=60), so a longer deadline would have no effect.
LONGEST_DEADLINE_S = 60.0


class Verb(StrEnum):
    """The requests that the probe answers."""

    LVM_GROUPS = "lvm-groups"
    LVM_VOLUMES = "lvm-volumes"
    CEPH_DF = "ceph-df"
    NDCTL_LIST = "ndctl-list"
    FILE_SYSTEMS = "file-systems"
    IMAGES = "images"
    DOMAIN_CAPABILITIES = "domain-capabilities"


class Kind(StrEnum):
    """The kinds of answers. The JSON object of an answer has one key, which is the kind.

    - COMPLETED: the command ended; the value has the command's stdout, stderr and returncode.
    - TIMED_OUT: the command was killed at the time-out; the value is the command's last line on stderr.
    - NOT_STARTED: the command could not be started; the value is the errno.
    - REFUSED: the probe refuses the request; the value is the reason.
    - FACTS: the probe read the source without a command; the value is an object of facts_json.py.
    - UNREAD: the source gave the probe no answer; the value is the reason.
    """

    COMPLETED = "completed"
    TIMED_OUT = "timed_out"
    NOT_STARTED = "not_started"
    REFUSED = "refused"
    FACTS = "facts"
    UNREAD = "unread"


class BadMessage(Exception):
    """A request or an answer that does not follow the protocol; the text says why, without the message's content."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One question to the probe. ``deadline_s``: the seconds that the probe has, from the request's arrival."""

    verb: Verb
    deadline_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The probe's answer. ``content`` is a str, an int or a dict; the docstring of ``Kind`` lists which."""

    kind: Kind
    content: Any


def request_line(request: Request) -> bytes:
    """Return the request as one line."""
    return _line({"verb": request.verb.value, "deadline_s": request.deadline_s})


def parse_request(line: bytes) -> Request:
    """Return the request of this line. Raises BadMessage if the line is not exactly one valid request."""
    if len(line) > MOST_REQUEST_BYTES:
        raise BadMessage(f"the request is longer than {MOST_REQUEST_BYTES} bytes")
    if not line.endswith(b"\n"):
        raise BadMessage("the request ends without a line feed")
    document = _document(line, "request")
    if set(document) != {"verb", "deadline_s"}:
        raise BadMessage("the request must have the keys verb and deadline_s, and no other key")
    try:
        verb = Verb(document["verb"])
    except ValueError:
        raise BadMessage("the verb is unknown") from None
    return Request(verb=verb, deadline_s=_seconds(document["deadline_s"]))


def answer_line(answer: Answer) -> bytes:
    """Return the answer as one line. Raises BadMessage if the line is longer than an answer may be."""
    line = _line({answer.kind.value: answer.content})
    if len(line) > MOST_ANSWER_BYTES:
        raise BadMessage(f"the answer is longer than {MOST_ANSWER_BYTES >> 20} MiB")
    return line


def parse_answer(line: bytes) -> Answer:
    """Return the answer of this line. Raises BadMessage if the line is not exactly one valid answer."""
    if len(line) > MOST_ANSWER_BYTES:
        raise BadMessage(f"the probe's answer is longer than {MOST_ANSWER_BYTES >> 20} MiB")
    if not line:
        raise BadMessage("the probe closed the connection without an answer")
    if not line.endswith(b"\n"):
        raise BadMessage("the probe closed the connection in the middle of its answer")
    document = _document(line, "answer")
    try:
        ((key, content),) = document.items()
        kind = Kind(key)
    except ValueError:
        raise BadMessage("the probe's answer is of no known kind") from None
    if not _VALID[kind](content):
        raise BadMessage(f"the probe's answer {kind.value!r} does not have the expected content")
    return Answer(kind=kind, content=content)


def _line(document: dict[str, Any]) -> bytes:
    return json.dumps(document, allow_nan=False).encode("ascii") + b"\n"


def _document(line: bytes, what: str) -> dict[str, Any]:
    try:
        document = json.loads(line)
    except (ValueError, RecursionError):
        raise BadMessage(f"the {what} is not JSON") from None
    if not isinstance(document, dict):
        raise BadMessage(f"the {what} is not a JSON object")
    return document


def _seconds(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise BadMessage("deadline_s is not a number")
    # Check the limits before float(), because float() raises OverflowError for a very large integer. The check also
    # rejects NaN.
    if not 0 < value <= LONGEST_DEADLINE_S:
        raise BadMessage(f"deadline_s is not between 0 and {LONGEST_DEADLINE_S:.0f}")
    return float(value)


def _is_completed(content: object) -> bool:
    if not isinstance(content, dict) or set(content) != {"stdout", "stderr", "returncode"}:
        return False
    texts = isinstance(content["stdout"], str) and isinstance(content["stderr"], str)
    return texts and type(content["returncode"]) is int


_VALID: Mapping[Kind, Callable[[object], bool]] = {
    Kind.COMPLETED: _is_completed,
    Kind.TIMED_OUT: lambda content: isinstance(content, str),
    Kind.NOT_STARTED: lambda content: type(content) is int,
    Kind.REFUSED: lambda content: isinstance(content, str),
    Kind.FACTS: lambda content: isinstance(content, dict),
    Kind.UNREAD: lambda content: isinstance(content, str),
}
