"""Measure the disk files of all defined domains, and nova's ``instances_path``.

Most reads only compare the modification times of two folders (``instances_path`` and the image cache), and return the
last result again. The source measures again if the set of disks has changed, if an entry of one of the two folders was
created or removed, if the last measurement is old, if forget() was called, if a folder could not be read, or if a file
does not have its problem any more.

A hung network mount blocks only this source's own thread, never the audit. If a measurement outlasts the deadline, the
read fails, and the next read uses the late result.

image_meter.py does the measurement itself, in this process or in stocktake-probe.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from agent.deadlines.reader_thread import ReaderThread
from agent.errors import SourceUnavailable
from agent.model import snapshot
from agent.model.host.storage import GuestFile, StorageFacts
from agent.ports import Deadline
from agent.sources.storage.image_meter import ImageFolders, ImageMeter, OwnMeter

# The maximum age of a measurement, in seconds. After this time the source measures again, even if the folders'
# modification times are the same: a file that grows does not change its folder's modification time. A measurement takes
# 50 µs per file. Ten minutes are short enough: of all sizes, only that of the image cache affects Placement (as a
# reserve in GiB), and nova checks the image cache only every 40 minutes.
MAX_AGE_S = 600.0


@dataclass(frozen=True, slots=True)
class _Measurement:
    """A measurement of the files ``disks``. ``changed``: modification times of the instances folder and image cache.

    The measurement becomes invalid if the guests' disks or one of these modification times change.
    """

    disks: frozenset[GuestFile]
    changed: tuple[object, object]
    taken_at: float
    facts: StorageFacts


class Images:
    """The ImageSource that measures disk files, nova's ``instances_path`` and nova's image cache.

    ``meter`` measures the files. Without a ``meter``, this process measures the files itself. Tests replace
    ``monotonic``.
    """

    name = snapshot.IMAGES

    def __init__(
        self,
        instances_path: str,
        cache_path: str,
        reader: ReaderThread,
        monotonic: Callable[[], float] = time.monotonic,
        meter: ImageMeter | None = None,
    ) -> None:
        self._instances_path = instances_path
        self._cache_path = cache_path
        self._meter = meter or OwnMeter(ImageFolders(instances_path=instances_path, cache_path=cache_path))
        self._reader = reader
        self._monotonic = monotonic
        self._last: _Measurement | None = None
        self._forgotten = 0
        self._lock = threading.Lock()
        self._at = ""

    def read(self, disks: frozenset[GuestFile], deadline: Deadline) -> StorageFacts:
        """Return facts about the guests' disk files, sorted by path, and about the folder ``instances_path``.

        If the folder cannot be listed, the result has no facts about it, and ``unread`` has the reason. Raises
        SourceUnavailable if the deadline passes. The error names the file that was being measured.
        """
        try:
            return self._reader.call(lambda: self._read(disks), deadline)
        except SourceUnavailable as error:
            raise SourceUnavailable(self.name, f"{self._at or self._instances_path}: {error.message}") from error

    def forget(self) -> None:
        """Make the next read measure again; discard the result of a measurement that is under way."""
        with self._lock:
            self._last = None
            self._forgotten += 1

    def _read(self, disks: frozenset[GuestFile]) -> StorageFacts:
        """Measure on the reader thread. A measurement that ends after the deadline is stored for the next read."""
        with self._lock:
            before, forgotten = self._last, self._forgotten
        measurement = self._measured(disks, before)
        with self._lock:
            if forgotten == self._forgotten:
                self._last = measurement
        return measurement.facts

    def _measured(self, disks: frozenset[GuestFile], before: _Measurement | None) -> _Measurement:
        self._go_to(self._instances_path)
        changed = (self._meter.changed_ns(self._instances_path), self._meter.changed_ns(self._cache_path))
        if before is not None and (before.disks, before.changed) == (disks, changed):
            is_recent = self._monotonic() - before.taken_at < MAX_AGE_S
            if is_recent and self._problems_stand(before.facts):
                return before
        facts = self._meter.measure(disks, self._go_to)
        # The age counts from the end of the measurement, because a measurement may take longer than MAX_AGE_S.
        return _Measurement(disks=disks, changed=changed, taken_at=self._monotonic(), facts=facts)

    def _problems_stand(self, facts: StorageFacts) -> bool:
        """Return whether a new measurement would have the same problems as ``facts``.

        If a folder could not be read, return False, because a new measurement may succeed. Otherwise measure each file
        with a problem again, and return True if every such file still has its problem.
        """
        if facts.unread:
            return False
        return all(self._meter.still_fails(file, self._go_to) for file in facts.disk_files if file.problem)

    def _go_to(self, path: str) -> None:
        """Note the path that is measured now: if a read gets no answer in time, the read's error names this path."""
        self._at = path
