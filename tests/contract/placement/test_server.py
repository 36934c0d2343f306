"""The Placement server of the demo and the tests: it starts, reports its URL, and ends when it should."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import requests

from agent.demo.placement import Lifetime, start_placement
from agent.errors import PlacementUnavailable
from tests.rigs.wait import until

ROOT = Path(__file__).parents[3]
# A parent that starts a server, prints the server's pid and dies without stopping the server.
PARENT = """
import os, pathlib, sys
from agent.demo.placement import Lifetime, start_placement
server = start_placement(pathlib.Path(sys.argv[1]), lifetime=Lifetime[sys.argv[2]])
print(server.pid, server.url, flush=True)
os.kill(os.getpid(), 9)
"""


def alive(pid: int) -> bool:
    """Return whether that process runs; a zombie does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def parent_that_dies(folder: Path, lifetime: Lifetime) -> tuple[int, str]:
    command = [sys.executable, "-c", PARENT, str(folder), lifetime.name]
    said = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=200, check=False).stdout
    pid, url = said.split()
    return int(pid), url


def test_the_demo_placement_server_starts_and_stops(tmp_path):
    """The server answers a request after its start. After its stop, its process does not exist any more."""
    server = start_placement(tmp_path)
    try:
        assert requests.get(server.url + "/", timeout=60).json()["versions"][0]["id"] == "v1.0"
        assert server.access_log.read_text() == "GET / 200 - -\n"
        assert (tmp_path / "placement.conf").stat().st_mode & 0o077 == 0
    finally:
        server.stop()
    assert not alive(server.pid)
    assert server.process.returncode == 0
    server.stop()


def test_the_demo_placement_server_ends_with_its_parent(tmp_path):
    """The process that started the server is killed; the server then ends too."""
    pid, _ = parent_that_dies(tmp_path, Lifetime.WITH_US)
    until(lambda: not alive(pid), 60, f"the server {pid} ends with its parent")


def test_a_detached_demo_placement_server_keeps_running(tmp_path):
    """A server that was started with Lifetime.KEPT still answers after its parent process is killed."""
    pid, url = parent_that_dies(tmp_path, Lifetime.KEPT)
    try:
        assert requests.get(url + "/", timeout=60).ok
    finally:
        os.kill(pid, signal.SIGTERM)
    until(lambda: not alive(pid), 60, f"the server {pid} ends at SIGTERM")
    assert (tmp_path / "placement.sqlite").exists()


def test_the_demo_placement_server_reports_a_failed_start(tmp_path):
    """The server cannot open its database; the caller gets the error "did not start"."""
    with pytest.raises(PlacementUnavailable, match="did not start"):
        start_placement(tmp_path, connection="sqlite:////nowhere/at/all/placement.sqlite")
