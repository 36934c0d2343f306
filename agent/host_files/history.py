"""Read and write findings.json, the agent's memory of its findings.

For each finding the file has when it was first seen and how often since. It also has what provider.yaml files added,
and which providers of deleted records are left.

The file is worth little, and its loss must cost nothing. Each row is read by itself; a row that cannot be read is named
and ignored, and the file is kept under another name before the next save. A failure to write the file is logged once,
and every audit tries again. Reading changes nothing, because commands read without the write lock.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
from dataclasses import dataclass

from oslo_log import log as logging

from agent.host_files.atomic import replace_file
from agent.host_files.regular_file import open_regular
from agent.host_files.set_aside import set_aside
from agent.model.finding import History, Sighting, Silence
from agent.model.placement import LeftProvider
from agent.model.provider_config import Added, Addition
from agent.telemetry import events
from agent.text.own_rows import (
    BadRow,
    Json,
    count_of,
    in_few_words,
    parse,
    read_rows,
    text_of,
    utc_time_of,
    uuid_of,
    without_repeats,
)

LOG = logging.getLogger(__name__)

FILE = "findings.json"
SCHEMA_VERSION = 1
MODE = 0o640


@dataclass(frozen=True, slots=True)
class _Found:
    """The file's content, and its problems."""

    history: History
    problems: tuple[str, ...] = ()


class FindingsFile:
    """HistoryStore on one file in ``state_dir``."""

    def __init__(self, state_dir: str) -> None:
        self.path = os.path.join(state_dir, FILE)
        self._unread = ""
        self._kept_as = ""
        self._unsaved = ""

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes for the operator, one sentence each: rows that were not read, and a failure to write the file."""
        kept = f"; the file is kept as {self._kept_as}" if self._kept_as else ""
        unread = (f"{self.path} was not read completely: {self._unread}{kept}",) if self._unread else ()
        unsaved = (
            (f"findings are not remembered over a restart: {self.path} cannot be written: {self._unsaved}",)
            if self._unsaved
            else ()
        )
        return (*unread, *unsaved)

    @property
    def is_unsaved(self) -> bool:
        """Whether the last save failed."""
        return bool(self._unsaved)

    def load(self) -> History:
        """Return the saved history without the rows that cannot be read; one warning names those."""
        found = self._read()
        unread = in_few_words(found.problems)
        if unread and unread != self._unread:
            LOG.warning(events.HISTORY_UNREADABLE, extra={"path": self.path, "error": unread})
        self._unread = unread or self._unread
        return found.history

    def save(self, history: History) -> bool:
        """Replace the file; return False if that fails, with one warning for each new cause."""
        try:
            self._write(history)
        except OSError as error:
            cause = error.strerror or str(error)
            if cause != self._unsaved:
                self._unsaved = cause
                LOG.warning(events.HISTORY_UNSAVED, extra={"path": self.path, "error": cause})
            return False
        self._unsaved = ""
        return True

    def _write(self, history: History) -> None:
        document = {
            "schema_version": SCHEMA_VERSION,
            "sightings": [dataclasses.asdict(sighting) for sighting in history.sightings],
            "added": [list(addition) for addition in history.added],
            "left": [list(provider) for provider in history.left],
            "boot": history.boot,
            "looked_at": history.read_until,
            "silence": [list(history.silence)] if history.silence else [],
        }
        os.makedirs(os.path.dirname(self.path), mode=0o750, exist_ok=True)
        self._set_aside()
        replace_file(self.path, json.dumps(document, indent=1) + "\n", MODE)

    def _set_aside(self) -> None:
        """Keep a copy of a file with unreadable rows (for instance a newer program's) under another name."""
        problems = self._read().problems
        if not problems:
            return
        with contextlib.suppress(FileNotFoundError):
            self._kept_as = set_aside(self.path)
            self._unread = in_few_words(problems)
            LOG.warning(events.HISTORY_SET_ASIDE, extra={"path": self.path, "kept_as": self._kept_as})

    def _read(self) -> _Found:
        try:
            with open_regular(self.path) as file:
                return _found(parse(file.read()))
        except FileNotFoundError:
            return _Found(History())
        except OSError as error:
            return _Found(History(), (f"cannot be read: {error.strerror}",))
        except UnicodeDecodeError:
            return _Found(History(), ("not a JSON document",))
        except BadRow as error:
            return _Found(History(), (str(error),))


def _found(document: Json) -> _Found:
    """Return the content of a parsed document. Raises BadRow if the document has another schema or shape."""
    if not isinstance(document, dict) or document.get("schema_version") != SCHEMA_VERSION:
        raise BadRow(f"not a document of schema_version {SCHEMA_VERSION}")
    read = read_rows("sightings", document.get("sightings"), _sighting)
    sightings = without_repeats("sightings", read, lambda sighting: sighting.id)
    # A file of an older program lacks these lists.
    added = read_rows("added", document.get("added", []), _addition)
    left = read_rows("left", document.get("left", []), _left)
    silence = read_rows("silence", document.get("silence", []), _silence)
    looked, problems = _last_look(document)
    history = History(
        sightings=tuple(sorted(sightings.good, key=lambda sighting: sighting.id)),
        added=tuple(sorted(added.good)),
        left=tuple(sorted(left.good)),
        boot=looked[0],
        read_until=looked[1],
        silence=next(iter(silence.good), None),
    )
    problems = (*sightings.problems, *added.problems, *left.problems, *silence.problems, *problems)
    return _Found(history, problems)


def _last_look(document: Json) -> tuple[tuple[str, int | None], tuple[str, ...]]:
    """Return (boot, seconds since boot) of the last audit.

    Without them, no earlier audit counts as directly before the next one.
    """
    if document.get("looked_at") is None:
        return ("", None), ()
    try:
        return (text_of(document, "boot"), count_of(document, "looked_at")), ()
    except BadRow as error:
        return ("", None), (str(error),)


def _sighting(row: Json) -> Sighting:
    is_old = isinstance(row, dict) and row.get("stands_since", "") == ""
    return Sighting(
        id=text_of(row, "id"),
        code=text_of(row, "code"),
        first_seen_at=utc_time_of(row, "first_seen_at"),
        last_seen_at=utc_time_of(row, "last_seen_at"),
        times=count_of(row, "times"),
        evidence_digest=text_of(row, "evidence_digest"),
        stands_since="" if is_old else utc_time_of(row, "stands_since"),
        counted_at=count_of(row, "counted_at") if isinstance(row, dict) and "counted_at" in row else 0,
    )


def _addition(row: Json) -> Addition:
    _check_length(row, len(Addition._fields))
    kind = text_of(row, 1)
    if kind not in tuple(Added):
        raise BadRow(f"no kind of thing that provider files add: {kind!r:.60}")
    return Addition(text_of(row, 0), Added(kind), text_of(row, 2))


def _silence(row: Json) -> Silence:
    _check_length(row, len(Silence._fields))
    return Silence(text_of(row, 0), count_of(row, 1), count_of(row, 2))


def _left(row: Json) -> LeftProvider:
    _check_length(row, len(LeftProvider._fields))
    # The uuid becomes a part of a URL.
    return LeftProvider(uuid_of(row, 0), text_of(row, 1))


def _check_length(row: Json, length: int) -> None:
    if not isinstance(row, list) or len(row) != length:
        raise BadRow(f"not a list of {length}")
