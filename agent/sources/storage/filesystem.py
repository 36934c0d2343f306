"""Read size, free space and identity of the file systems at given paths, with statvfs and the list of mounts.

statvfs on a dead network mount never returns, so a reader thread calls statvfs. The free bytes include the blocks that
are reserved for root, and the available bytes do not. So the used and the available bytes do not add up to the size.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Iterable

from agent.deadlines.reader_thread import ReaderThread
from agent.errors import SourceUnavailable
from agent.model.host.storage import FileSystem, StorageFacts
from agent.ports import Deadline
from agent.sources.storage.mounts import identity_of

SOURCE = "filesystem"


class FileSystems:
    """The StorageSource of the configured paths. If one path does not answer, the whole read fails.

    ``measure_one`` is a function that measures the file system at a path and obeys a deadline. If it is None, this
    process calls statvfs itself.
    """

    name = SOURCE

    def __init__(
        self,
        paths: Iterable[str],
        reader: ReaderThread,
        measure_one: Callable[[str, Deadline], FileSystem] | None = None,
    ) -> None:
        self._paths = tuple(sorted(set(paths)))
        self._reader = reader
        self._measure_one = measure_one or (lambda path, _deadline: measure_identified(path))

    def read(self, deadline: Deadline) -> StorageFacts:
        """Return each path's file system. Raises SourceUnavailable with the path that is missing or does not answer."""
        return StorageFacts(filesystems=tuple(self._one(path, deadline) for path in self._paths))

    def _one(self, path: str, deadline: Deadline) -> FileSystem:
        try:
            return self._reader.call(lambda: self._measure_one(path, deadline), deadline)
        except SourceUnavailable as error:
            raise SourceUnavailable(self.name, f"{path}: {error.message}") from error
        except OSError as error:
            raise SourceUnavailable(self.name, f"{path}: {error.strerror or error}") from error


def measure(path: str, descriptor: int | None = None) -> FileSystem:
    """Return the sizes of the file system at ``path``, by nova's formula. Raises OSError.

    ``descriptor`` is an open descriptor of ``path``; None if ``path`` is not open.
    """
    answer = os.statvfs(path if descriptor is None else descriptor)
    return FileSystem(
        path=path,
        size_bytes=answer.f_frsize * answer.f_blocks,
        free_bytes=answer.f_frsize * answer.f_bfree,
        available_bytes=answer.f_frsize * answer.f_bavail,
    )


def measure_identified(path: str) -> FileSystem:
    """Return the sizes and the identity of the file system at ``path``. Raises OSError.

    Sizes and identity come from one descriptor, so they are about one file system even after an unmount in between.
    """
    # The only purpose of this call is to trigger a mount: an automount point has no size until its file system is
    # mounted. The open below uses O_PATH, which does not trigger the mount.
    os.statvfs(path)
    descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        return dataclasses.replace(measure(path, descriptor), identity=identity_of(descriptor, path))
    finally:
        os.close(descriptor)
