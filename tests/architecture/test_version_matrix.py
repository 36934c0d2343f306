"""tools/matrix: its columns name tests that exist, and it reads pytest's results."""

import datetime
import subprocess
import sys

import pytest

from tests.rigs.releases import NEWEST, RELEASES
from tests.rigs.source_tree import ROOT
from tools.matrix_results import Cell, Row, cases
from tools.version_matrix import BEGIN, COLUMNS, END, SMALL, Column, cells, in_turn, table

OUTCOMES = """
import pytest
def test_that_passes(): pass
def test_that_passes_with_a_note(record_property): record_property("without", "no shelf: the agent uses the floor")
def test_that_fails(): assert False
@pytest.mark.skip(reason="no lamp: the agent works in the dark")
def test_that_is_skipped(): assert False
@pytest.fixture
def broken(): raise ValueError
def test_with_a_broken_fixture(broken): pass
"""


@pytest.mark.parametrize("test", [test for column in (*COLUMNS, *SMALL) for test in column.tests])
def test_version_table_columns_refer_to_existing_tests(test):
    """The columns of the table of OpenStack releases in tools/version_matrix.py refer to tests that exist."""
    file, _, name = test.partition("::")
    assert f"def {name or 'test_'}" in (ROOT / file).read_text()


def test_the_daily_rotation_covers_each_older_release():
    """The daily tests use one older OpenStack release each day, and reach every one of them in turn."""
    first = datetime.date(2026, 11, 23)
    turns = {in_turn(first + datetime.timedelta(days=day)) for day in range(len(RELEASES) - 1)}
    assert turns == set(RELEASES) - {NEWEST}


def test_a_version_table_cell_shows_passes_and_failures(tmp_path):
    """In the table of OpenStack releases, a cell counts the passed tests and lists the failed ones."""
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "test_reader.py").write_text(OUTCOMES)
    (tmp_path / "test_writer.py").write_text("def test_other(): assert False\n")
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-n",
        "0",
        "--junitxml=junit.xml",
        "-o",
        "junit_family=xunit1",
        "test_reader.py",
        "test_writer.py",
    ]
    subprocess.run(command, cwd=tmp_path, capture_output=True, timeout=120, check=False)
    column = Column("things", "Nova", ("test_reader.py",))
    found = cells([column], cases((tmp_path / "junit.xml").read_text()))["things"]

    assert found.passed == 2
    assert found.failed == ("test_reader.py::test_that_fails", "test_reader.py::test_with_a_broken_fixture")
    assert found.notes == ("no shelf: the agent uses the floor", "no lamp: the agent works in the dark")
    assert found.verdict == "RED: 2 of 4"


def test_the_version_table_has_one_line_per_release():
    """In the table of OpenStack releases, each line has the versions of one release and its test results."""
    green, noted = Cell(7, (), ()), Cell(7, (), ("no shelf",))
    first = Row(
        RELEASES[0].series, {"conductor": noted, "SQL": noted, "record written": Cell(1, ("a::b",), ()), "why": green}
    )
    second = Row(RELEASES[1].series, {}, problem="no network")

    header, _, one, two, _, note = table([first, second]).splitlines()
    assert header == "| OpenStack | Nova | conductor | SQL | record written | Placement | reader | writer | why |"
    versions = (RELEASES[0].series, RELEASES[0].nova, RELEASES[0].placement)
    assert one == "| {} | {} | green (1) | green (1) | RED: 1 of 2 | {} | not run | not run | green |".format(*versions)
    assert two.count("not run") == 6
    assert note == "1. no shelf"
    assert (first.is_green, second.is_green) == (False, False)


def test_the_readme_has_a_line_for_each_openstack_release():
    """The table in README.md shows the nova and Placement versions of every tested OpenStack release."""
    told = (ROOT / "README.md").read_text().partition(BEGIN)[2].partition(END)[0]
    for release in RELEASES:
        line = next(line for line in told.splitlines() if line.startswith(f"| {release.series} |"))
        assert f"| {release.nova} |" in line
        assert f"| {release.placement} |" in line
