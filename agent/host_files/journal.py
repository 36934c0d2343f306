"""Write an append-only journal of the agent's changes to data that other services use too, such as allocations.

A change's line has the state before the change, and is on disk (file and folder synced) before the agent tries the
change. The outcome follows as a separate line. If the outcome is missing, a crash interrupted the change, and it is
unknown whether the change was made. Lines are never rewritten. The reader reports each unreadable line (cut short by a
crash, garbled by another program), and returns all other lines. A writer needs the write lock.
"""

from __future__ import annotations

import enum
import json
import os
import stat
import uuid
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Protocol

from agent.errors import SourceUnavailable
from agent.host_files.atomic import share
from agent.model.heal import Actor
from agent.text.numbers import unbounded, whole
from agent.text.own_rows import TOO_DEEP, is_too_deep

FILE = "journal.jsonl"
SCHEMA_VERSION = 1
# The journal has project ids, user ids and earlier allocations. Only root and the folder's group may read the journal.
MODE = 0o640
SOURCE = "journal"

#: A plain JSON value: the state before or after a change.
Json = Any
_Document = dict[str, Json]


class Result(enum.Enum):
    """The outcome of a change.

    OPEN: the process died before it wrote an outcome. UNKNOWN: the answer to the request was lost.
    """

    OPEN = "open"
    DONE = "done"
    REFUSED = "refused"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A change that the agent is about to make. ``kind`` selects the code that can undo it (agent/healing/undo.py).

    ``before`` and ``after`` are plain JSON values whose shape depends on ``kind``. ``audit_id`` and ``plan_digest``
    name the audit and the plan that led to the change. If this change is an undo, ``undoes`` is the id of the entry
    of the undone change.
    """

    kind: str
    why: str
    before: Json
    after: Json
    finding_id: str | None = None
    code: str | None = None
    consumer_uuid: str | None = None
    provider_uuid: str | None = None
    audit_id: str | None = None
    plan_digest: str | None = None
    undoes: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One change in the journal.

    ``at`` and ``ended_at`` are ISO 8601 UTC. ``words`` is the outcome's text. ``undone_by`` has the ids of the entries
    that undo this change, without refused attempts. ``actor`` says who made the change. It is None if an older version
    of the agent wrote the entry.
    """

    id: str
    at: str
    change: Change
    result: Result = Result.OPEN
    words: str = ""
    ended_at: str | None = None
    undone_by: tuple[str, ...] = ()
    actor: Actor | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalContent:
    """The journal's entries in the order they were written, and one sentence for each unreadable line."""

    entries: tuple[Entry, ...] = ()
    problems: tuple[str, ...] = ()


class Journal(Protocol):
    """A store to which the agent writes each change before making the change."""

    def begin(self, change: Change) -> str:
        """Write the change to disk, and return the entry's id.

        Raises SourceUnavailable if the write fails. The caller must then not make the change.
        """
        ...

    def end(self, entry_id: str, result: Result, words: str = "") -> None:
        """Write an outcome of an entry; the last outcome counts. Raises SourceUnavailable if the write fails."""
        ...

    def read(self) -> JournalContent:
        """Return all entries, and a sentence for each unreadable line. Raises SourceUnavailable if the read fails."""
        ...


def new_entry_id() -> str:
    """Return a new id: twelve hexadecimal digits, few enough for an operator to type."""
    return uuid.uuid4().hex[:12]


class FileJournal:
    """A Journal that is one file in ``state_dir``. ``now`` returns the time as ISO 8601 UTC.

    ``actor`` returns who makes the changes. A process that only reads the journal does not need ``actor``.
    """

    def __init__(
        self,
        state_dir: str,
        now: Callable[[], str],
        new_id: Callable[[], str] = new_entry_id,
        actor: Callable[[], Actor | None] = lambda: None,
    ) -> None:
        self.path = os.path.join(state_dir, FILE)
        self._now = now
        self._new_id = new_id
        self._actor = actor

    def begin(self, change: Change) -> str:
        """Implement Journal.begin."""
        entry_id, actor = self._new_id(), self._actor()
        who = None if actor is None else asdict(actor)
        self._append({"line": "change", "id": entry_id, "at": self._now(), **asdict(change), "actor": who})
        return entry_id

    def end(self, entry_id: str, result: Result, words: str = "") -> None:
        """Implement Journal.end."""
        self._append({"line": "outcome", "id": entry_id, "at": self._now(), "result": result.value, "words": words})

    def read(self) -> JournalContent:
        """Implement Journal.read; a missing file is an empty journal."""
        try:
            descriptor = _opened(self.path, os.O_RDONLY)
        except FileNotFoundError:
            return JournalContent()
        except OSError as error:
            raise self._problem("read", error) from error
        with os.fdopen(descriptor, "rb") as file:
            return parsed(file.read())

    def _append(self, document: _Document) -> None:
        line = json.dumps({"schema_version": SCHEMA_VERSION} | document, allow_nan=False).encode() + b"\n"
        try:
            descriptor = _opened(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND)
            try:
                share(descriptor, MODE, os.path.dirname(self.path))
                _write_whole(descriptor, _from_a_new_line(descriptor) + line)
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
            _sync_folder(os.path.dirname(self.path))
        except OSError as error:
            raise self._problem("written", error) from error

    def _problem(self, read_or_written: str, error: OSError) -> SourceUnavailable:
        return SourceUnavailable(SOURCE, f"{self.path} cannot be {read_or_written}: {error.strerror or error}")


