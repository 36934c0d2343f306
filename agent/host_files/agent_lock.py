"""Allow one daemon per host: a lock on ``agent.lock`` in the run directory, which the daemon holds until it ends.

The lock is a POSIX record lock. The kernel releases the lock when the process ends, however it ends, and reports which
process holds the lock. The agent does not trust the pid in the file: a process killed between its lock and its first
write would leave the pid of an older process in the file, and ``wake`` would signal a wrong process. The lock would
also end if the holder opened the file a second time and closed it. So only this module opens the file, and the daemon
opens the file only once.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import struct
from collections.abc import Iterator
from dataclasses import dataclass

from agent.errors import SourceUnavailable
from agent.host_files.own_folder import make_usable

FILE = "agent.lock"
# The mode of the file: every user who may enter the folder may read which process holds the lock.
MODE = 0o644
#: The C structure ``flock`` of Linux: type, whence, start, length, pid.
_FLOCK = struct.Struct("hhqqi")
_WHOLE_FILE = _FLOCK.pack(fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)


@dataclass(frozen=True, slots=True)
class Holder:
    """The process that holds the lock.

    ``pid`` is None if this process cannot see the pid namespace of the holder. ``since`` is ISO 8601 UTC, None if the
    holder has not written the time yet.
    """

    pid: int | None
    since: str | None

    def __str__(self) -> str:
        """Return the process in words: ``pid 4711 since 2026-11-22T03:11:07.123Z``."""
        return f"pid {self.pid or 'unknown'}{f' since {self.since}' if self.since else ''}"


class AgentLock:
    """The lock in ``run_dir``. Call ``take`` only once on each object, because an object keeps only one descriptor."""

    def __init__(self, run_dir: str) -> None:
        self.path = os.path.join(run_dir, FILE)
        self._run_dir = run_dir
        self._descriptor: int | None = None

    def take(self, now: str) -> Holder | None:
        """Take the lock until this process ends, and return None; return the holder if another process has the lock.

        Raises SourceUnavailable if the file cannot be created or locked.
        """
        try:
            make_usable(self._run_dir)
            descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, MODE)
        except OSError as error:
            raise self._problem(error) from error
        try:
            fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            with _closing(descriptor):
                return _holder(descriptor) or Holder(pid=None, since=None)
        except OSError as error:
            os.close(descriptor)
            raise self._problem(error) from error
        _sign(descriptor, now)
        self._descriptor = descriptor
        return None

    def holder(self) -> Holder | None:
        """Return the process that holds the lock; None if no process holds it or the file cannot be opened."""
        try:
            descriptor = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        except OSError:
            return None
        with _closing(descriptor):
            return _holder(descriptor)

    def release(self) -> None:
        """Release the lock, if this object holds the lock."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def _problem(self, error: OSError) -> SourceUnavailable:
        return SourceUnavailable("agent-lock", f"{self.path} cannot be locked: {error.strerror or error}")


def wake(run_dir: str) -> Holder | None:
    """Ask the daemon for an audit (SIGUSR1). Return the daemon's process; None if no daemon got the signal."""
    holder = AgentLock(run_dir).holder()
    if holder is None or holder.pid is None:
        return None
    try:
        os.kill(holder.pid, signal.SIGUSR1)
    except (ProcessLookupError, PermissionError):
        return None
    return holder


def _holder(descriptor: int) -> Holder | None:
    """Return the process that has a lock on the open file; None if no other process has a lock on this file."""
    kind, _, _, _, pid = _FLOCK.unpack(fcntl.fcntl(descriptor, fcntl.F_GETLK, _WHOLE_FILE))
    if kind == fcntl.F_UNLCK:
        return None
    signed, _, since = os.pread(descriptor, 200, 0).decode("ascii", errors="replace").strip().partition(" ")
    # F_GETLK reports pid 0 for a holder in another pid namespace, and pid -1 for a lock of an open file description.
    return Holder(pid if pid > 0 else None, since if signed == str(pid) else None)


def _sign(descriptor: int, now: str) -> None:
    # If this write fails (full disk), the process keeps the lock: the text is only for other processes' messages.
    with contextlib.suppress(OSError):
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()} {now}\n".encode(), 0)


@contextlib.contextmanager
def _closing(descriptor: int) -> Iterator[None]:
    try:
        yield
    finally:
        os.close(descriptor)
