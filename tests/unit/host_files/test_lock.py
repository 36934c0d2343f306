"""The write lock, with real processes."""

import errno
import os
import signal
import subprocess
import sys

import pytest

from agent.errors import LockHeld
from agent.host_files.lock import FileLock

HOLDER = """
import sys
sys.argv[0] = "/usr/bin/stocktake-holder"
from agent.host_files.lock import FileLock
with FileLock(*sys.argv[1:3]).hold():
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def holder(tmp_path):
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(tmp_path / "lock"), str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "held\n"
    yield process
    process.kill()
    process.stdin.close()
    process.stdout.close()
    process.wait()


def test_the_lock_error_shows_the_process_that_has_the_lock(holder, tmp_path):
    """If another process has the write lock, the error message contains the process id and the name of that process."""
    lock = FileLock(str(tmp_path / "lock"), str(tmp_path), wait_s=0.2)
    with pytest.raises(LockHeld, match=rf"lock is held by pid {holder.pid} \(stocktake-holder\)"), lock.hold():
        pass


def test_a_killed_process_releases_the_lock(holder, tmp_path):
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    with FileLock(str(tmp_path / "lock"), str(tmp_path), wait_s=0.2).hold():
        assert (tmp_path / "lock").read_text().split()[0] == str(os.getpid())


def test_a_waiting_process_gets_the_lock_when_the_holder_ends(holder, tmp_path):
    lock = FileLock(str(tmp_path / "lock"), str(tmp_path), wait_s=10.0)
    holder.stdin.close()
    with lock.hold():
        assert (tmp_path / "lock").read_text().startswith(f"{os.getpid()} ")


def test_the_lock_is_released_after_an_exception(tmp_path):
    """If code that has the write lock raises an exception, the lock can be taken again."""
    lock = FileLock(str(tmp_path / "lock"), str(tmp_path), wait_s=0.0)
    with pytest.raises(ZeroDivisionError), lock.hold():
        raise ZeroDivisionError
    with lock.hold(), pytest.raises(LockHeld), FileLock(str(tmp_path / "lock"), str(tmp_path), wait_s=0.0).hold():
        pass


def test_a_child_process_does_not_keep_the_lock_of_its_parent(tmp_path):
    # Why wait: Linux lets the parent of a vfork continue before the child's exec has closed the child's descriptors.
    lock = FileLock(str(tmp_path / "lock"), str(tmp_path), wait_s=10.0)
    with lock.hold():
        child = subprocess.Popen(
            [sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE, close_fds=False
        )
    try:
        with lock.hold():
            assert child.poll() is None
    finally:
        child.communicate()


def test_the_lock_has_a_fallback_folder(tmp_path):
    """If the first folder for the lock file is missing, the agent uses the fallback folder."""
    (tmp_path / "run").mkdir()
    first, second = (FileLock(str(tmp_path / "no" / "lock"), str(tmp_path / "run"), wait_s=0.0) for _ in range(2))
    with first.hold():
        with pytest.raises(LockHeld, match=f"pid {os.getpid()}"), second.hold():
            pass
        assert (tmp_path / "run" / "lock").exists()
    with second.hold():
        pass


def test_the_lock_prefers_the_first_folder(tmp_path):
    """If the first folder exists, the write lock creates no file in the fallback folder."""
    (tmp_path / "run").mkdir()
    with FileLock(str(tmp_path / "lock"), str(tmp_path / "run"), wait_s=0.0).hold():
        assert not (tmp_path / "run" / "lock").exists()


def test_the_lock_uses_the_fallback_folder_after_an_io_error(tmp_path, monkeypatch):
    """If the lock file in the first folder cannot be opened because of EIO, the lock file is in the fallback folder."""
    (tmp_path / "run").mkdir()
    real, asked = os.open, []

    def failing(path, *arguments, **names):
        if str(path).startswith(str(tmp_path / "state")):
            asked.append(str(path))
            raise OSError(errno.EIO, os.strerror(errno.EIO), path)
        return real(path, *arguments, **names)

    monkeypatch.setattr(os, "open", failing)
    with FileLock(str(tmp_path / "state" / "lock"), str(tmp_path / "run"), wait_s=0.0).hold():
        assert (tmp_path / "run" / "lock").read_text().startswith(f"{os.getpid()} ")
    assert asked[0] == str(tmp_path / "state" / "lock")


def test_the_error_shows_why_the_lock_file_cannot_be_opened(tmp_path):
    """If the lock file cannot be opened, the error message contains the file's path and the reason."""
    path = tmp_path / "no" / "lock"
    lock = FileLock(str(path), "/proc/neither")
    with pytest.raises(LockHeld) as caught, lock.hold():
        pass
    assert str(caught.value) == f"{path} cannot be opened: No such file or directory"


def test_the_lock_is_refused_if_its_folder_is_a_file(tmp_path):
    """If a file is in place of the first lock folder, the lock is refused, and the fallback folder is not used."""
    (tmp_path / "state").write_text("")
    (tmp_path / "run").mkdir()
    lock = FileLock(str(tmp_path / "state" / "lock"), str(tmp_path / "run"))
    with pytest.raises(LockHeld, match="Not a directory"), lock.hold():
        pass
