"""Small files are written completely or not at all, and the files that a killed process left behind are removed."""

import os
import signal
import stat
import subprocess
import sys

import pytest

from agent.host_files.atomic import close_to_others, replace_file, sweep, write_new_file

KILLED_AT = """
import os, signal, sys
from agent.host_files import atomic
os.{call} = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
atomic.{write}(sys.argv[1], "new" * 99999, 0o640)
"""


def killed(path, write: str, call: str) -> int:
    """Kill a process at the moment when ``write`` makes that call; return the process's pid."""
    process = subprocess.Popen([sys.executable, "-c", KILLED_AT.format(write=write, call=call), str(path)])
    assert process.wait(60) == -signal.SIGKILL
    return process.pid


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_a_file_stays_complete_if_its_writer_is_killed(tmp_path, call):
    """If a process is killed while it replaces a file, the old content stays complete.

    The next start removes the temporary file.
    """
    path = tmp_path / "report.json"
    path.write_text("old")
    pid = killed(path, "replace_file", call)
    assert path.read_text() == "old"
    assert (tmp_path / f"report.json.{pid}.tmp").exists()
    sweep(str(path))
    assert os.listdir(tmp_path) == ["report.json"]


@pytest.mark.parametrize(("call", "is_there"), [("fsync", False), ("link", False), ("unlink", True)])
def test_a_killed_process_leaves_no_half_written_new_file(tmp_path, call, is_there):
    """If a process is killed while it creates a file, the file is afterwards either complete or missing."""
    path = tmp_path / "compute_id"
    killed(path, "write_new_file", call)
    sweep(str(path))
    assert os.listdir(tmp_path) == (["compute_id"] if is_there else [])
    assert not is_there or path.read_text() == "new" * 99999


def test_creating_an_existing_file_fails(tmp_path):
    """The function for new files raises FileExistsError if the file exists, and leaves the old content unchanged."""
    path = tmp_path / "compute_id"
    path.write_text("old")
    with pytest.raises(FileExistsError):
        write_new_file(str(path), "new", 0o644)
    assert (os.listdir(tmp_path), path.read_text()) == (["compute_id"], "old")


def test_only_temporary_files_of_dead_processes_are_removed(tmp_path):
    """The cleanup keeps a temporary file if the process that wrote the file still runs."""
    over = subprocess.Popen([sys.executable, "-c", ""])
    over.wait()
    kept = {
        f"findings.json.{os.getpid()}.tmp",
        "findings.json.tmp",
        f"other.json.{over.pid}.tmp",
        "findings.json.x.tmp",
    }
    for name in (*kept, f"findings.json.{over.pid}.tmp", f"findings.json.{10**30}.tmp"):
        (tmp_path / name).touch()
    sweep(str(tmp_path / "findings.json"))
    assert set(os.listdir(tmp_path)) == kept


def test_the_temporary_file_cleanup_ignores_a_missing_folder(tmp_path):
    sweep(str(tmp_path / "none" / "report.json"))
    assert os.listdir(tmp_path) == []


def test_replacing_a_file_leaves_no_temporary_file(tmp_path):
    """After a file is replaced, the folder contains only that file, with the new content and the new mode."""
    path = tmp_path / "report.json"
    replace_file(str(path), "one", 0o644)
    replace_file(str(path), "two", 0o600)
    assert (os.listdir(tmp_path), path.read_text(), path.stat().st_mode & 0o777) == (["report.json"], "two", 0o600)


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="gives a folder to another group")
@pytest.mark.parametrize("write", [replace_file, write_new_file])
def test_a_written_file_gets_the_group_of_its_folder(tmp_path, write):
    """A file that the agent creates or replaces gets the group of its folder."""
    os.chown(tmp_path, -1, 4)
    old = os.umask(0o077)
    try:
        write(str(tmp_path / "report.json"), "x", 0o640)
    finally:
        os.umask(old)
    found = os.stat(tmp_path / "report.json")
    assert (found.st_gid, stat.S_IMODE(found.st_mode)) == (4, 0o640)


@pytest.mark.parametrize(("before", "after"), [(0o644, 0o640), (0o666, 0o660), (0o640, 0o640), (0o600, 0o600)])
def test_only_the_rights_of_other_users_are_removed(tmp_path, before, after):
    """The agent removes the permissions of other users from a file, and leaves those of the owner and the group."""
    path = tmp_path / "report.json"
    path.write_text("")
    path.chmod(before)
    close_to_others(str(path))
    assert stat.S_IMODE(path.stat().st_mode) == after
    close_to_others(str(tmp_path / "none"))
