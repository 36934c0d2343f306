"""Read and write findings.json, the agent's memory of the findings that still exist.

For each of these findings the file has its text, the time of the first sighting and the number of sightings
(finding_rows.py). The file also has what provider.yaml files added to Placement, which resource providers are left over
from deleted compute node records, and since when sources cannot be read. The file is not written if only times have
changed, so its times may be old. When the agent starts, it takes the newer times from report.json, the report of the
last audit.

The agent can work without the file, so the loss of the file or of a row must do no harm. Each row is parsed separately:
the agent logs and skips an unreadable row, and keeps the old file under another name before the next save. A failure to
write the file is logged once, and every audit tries again. Reading changes no file, because commands read without the
write lock.
"""

from __future__ import annotations

import contextlib
import os

from oslo_log import log as logging

from agent.errors import SourceError
from agent.host_files.documents import read_document, replace_document_of_rows, set_aside
from agent.host_files.finding_rows import rows_of, sighting_of, with_text
from agent.host_files.last_report import with_last_report
from agent.host_files.reports import read_report
from agent.model.finding import History, Loss, Sighting, Silence
from agent.model.placement import LeftProvider
from agent.model.provider_config import Added, Addition
from agent.render.documents import Document
from agent.telemetry import events
from agent.telemetry.event_log import log_event
from agent.telemetry.lasting_problem import LastingProblem
from agent.text.own_rows import (
    BadRow,
    Json,
    count_of,
    in_few_words,
    is_utc_time,
    read_rows,
    text_of,
    uuid_of,
    without_repeats,
)

LOG = logging.getLogger(__name__)

FILE = "findings.json"
SCHEMA_VERSION = 1


_NO_FILE: tuple[int, ...] = ()


def _stamp(path: str) -> tuple[int, ...]:
    """Return a value that differs after each save of the file; _NO_FILE if there is no file."""
    try:
        found = os.stat(path)
    except OSError:
        return _NO_FILE
    return (found.st_ino, found.st_mtime_ns, found.st_size)


class FindingsFile:
    """Implements HistoryStore (agent/audit/parts.py) with the file findings.json in ``state_dir``."""

    def __init__(self, state_dir: str, run_dir: str | None = None) -> None:
        self.path = os.path.join(state_dir, FILE)
        self._run_dir = run_dir
        self._stamp = _NO_FILE
        self._unread = LastingProblem(events.HISTORY_UNREADABLE, path=self.path)
        self._unsaved = LastingProblem(events.HISTORY_UNSAVED, path=self.path)
        self._kept_as = ""

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes for the operator, one sentence each: rows that were not read, and a failure to write the file."""
        kept = f"; a copy of the unreadable file is kept as {self._kept_as}" if self._kept_as else ""
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
        """Return the saved history. Unreadable rows are left out, and one warning names them.

        If the last audit's report (report.json in ``run_dir``) is newer, the findings' times and counts come from the
        report.
        """
        self._stamp = _stamp(self.path)
        history, problems = self._read()
        if problems:
            self._unread.occurred(in_few_words(problems))
        return with_last_report(history, self._last_report()) if history.sightings or history.losses else history

    def changed(self) -> History | None:
        """Load the history if another process has replaced the file since the last load or save; else return None."""
        return None if _stamp(self.path) == self._stamp else self.load()

    def save(self, history: History) -> bool:
        """Replace the file. Return False if that fails; log one warning for each new cause."""
        try:
            self._write(history)
        except OSError as error:
            self._unsaved.occurred(error.strerror or str(error))
            return False
        self._unsaved.cause = ""
        self._stamp = _stamp(self.path)
        return True

    def _last_report(self) -> Document | None:
        try:
            return read_report(self._run_dir) if self._run_dir else None
        except SourceError:
            return None

    def _write(self, history: History) -> None:
        document = {
            "schema_version": SCHEMA_VERSION,
            "added": [list(addition) for addition in history.added],
            "left": [list(provider) for provider in history.left],
            "boot": history.boot,
            "looked_at": history.read_until,
            "silence": [list(history.silence)] if history.silence else [],
            "nova_alive_since": history.nova_alive_since,
            "losses": [list(loss) for loss in history.losses],
            "root_uuid": history.root_uuid,
            "settings_digest": history.settings_digest,
        }
        os.makedirs(os.path.dirname(self.path), mode=0o750, exist_ok=True)
        self._set_aside()
        replace_document_of_rows(self.path, document, "sightings", rows_of(history.sightings))

    def _set_aside(self) -> None:
        """Keep a copy of a file with unreadable rows (such as rows of a newer release) under another name."""
        if self._stamp != _NO_FILE and self._stamp == _stamp(self.path) and not self._unread.cause:
            return  # no copy needed: this process read or wrote the file without a problem
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
    texts: list[str] = []
    read = read_rows("sightings", document.get("sightings"), lambda row: _sighting(row, texts))
    sightings = without_repeats("sightings", read, lambda sighting: sighting.id)
    # If an older release of the agent wrote the file, the lists below may be missing.
    added = read_rows("added", document.get("added", []), _addition)
    left = read_rows("left", document.get("left", []), _left)
    silence = read_rows("silence", document.get("silence", []), _silence)
    losses = read_rows("losses", document.get("losses", []), _loss)
    problems = [*texts, *(problem for rows in (sightings, added, left, silence, losses) for problem in rows.problems)]
    # ``looked_at`` is the end of the last audit. Without this time the age of the history is unknown, so each finding's
    # count of audits (``Sighting.times``) starts at 0 (AuditReads.follows).
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
        losses=tuple(sorted(losses.good)),
        root_uuid=_text(document, "root_uuid") or None,
        settings_digest=_text(document, "settings_digest"),
    )
    return history, tuple(problems)


def _sighting(row: Json, problems: list[str]) -> Sighting:
    """Return the history of one finding from a row. If only the finding's text is unreadable, leave out the text."""
    sighting = sighting_of(row)
    try:
        return with_text(sighting, row)
    except BadRow as error:
        problems.append(f"the text of finding {sighting.id:.60} is lost: {error}")
        return sighting


def _text(document: dict[str, Json], name: str) -> str:
    value = document.get(name)
    return value if isinstance(value, str) else ""


def _loss(row: Json) -> Loss:
    _check_length(row, len(Loss._fields))
    if not is_utc_time(row[1]):
        raise BadRow("the time of a source's first failed read is not a valid UTC time")
    return Loss(text_of(row, 0), row[1], count_of(row, 2), count_of(row, 3), row[4] is True)


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
