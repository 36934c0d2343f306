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


def test_a_process_without_the_lock_learns_which_process_has_it_and_since_when(holder, tmp_path):
    lock = AgentLock(str(tmp_path))
    assert lock.take("later") == lock.holder() == Holder(holder.pid, SINCE)
    assert str(lock.holder()) == f"pid {holder.pid} since {SINCE}"


def test_the_lock_is_free_again_after_its_holder_was_killed(holder, tmp_path):
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    lock = AgentLock(str(tmp_path))
    assert lock.holder() is None
    assert lock.take("now") is None
    assert (tmp_path / "agent.lock").read_text() == f"{os.getpid()} now\n"
    lock.release()


def test_no_process_holds_the_lock_if_a_daemon_has_ended_and_left_the_lock_file(tmp_path):
    (tmp_path / "agent.lock").write_text(f"{os.getppid()} {SINCE}\n")
    assert AgentLock(str(tmp_path)).holder() is None
    assert wake(str(tmp_path)) is None


def test_the_lock_start_time_is_ignored_if_the_file_names_another_process(holder, tmp_path):
    (tmp_path / "agent.lock").write_text(f"1 {SINCE}\n")
    assert AgentLock(str(tmp_path)).holder() == Holder(holder.pid, None)


def test_the_wake_function_sends_usr1_to_the_process_that_holds_the_lock(holder, tmp_path):
    assert wake(str(tmp_path)) == Holder(holder.pid, SINCE)
    assert holder.stdout.readline() == "woken\n"


def test_no_process_holds_the_lock_if_the_run_directory_is_missing(tmp_path):
    assert AgentLock(str(tmp_path / "missing")).holder() is None
    assert wake(str(tmp_path / "missing")) is None


def test_the_first_process_makes_the_run_directory_for_the_lock(tmp_path):
    lock = AgentLock(str(tmp_path / "run" / "stocktake"))
    assert lock.take("now") is None
    lock.release()


def test_a_lock_file_that_cannot_be_created_raises_an_error_about_the_lock(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(SourceUnavailable, match=r"file/agent\.lock cannot be locked: "):
        AgentLock(str(tmp_path / "file")).take("now")


def test_a_symlink_at_the_path_of_the_lock_file_is_not_followed(tmp_path):
    (tmp_path / "agent.lock").symlink_to(tmp_path / "other")
    with pytest.raises(SourceUnavailable, match="cannot be locked"):
        AgentLock(str(tmp_path)).take("now")
    assert not (tmp_path / "other").exists()
