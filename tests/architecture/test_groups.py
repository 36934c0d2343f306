"""Tests of one xdist group run in one process: what they share is one per machine, or takes half a minute to start."""

import subprocess
import sys

SHARING = """
import os, pathlib, pytest
pytestmark = pytest.mark.xdist_group("shared")
@pytest.mark.parametrize("number", range(6))
def test_who_runs_it(number):
    with open("workers", "a") as file:
        file.write(os.environ["PYTEST_XDIST_WORKER"] + "\\n")
"""


def test_a_group_stays_in_one_process(tmp_path):
    """pytest 9.2 keeps a test's name where xdist 3.8 does not write it: groups were silently none."""
    (tmp_path / "test_sharing.py").write_text(SHARING)
    command = [sys.executable, "-m", "pytest", "-q", "-n", "2", "--dist", "loadgroup", "-p", "no:cacheprovider", "."]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    workers = (tmp_path / "workers").read_text().split()
    assert len(workers) == 6
    assert len(set(workers)) == 1
