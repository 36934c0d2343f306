"""Tests of one xdist group run in one process, because they share a resource that is unique or takes 30 s to start."""

import os
import subprocess
import sys

import pytest

from tests.rigs.source_tree import ROOT

pytestmark = pytest.mark.xdist_group("shared")

HOOK = "from tests.rigs.groups import pytest_collection_modifyitems\n"
TESTS = """
import os, pytest

@pytest.fixture(scope="module")
def server():
    return None

@pytest.fixture
def own():
    return None

def note(kind, what="PYTEST_XDIST_WORKER"):
    with open(kind, "a") as file:
        file.write(os.environ[what] + "\\n")

@pytest.mark.xdist_group("shared")
@pytest.mark.parametrize("number", range(6))
def test_marked(number):
    note("marked")

@pytest.mark.parametrize("number", range(6))
def test_of_the_module(number, server):
    note("module")

@pytest.mark.parametrize("number", range(6))
def test_alone(number, own):
    note("alone", "PYTEST_CURRENT_TEST")
"""


@pytest.fixture(scope="module")
def workers(tmp_path_factory) -> dict[str, list[str]]:
    """Return the workers that ran the tests, by shared resource; tests that share none are listed by xdist name."""
    folder = tmp_path_factory.mktemp("groups")
    (folder / "conftest.py").write_text(HOOK)
    (folder / "test_sharing.py").write_text(TESTS)
    command = [sys.executable, "-m", "pytest", "-q", "-n", "2", "--dist", "loadgroup", "-p", "no:cacheprovider", "."]
    found = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=folder, env=found, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return {kind: (folder / kind).read_text().splitlines() for kind in ("marked", "module", "alone")}


def test_an_xdist_group_runs_in_one_process(workers):
    """pytest-xdist runs all tests that have the same xdist_group mark in one worker process."""
    assert (len(workers["marked"]), len(set(workers["marked"]))) == (6, 1)


def test_users_of_a_module_fixture_run_in_one_process(workers):
    """pytest-xdist runs all tests that share a module-scoped fixture in one worker process."""
    assert (len(workers["module"]), len(set(workers["module"]))) == (6, 1)


def test_tests_without_shared_fixtures_get_no_xdist_group(workers):
    """A test without a shared fixture gets no xdist group, so it may run in any worker process."""
    # xdist groups tests by the text after the @ in their names.
    assert [name.split(" (")[0].split("[")[1] for name in sorted(workers["alone"])] == [f"{n}]" for n in range(6)]
