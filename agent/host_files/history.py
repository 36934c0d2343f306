"""Read and write findings.json, the agent's memory of its findings.

For each finding the file has the time of the first sighting and the number of sightings. The file also has what
provider.yaml files added to Placement, and which resource providers are left over from deleted compute node records.

The agent can work without the file, so a loss must do no harm. Each row is parsed separately: the agent logs and skips
an unreadable row, and keeps the old file under another name before the next save. A failure to write the file is logged
once, and every audit tries again. Reading changes no file, because commands read without the write lock.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os

from oslo_log import log as logging

from agent.host_files.documents import read_document, replace_document, set_aside
from agent.model.finding import History, Sighting, Silence
from agent.model.placement import LeftProvider
from agent.model.provider_config import Added, Addition
from agent.telemetry import events
from agent.telemetry.event_log import log_event
from agent.telemetry.lasting_problem import LastingProblem
from agent.text.own_rows import (
    BadRow,
    Json,
    count_of,
    in_few_words,
    read_rows,
    text_of,
    utc_time_of,
    uuid_of,
    without_repeats,
)

LOG = logging.getLogger(__name__)

FILE = "findings.json"
SCHEMA_VERSION = 1


class FindingsFile:
    """Implements HistoryStore (agent/audit/parts.py) with the file findings.json in ``state_dir``."""

    def __init__(self, state_dir: str) -> None:
        self.path = os.path.join(state_dir, FILE)
        self._unread = LastingProblem(events.HISTORY_UNREADABLE, path=self.path)
        self._unsaved = LastingProblem(events.HISTORY_UNSAVED, path=self.path)
        self._kept_as = ""

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes for the operator, one sentence each: rows that were not read, and a failure to write the file."""
        kept = f"; the file is kept as {self._kept_as}" if self._kept_as else ""
        unread, unsaved = self._unread.cause, self._unsaved.cause
        lost = f"findings are not remembered over a restart, because {self.path} cannot be written: {unsaved}"
        return (
            *((f"{self.path} was not read completely: {unread}{kept}",) if unread else ()),
            *((lost,) if unsaved else ()),
        )

    @property
    def is_unsaved(self) -> bool:
        """Whether the last save failed."""
        return bool(self._unsaved.cause)

    def load(self) -> History:
        """Return the saved history without its unreadable rows; log one warning that names these rows."""
        history, problems = self._read()
        if problems:
            self._unread.occurred(in_few_words(problems))
        return history

    def save(self, history: History) -> bool:
        """Replace the file; return False if that fails, with one warning for each new cause."""
        try:
            self._write(history)
        except OSError as error:
            self._unsaved.occurred(error.strerror or str(error))
            return False
        self._unsaved.cause = ""
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
            "nova_alive_since": history.nova_alive_since,
        }
        os.makedirs(os.path.dirname(self.path), mode=0o750, exist_ok=True)
        self._set_aside()
        replace_document(self.path, document)

    def _set_aside(self) -> None:
        """Keep a copy of a file with unreadable rows (such as rows of a newer release) under another name."""
        _, problems = self._read()
        if not problems:
            return
        with contextlib.suppress(FileNotFoundError):
            self._kept_as = set_aside(self.path)
            self._unread.cause = in_few_words(problems)
            log_event(events.HISTORY_SET_ASIDE, path=self.path, kept_as=self._kept_as)

    def _read(self) -> tuple[History, tuple[str, ...]]:
        """Return the history in the file, and one sentence for each part of the file that cannot be read."""
        try:
            return _content(read_document(self.path, SCHEMA_VERSION))
        except FileNotFoundError:
            return History(), ()
        except OSError as error:
            return History(), (f"the file cannot be read: {error.strerror}",)
        except BadRow as error:
            return History(), (str(error),)


def _content(document: dict[str, Json]) -> tuple[History, tuple[str, ...]]:
    read = read_rows("sightings", document.get("sightings"), _sighting)
    sightings = without_repeats("sightings", read, lambda sighting: sighting.id)
    # If an older release of the agent wrote the file, the lists below may be missing.
    added = read_rows("added", document.get("added", []), _addition)
    left = read_rows("left", document.get("left", []), _left)
    silence = read_rows("silence", document.get("silence", []), _silence)
    problems = [problem for rows in (sightings, added, left, silence) for problem in rows.problems]
    # looked_at: end of the last audit. Without it, the next audit does not continue this history (AuditReads.follows).
    boot, read_until, nova_alive_since = "", None, None
    if document.get("looked_at") is not None:
        try:
            boot, read_until = text_of(document, "boot"), count_of(document, "looked_at")
            if document.get("nova_alive_since") is not None:
                nova_alive_since = count_of(document, "nova_alive_since")
        except BadRow as error:
            problems.append(str(error))
    history = History(
        sightings=tuple(sorted(sightings.good, key=lambda sighting: sighting.id)),
        added=tuple(sorted(added.good)),
        left=tuple(sorted(left.good)),
        boot=boot,
        read_until=read_until,
        silence=next(iter(silence.good), None),
        nova_alive_since=nova_alive_since,
    )
    return history, tuple(problems)


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
        raise BadRow(f"a provider.yaml file cannot add anything of kind {kind!r:.60} to Placement")
    return Addition(text_of(row, 0), Added(kind), text_of(row, 2))


def _silence(row: Json) -> Silence:
    _check_length(row, len(Silence._fields))
    return Silence(text_of(row, 0), count_of(row, 1), count_of(row, 2))


def _left(row: Json) -> LeftProvider:
    _check_length(row, len(LeftProvider._fields))
    # The first item must be a uuid, because the agent puts it into a URL.
    return LeftProvider(uuid_of(row, 0), text_of(row, 1))


def _check_length(row: Json, length: int) -> None:
    if not isinstance(row, list) or len(row) != length:
        raise BadRow(f"the row is not a list of {length} items")
