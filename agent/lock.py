"""One writer per host: an advisory lock on a file, held while something is written.

The kernel releases it when the holder dies, so a stale file means nothing; what the
file says (pid and program) is only for the message. It is not inherited by children
that exec. Two holds in one process exclude each other as two processes do.
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

WAIT_S = 2.0
POLL_S = 0.05


class FileLock:
    """``flock`` on ``path``, whose folder must exist."""

    def __init__(self, path: str, wait_s: float = WAIT_S) -> None:
        self._path = path
        self._wait_s = wait_s

    @contextlib.contextmanager
    def hold(self) -> Iterator[None]:
        """Hold it for a block.

        Raises LockHeld, naming the holder, when another one has it for longer
        than ``wait_s`` or the file cannot be opened.
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
            return os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise LockHeld(self._path, f"cannot be opened: {error.strerror}") from error

    def _acquire(self, descriptor: int) -> None:
        give_up_at = time.monotonic() + self._wait_s
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                if error.errno not in {errno.EWOULDBLOCK, errno.EINTR}:
                    raise LockHeld(self._path, f"cannot be locked: {error.strerror}") from error
                if time.monotonic() >= give_up_at:
                    raise LockHeld(self._path, f"is held by {_holder(descriptor)}") from error
                time.sleep(POLL_S)
            else:
                return


def _sign(descriptor: int) -> None:
    text = f"{os.getpid()} {pathlib.Path(sys.argv[0]).name or 'python'}\n".encode()
    # A full disk must not stop who holds the lock: the signature is for people.
    with contextlib.suppress(OSError):
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, text, 0)


def _holder(descriptor: int) -> str:
    pid, _, program = os.pread(descriptor, 200, 0).decode(errors="replace").strip().partition(" ")
    return f"pid {pid} ({program or 'unknown program'})" if pid.isdigit() else "a process that left no name"
