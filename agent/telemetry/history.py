"""findings.json: when each finding was first seen, how often since, what provider.yaml files added, what was left.

The file is worth little and must cost nothing: one that cannot be read counts as
empty, is set aside at the next save, and findings are simply confirmed anew; one that
cannot be written is told once and tried again by every audit, which ends none of them.
Reading changes nothing, because commands read without the write lock.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
from typing import Any

from oslo_log import log as logging

from agent.atomic import replace_file
from agent.model.finding import History, Sighting
from agent.model.placement import LeftProvider
from agent.model.provider_config import Added, Addition
from agent.telemetry import events

LOG = logging.getLogger(__name__)

FILE = "findings.json"
SCHEMA_VERSION = 1
MODE = 0o640
_TYPES = {field.name: int if field.type == "int" else str for field in dataclasses.fields(Sighting)}


class FindingsFile:
    """HistoryStore on one file in ``state_dir``."""

    def __init__(self, state_dir: str) -> None:
        self.path = os.path.join(state_dir, FILE)
        self._warned = ""
        self._unsaved = ""

    def load(self) -> History:
        """What was saved last; empty, with one warning, where that cannot be read."""
        try:
            return self._read()
        except _Unreadable as error:
            if str(error) != self._warned:
                self._warned = str(error)
                LOG.warning(events.HISTORY_UNREADABLE, extra={"path": self.path, "error": str(error)})
            return History()

    def save(self, history: History) -> bool:
        """Replace it; False, with one warning for each new cause, where the folder or the file cannot be written."""
        try:
            self._write(history)
        except OSError as error:
            cause = error.strerror or str(error)
            if cause != self._unsaved:
                self._unsaved = cause
                LOG.warning(events.HISTORY_UNSAVED, extra={"path": self.path, "error": cause})
            return False
        self._warned = self._unsaved = ""
        return True

    def _write(self, history: History) -> None:
        document = {
            "schema_version": SCHEMA_VERSION,
            "sightings": [dataclasses.asdict(sighting) for sighting in history.sightings],
            "added": [list(addition) for addition in history.added],
            "left": [list(provider) for provider in history.left],
        }
        os.makedirs(os.path.dirname(self.path), mode=0o750, exist_ok=True)
        self._set_aside()
        replace_file(self.path, json.dumps(document, indent=1) + "\n", MODE)

    def _set_aside(self) -> None:
        """Keep a file that we cannot read, a newer program's for instance, as ``.bad``."""
        try:
            self._read()
        except _Unreadable:
            with contextlib.suppress(FileNotFoundError):
                os.replace(self.path, f"{self.path}.bad")

    def _read(self) -> History:
        try:
            with open(self.path, encoding="utf-8") as file:
                document = json.load(file)
        except FileNotFoundError:
            return History()
        except OSError as error:
            raise _Unreadable(f"cannot be read: {error.strerror}") from error
        except (ValueError, RecursionError) as error:
            raise _Unreadable("not a JSON document") from error
        return History(
            sightings=_sightings(document),
            added=_added(document.get("added", [])),
            left=_left(document.get("left", [])),
        )


class _Unreadable(Exception):
    """The file is there and no history can be made of it."""


def _sightings(document: Any) -> tuple[Sighting, ...]:  # noqa: ANN401 - JSON may be anything
    if not isinstance(document, dict) or document.get("schema_version") != SCHEMA_VERSION:
        raise _Unreadable(f"not a document of schema_version {SCHEMA_VERSION}")
    rows = document.get("sightings")
    if not isinstance(rows, list):
        raise _Unreadable("sightings is not a list")
    return tuple(sorted((_sighting(row) for row in rows), key=lambda sighting: sighting.id))


def _added(rows: Any) -> tuple[Addition, ...]:  # noqa: ANN401 - as above; a file of an older program has none
    if not isinstance(rows, list) or not all(_is_addition(row) for row in rows):
        raise _Unreadable("added is not of the shape that was saved")
    return tuple(sorted(Addition(uuid, Added(kind), name) for uuid, kind, name in rows))


def _left(rows: Any) -> tuple[LeftProvider, ...]:  # noqa: ANN401 - as above
    if not isinstance(rows, list) or not all(_is_texts(row, LeftProvider._fields) for row in rows):
        raise _Unreadable("left is not of the shape that was saved")
    return tuple(sorted(LeftProvider(*row) for row in rows))


def _is_addition(row: Any) -> bool:  # noqa: ANN401 - as above
    return _is_texts(row, Addition._fields) and row[1] in tuple(Added)


def _is_texts(row: Any, names: tuple[str, ...]) -> bool:  # noqa: ANN401 - as above
    return isinstance(row, list) and len(row) == len(names) and all(isinstance(part, str) for part in row)


def _sighting(row: Any) -> Sighting:  # noqa: ANN401 - as above
    row = {"stands_since": ""} | row if isinstance(row, dict) else row
    if not isinstance(row, dict) or any(type(row.get(name)) is not kind for name, kind in _TYPES.items()):
        raise _Unreadable("a sighting is not of the shape that was saved")
    return Sighting(**{name: row[name] for name in _TYPES})