def parsed(content: bytes) -> JournalContent:
    """Return the journal that is in ``content``. Raises no error, whatever the bytes are."""
    lines = content.split(b"\n")
    problems: list[str] = []
    found: dict[str, Entry] = {}
    for number, line in enumerate(lines, start=1):
        problem = _take(found, line) if line.strip() else None
        if problem is not None:
            torn = f"the last line, {number}, is torn: a write was cut off" if number == len(lines) else None
            problems.append(torn or f"line {number} is skipped: {problem}")
    return JournalContent(entries=_with_undone(tuple(found.values())), problems=tuple(problems))


def _take(found: dict[str, Entry], line: bytes) -> str | None:
    """Add the line's content to ``found``; return the problem if the line cannot be read."""
    try:
        document = json.loads(line)
    except (ValueError, RecursionError):
        return "the line is not JSON"
    if not isinstance(document, dict) or document.get("schema_version") != SCHEMA_VERSION:
        return f"the line is not a JSON object with schema_version {SCHEMA_VERSION}"
    if where := unbounded(document):
        return f"the number in {where} is not a finite 64-bit number"
    if is_too_deep(document):
        return f"the line is {TOO_DEEP}"
    return _take_document(found, document)


def _take_document(found: dict[str, Entry], document: _Document) -> str | None:
    entry_id, at = document.get("id"), document.get("at")
    if not isinstance(entry_id, str) or not isinstance(at, str):
        return "the line has no id or no time"
    match document.get("line"):
        case "change":
            return _take_change(found, document, entry_id, at)
        case "outcome":
            return _take_outcome(found, document, entry_id, at)
    return "the line records neither a change nor the outcome of a change"


_OPTIONAL = frozenset(f.name for f in fields(Change) if f.default is None)
_OF_AN_ACTOR = tuple(f.name for f in fields(Actor))


def _take_change(found: dict[str, Entry], document: _Document, entry_id: str, at: str) -> str | None:
    if entry_id in found:
        return f"the line repeats the id {entry_id}"
    members = {f.name: document[f.name] for f in fields(Change) if f.name in document}
    texts = [name for name in members if name not in {"before", "after"}]
    is_whole = {"kind", "why", "before", "after"} <= members.keys()
    if not is_whole or not all(isinstance(members[n], str) or (members[n] is None and n in _OPTIONAL) for n in texts):
        return "the line records a change, but a key is missing or has a wrong value"
    found[entry_id] = Entry(id=entry_id, at=at, change=Change(**members), actor=_actor(document.get("actor")))
    return None


def _actor(member: Json) -> Actor | None:
    """Return the actor, None if it is missing or invalid. The entry stays valid, because undo needs the entry."""
    if not isinstance(member, dict):
        return None
    is_valid = (
        all(isinstance(member.get(name), str) for name in ("user", "program", "version", "host"))
        and isinstance(member.get("sudo_user"), str | None)
        and (member.get("login_uid") is None or whole(member["login_uid"]) is not None)
        and whole(member.get("pid")) is not None
    )
    known: dict[str, Any] = {name: member.get(name) for name in _OF_AN_ACTOR}
    return Actor(**known) if is_valid else None


def _take_outcome(found: dict[str, Entry], document: _Document, entry_id: str, at: str) -> str | None:
    entry, words = found.get(entry_id), document.get("words")
    result = next((r for r in Result if r.value == document.get("result")), None)
    if result is None or not isinstance(words, str):
        return 'the line records an outcome, but "result" or "words" is missing or wrong'
    if entry is None:
        return f"the line records the outcome of a change that is not in the journal: {entry_id}"
    found[entry_id] = replace(entry, result=result, words=words, ended_at=at)
    return None


def _with_undone(entries: tuple[Entry, ...]) -> tuple[Entry, ...]:
    undone: dict[str, tuple[str, ...]] = {}
    for entry in entries:
        if entry.change.undoes is not None and entry.result is not Result.REFUSED:
            undone[entry.change.undoes] = (*undone.get(entry.change.undoes, ()), entry.id)
    return tuple(replace(entry, undone_by=undone.get(entry.id, ())) for entry in entries)


def _opened(path: str, flags: int) -> int:
    """Open the journal and return its descriptor. Raises OSError, also if the path is a link or not a regular file.

    A link may lead to a file without the earlier states that ``undo`` needs.
    """
    descriptor = os.open(path, flags | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK, MODE)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(None, "not a regular file")
    return descriptor


def _from_a_new_line(descriptor: int) -> bytes:
    """Return a line break if a crash cut the last line short, so that the next entry starts a new line."""
    size = os.fstat(descriptor).st_size
    return b"" if size == 0 or os.pread(descriptor, 1, size - 1) == b"\n" else b"\n"


def _write_whole(descriptor: int, content: bytes) -> None:
    while content:
        content = content[os.write(descriptor, content) :]


def _sync_folder(folder: str) -> None:
    descriptor = os.open(folder or ".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
