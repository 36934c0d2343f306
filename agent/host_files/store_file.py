"""Read and write store.json, which names the store (volume group or file system) of the guests' disks.

The agent computes DISK_GB from the store. If the store is not mounted, its empty mount point is a folder of another
file system. store.json keeps the agent from computing DISK_GB from that file system. If store.json is missing or
unreadable, agent/resources/store_doubt.py decides whether the store is the right one: by the guests' disks, and by the
total of DISK_GB in Placement.

The agent keeps a copy of an unreadable store.json. It replaces the file only as a whole, under the write lock.
"""

from __future__ import annotations

import dataclasses
import os

from agent.errors import ConfigError
from agent.host_files.documents import read_document, replace_document, set_aside
from agent.model.host.storage import FileSystemIdentity
from agent.model.host.store import StoreMark, StoreRecord
from agent.telemetry import events
from agent.telemetry.lasting_problem import LastingProblem
from agent.text.own_rows import BadRow, Json, count_of, text_of

FILE = "store.json"
SCHEMA_VERSION = 1
# The maximum number of characters of the file. The file contains a few paths of at most 4096 bytes each. In JSON, a
# byte of a path may take six characters.
_MAX_CHARACTERS = 1 << 17


class StoreFile:
    """The file store.json in ``state_dir``. It names the disk store from which DISK_GB was last computed."""

    def __init__(self, state_dir: str) -> None:
        self.path = os.path.join(state_dir, FILE)
        self._unread = LastingProblem(events.STORE_UNREADABLE, path=self.path)
        self._unsaved = LastingProblem(events.STORE_UNSAVED, path=self.path)

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes for the operator about the file, one sentence each."""
        unread, unsaved = self._unread.cause, self._unsaved.cause
        lost = f"the place of guests' disks is not remembered over a restart, because {self.path} cannot be written"
        return (
            *((f"{self.path} cannot be read: {unread}",) if unread else ()),
            *((f"{lost}: {unsaved}",) if unsaved else ()),
        )

    def load(self) -> StoreRecord | None:
        """Return the saved record; None if the file is missing or unreadable.

        An unreadable file is logged once for each cause.
        """
        record = None
        try:
            record = _record(read_document(self.path, SCHEMA_VERSION, _MAX_CHARACTERS))
        except FileNotFoundError:
            pass
        except (OSError, BadRow) as error:
            self._unread.occurred(getattr(error, "strerror", None) or str(error))
            return None
        self._unread.cause = ""
        return record

    def save(self, record: StoreRecord) -> bool:
        """Replace the file; return False if that fails. Log the failure only if its cause is new."""
        try:
            self.put(record)
        except ConfigError as error:
            self._unsaved.occurred(str(error))
            return False
        self._unsaved.cause = ""
        return True

    def put(self, record: StoreRecord) -> None:
        """Replace the file. If the old file is unreadable, keep it under another name.

        Raises ConfigError if the new file cannot be written.
        """
        try:
            os.makedirs(os.path.dirname(self.path), mode=0o750, exist_ok=True)
            if self.load() is None and os.path.lexists(self.path):
                set_aside(self.path)
            replace_document(self.path, document_of(record))
        except OSError as error:
            raise ConfigError(f"{self.path}: cannot be written: {error.strerror or error}") from error


def document_of(record: StoreRecord) -> dict[str, Json]:
    """Return the content of store.json: the disk store from which DISK_GB was last computed."""
    return {"schema_version": SCHEMA_VERSION, "store": store_document(record.mark)}


def store_document(mark: StoreMark | None) -> Json:
    """Return the identity and size of a disk store as JSON; null if ``mark`` is None."""
    return None if mark is None else dataclasses.asdict(mark)


def _record(document: dict[str, Json]) -> StoreRecord:
    if "store" not in document:
        raise BadRow(f'a document of schema_version {SCHEMA_VERSION} must have the key "store"')
    return StoreRecord(mark=mark_of(document["store"]))


def mark_of(document: Json) -> StoreMark | None:
    """Parse the identity and size of a disk store from a JSON value; return None for null. Raises BadRow."""
    if document is None:
        return None
    found = _object(document)
    filesystem = found.get("filesystem")
    return StoreMark(
        source=text_of(found, "source"),
        name=text_of(found, "name"),
        size_bytes=count_of(found, "size_bytes"),
        uuid=_text_or_none(found, "uuid"),
        filesystem=None if filesystem is None else _identity(_object(filesystem)),
    )


def _identity(found: dict[str, Json]) -> FileSystemIdentity:
    return FileSystemIdentity(
        mount_point=text_of(found, "mount_point"),
        kind=text_of(found, "kind"),
        device=text_of(found, "device"),
        inner=text_of(found, "inner"),
        uuid=_text_or_none(found, "uuid"),
    )


def _object(document: Json) -> dict[str, Json]:
    if isinstance(document, dict):
        return document
    raise BadRow('the value of the key "store" or "filesystem" is not a JSON object')


def _text_or_none(found: dict[str, Json], key: str) -> str | None:
    return None if found.get(key) is None else text_of(found, key)
