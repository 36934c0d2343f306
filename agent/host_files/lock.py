"""Allow one writer per host: a process locks a file while it writes (an advisory lock).

The kernel releases the lock when its process dies, so a file that a dead process left behind locks nothing. The file's
text (pid and program) is only for the error message. Child processes that exec do not inherit the lock. Two users of
the lock in one process exclude each other as two processes do.

Writing to Placement needs no disk, so the lock also works while no file can be created (the file system is read-only,
full or temporarily unavailable). The process then locks the first of these that it can open:

1. the lock file that an earlier process created;
2. the folder of the lock file;
3. a file in a second folder.

All processes have these errors of the file system at the same time, so all lock the same file or folder. An error that
only one process has, such as too many open files, is different: that process gets no lock.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import pathlib
import sys
import time
from collections.abc import Iterator

from agent.errors import LockHeld
from agent.host_files.own_folder import AWAY, make_usable

WAIT_S = 2.0
POLL_S = 0.05


class FileLock:
    """An ``flock`` on the file ``path``.

    While the folder of ``path`` is unavailable, the lock is on a file in ``second_folder`` instead.
    """

    def __init__(self, path: str, second_folder: str, wait_s: float = WAIT_S) -> None:
        self._path = path
        self._second_folder = second_folder
        self._wait_s = wait_s

    @contextlib.contextmanager
    def hold(self) -> Iterator[None]:
        """Take the lock for the duration of a block.

        Raises LockHeld if another process keeps the lock for longer than ``wait_s``; the error names this process. Also
        raises LockHeld if the lock file cannot be opened.
        """
        descriptor = self._open()
        try:
            self._acquire(descriptor)
            _sign(descriptor)
            yield
        finally:
            os.close(descriptor)

    def _open(self) -> int:
        try:
            return _created(self._path)
        except OSError as error:
            if error.errno not in AWAY:
                raise self._not_opened(error) from error
            first = error
        return self._open_as_it_stands(first)

    def _open_as_it_stands(self, first: OSError) -> int:
        for path in (self._path, os.path.dirname(self._path)):
            try:
                return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            except OSError as error:
                if error.errno not in AWAY:
                    raise self._not_opened(error) from error
        try:
            make_usable(self._second_folder)
            return _created(os.path.join(self._second_folder, os.path.basename(self._path)))
        except OSError:
            raise self._not_opened(first) from first

    def _not_opened(self, error: OSError) -> LockHeld:
        return LockHeld(self._path, f"cannot be opened: {error.strerror}")

    def _acquire(self, descriptor: int) -> None:
        deadline = time.monotonic() + self._wait_s
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                if error.errno not in {errno.EWOULDBLOCK, errno.EINTR}:
                    raise LockHeld(self._path, f"cannot be locked: {error.strerror}") from error
                if time.monotonic() >= deadline:
                    raise LockHeld(self._path, f"is held by {_holder(descriptor)}") from error
                time.sleep(POLL_S)
            else:
                return


def _created(path: str) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)


def _sign(descriptor: int) -> None:
    text = f"{os.getpid()} {pathlib.Path(sys.argv[0]).name or 'python'}\n".encode()
    # If this write fails (full disk), the process keeps the lock: the text is only for other processes' error messages.
    with contextlib.suppress(OSError):
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, text, 0)


def _holder(descriptor: int) -> str:
    try:
        text = os.pread(descriptor, 200, 0)
    except IsADirectoryError:
        text = b""
    pid, _, program = text.decode(errors="replace").strip().partition(" ")
    return f"pid {pid} ({program or 'unknown program'})" if pid.isdigit() else "an unknown process"
