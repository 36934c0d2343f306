"""Read guests' disk files, of all defined domains, and the folder that nova keeps them in.

A quiet audit only asks two folders for the time of their last change: disks are
measured again when their set changed, when a folder came or went, when the last
measure is old, or after forget(). Until then the very same value is given. A hung
network mount costs this source's own thread and its reading, never the audit. A
measure that outlasts the deadline fails that reading, and is the next one's answer.

What cannot be read of the folder costs that part alone, and is asked for again at
each read; a folder that is not there is no trouble, it holds nothing.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from agent.deadlines.reader_thread import ReaderThread
from agent.errors import SourceUnavailable
from agent.model import snapshot
from agent.model.host.storage import GuestFile, ImageStore, StorageFacts
from agent.ports import Deadline
from agent.sources.storage.disk_files import measure_disk
from agent.sources.storage.filesystem import measure
from agent.sources.storage.image_walk import cache_bytes, said, walk
from agent.sources.storage.shared_storage import shared_because

# Files grow without a word. Nothing that is published rests on them but the image cache's reserve in whole GiB, and
# a measure costs 50 µs a file: nova's own image cache, too, is looked at every 40 minutes only.
MAX_AGE_S = 600.0


@dataclass(frozen=True, slots=True)
class _Look:
    """One measure, what it rests on, and when it was taken (monotonic)."""

    disks: frozenset[GuestFile]
    changed: tuple[int | None, int | None]
    taken_at: float
    facts: StorageFacts


class Images:
    """ImageSource of one host. ``instances_path`` and ``cache_path`` as nova has them; ``monotonic`` for tests."""

    name = snapshot.IMAGES

    def __init__(
        self,
        instances_path: str,
        cache_path: str,
        reader: ReaderThread,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._instances_path = instances_path
        self._cache_path = cache_path
        self._reader = reader
        self._monotonic = monotonic
        self._last: _Look | None = None
        self._forgotten = 0
        self._lock = threading.Lock()
        self._at = ""

    def read(self, disks: frozenset[GuestFile], deadline: Deadline) -> StorageFacts:
        """Disk files by path, and the image store: none where the folder cannot be listed (``unread`` says why).

        Raises SourceUnavailable, naming the file that does not answer by the deadline.
        """
        try:
            return self._reader.call(lambda: self._read(disks), deadline)
        except SourceUnavailable as error:
            raise SourceUnavailable(self.name, f"{self._at or self._instances_path}: {error.message}") from error

    def forget(self) -> None:
        """The next read measures; what is being measured now is not kept."""
        with self._lock:
            self._last = None
            self._forgotten += 1

    def _read(self, disks: frozenset[GuestFile]) -> StorageFacts:
        """On the reader's thread, where a late answer can still be kept."""
        with self._lock:
            before, forgotten = self._last, self._forgotten
        look = self._look(disks, before)
        with self._lock:
            if forgotten == self._forgotten:
                self._last = look
        return look.facts

    def _look(self, disks: frozenset[GuestFile], before: _Look | None) -> _Look:
        self._at = self._instances_path
        changed = (_changed_ns(self._instances_path), _changed_ns(self._cache_path))
        now = self._monotonic()
        asked_before = before is not None and (before.disks, before.changed) == (disks, changed)
        if before and asked_before and now - before.taken_at < MAX_AGE_S and self._problems_stand(before.facts):
            return before
        facts = self._measure(disks)
        # Of its end: one that takes longer than it may be old would be too old at once.
        return _Look(disks=disks, changed=changed, taken_at=self._monotonic(), facts=facts)

    def _problems_stand(self, facts: StorageFacts) -> bool:
        """Whether the files that could not be measured still cannot, for the same reasons."""
        if facts.unread:
            return False
        for file in facts.disk_files:
            self._at = file.path
            if file.problem and measure_disk(GuestFile(path=file.path, format=file.format)) != file:
                return False
        return True

    def _measure(self, disks: frozenset[GuestFile]) -> StorageFacts:
        files = []
        for disk in sorted(disks, key=lambda disk: (disk.path, disk.format)):
            self._at = disk.path
            files.append(measure_disk(disk))
        self._at = self._instances_path
        unread: list[tuple[str, str]] = []
        stores = self._stores(frozenset(disk.path for disk in disks), unread)
        return StorageFacts(disk_files=tuple(files), image_stores=stores, unread=tuple(unread))

    def _stores(self, disks: frozenset[str], unread: list[tuple[str, str]]) -> tuple[ImageStore, ...]:
        try:
            store = ImageStore(
                path=self._instances_path,
                files=walk(self._instances_path, self._cache_path, disks),
                cache_path=self._cache_path,
                cache_bytes=self._cache_bytes(unread),
                # Right after the walk, so that the two fit as well as they can: the audit's own statvfs is of before.
                filesystem=measure(self._instances_path),
                shared_because=shared_because(self._instances_path),
            )
        except FileNotFoundError:
            return ()
        except OSError as error:
            unread.append((self._instances_path, said(error)))
            return ()
        return (store,)

    def _cache_bytes(self, unread: list[tuple[str, str]]) -> int | None:
        try:
            return cache_bytes(self._instances_path, self._cache_path)
        except OSError as error:
            unread.append((self._cache_path, said(error)))
            return None


def _changed_ns(path: str) -> int | None:
    """When something was made, renamed or removed in that folder; None where it cannot be asked."""
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return None
