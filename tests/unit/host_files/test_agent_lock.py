"""The lock that allows one daemon per host, with real processes."""

import os
import signal
import subprocess
import sys

import pytest

from agent.errors import SourceUnavailable
from agent.host_files.agent_lock import AgentLock, Holder, wake

SINCE = "2026-11-22T03:11:07.123Z"
HOLDER = f"""
import signal, sys
from agent.host_files.agent_lock import AgentLock
signal.signal(signal.SIGUSR1, lambda *_: print("woken", flush=True))
print(AgentLock(sys.argv[1]).take("{SINCE}"), flush=True)
signal.pause()
signal.pause()
"""


@pytest.fixture
def holder(tmp_path):
    process = subprocess.Popen([sys.executable, "-c", HOLDER, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "None\n"
    yield process
    process.kill()
    process.stdout.close()
    process.wait()


def test_a_second_process_learns_who_has_the_lock(holder, tmp_path):
    """Only one daemon per host can have the lock. A second process learns the holder's pid and start time."""
    lock = AgentLock(str(tmp_path))
    assert lock.take("later") == lock.holder() == Holder(holder.pid, SINCE)
    assert str(lock.holder()) == f"pid {holder.pid} since {SINCE}"


def test_the_lock_is_free_after_its_holder_was_killed(holder, tmp_path):
    """If the daemon is killed with SIGKILL, the next process can take the host's lock."""
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    lock = AgentLock(str(tmp_path))
    assert lock.holder() is None
    assert lock.take("now") is None
    assert (tmp_path / "agent.lock").read_text() == f"{os.getpid()} now\n"
    lock.release()


def test_a_leftover_lock_file_locks_nothing(tmp_path):
    """A lock file that remains after the daemon's end locks nothing, even if a process has the pid in the file."""
    (tmp_path / "agent.lock").write_text(f"{os.getppid()} {SINCE}\n")
    assert AgentLock(str(tmp_path)).holder() is None
    assert wake(str(tmp_path)) is None


def test_a_start_time_of_another_process_is_ignored(holder, tmp_path):
    """If the lock file contains another pid than the holder's, the agent ignores the start time in the file."""
    (tmp_path / "agent.lock").write_text(f"1 {SINCE}\n")
    assert AgentLock(str(tmp_path)).holder() == Holder(holder.pid, None)


def test_wake_sends_sigusr1_to_the_holder_of_the_lock(holder, tmp_path):
    """To ask for an audit, a process sends SIGUSR1 to the daemon that holds the host's lock."""
    assert wake(str(tmp_path)) == Holder(holder.pid, SINCE)
    assert holder.stdout.readline() == "woken\n"


def test_the_lock_is_free_if_the_run_directory_is_missing(tmp_path):
    assert AgentLock(str(tmp_path / "missing")).holder() is None
    assert wake(str(tmp_path / "missing")) is None


def test_the_first_process_creates_the_run_directory(tmp_path):
    """If the run directory of the lock file does not exist, the first process creates it and takes the lock."""
    lock = AgentLock(str(tmp_path / "run" / "stocktake"))
    assert lock.take("now") is None
    lock.release()


def test_a_lock_file_that_cannot_be_created_raises_an_error(tmp_path):
    """If agent.lock cannot be created, the error shows its path and says that the file cannot be locked."""
    (tmp_path / "file").write_text("")
    with pytest.raises(SourceUnavailable, match=r"file/agent\.lock cannot be locked: "):
        AgentLock(str(tmp_path / "file")).take("now")


def test_a_symlink_in_place_of_the_lock_file_is_refused(tmp_path):
    """If agent.lock is a symbolic link, the agent refuses to lock it and does not create the link's target."""
    (tmp_path / "agent.lock").symlink_to(tmp_path / "other")
    with pytest.raises(SourceUnavailable, match="cannot be locked"):
        AgentLock(str(tmp_path)).take("now")
    assert not (tmp_path / "other").exists()
