"""File systems: figures as df prints them, a missing path by its name, and a dead mount as a missed deadline."""

import os
import subprocess
import threading

import pytest

from agent.deadlines.reader_thread import ReaderThread
from agent.errors import SourceUnavailable
from agent.ports import Deadline
from agent.sources.storage.filesystem import FileSystems


@pytest.fixture
def reader():
    thread = ReaderThread("filesystem")
    yield thread
    thread.stop()


def test_the_file_system_size_equals_the_size_from_df(tmp_path, reader):
    facts = FileSystems([str(tmp_path)], reader).read(Deadline.after(5))
    answer = subprocess.run(
        ["df", "-B1", "--output=size", str(tmp_path)], capture_output=True, text=True, check=True, env=os.environ
    )
    [one] = facts.filesystems
    assert (one.path, one.size_bytes) == (str(tmp_path), int(answer.stdout.split()[1]))
    assert 0 <= one.available_bytes <= one.free_bytes <= one.size_bytes


def test_each_file_system_path_is_listed_once(tmp_path, reader):
    """The agent lists the file systems sorted by path, each path once, even if a path is configured twice."""
    (tmp_path / "b").mkdir()
    paths = [str(tmp_path / "b"), str(tmp_path), str(tmp_path / "b")]
    facts = FileSystems(paths, reader).read(Deadline.after(5))
    assert [one.path for one in facts.filesystems] == [str(tmp_path), str(tmp_path / "b")]


def test_the_error_for_a_missing_path_contains_the_path(tmp_path, reader):
    source = FileSystems([str(tmp_path), str(tmp_path / "gone")], reader)
    with pytest.raises(SourceUnavailable, match=r"gone: No such file or directory"):
        source.read(Deadline.after(5))


def test_a_blocked_file_system_read_shows_its_path(tmp_path, reader):
    """If the thread that reads file systems is blocked, the error contains the path that could not be read."""
    gate = threading.Event()
    with pytest.raises(SourceUnavailable):
        reader.call(gate.wait, Deadline.after(0.01))
    with pytest.raises(SourceUnavailable, match=rf"filesystem: {tmp_path}: no answer within 0.01 s"):
        FileSystems([str(tmp_path)], reader).read(Deadline.after(5))
    gate.set()
