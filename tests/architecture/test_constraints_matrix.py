"""tools/matrix --constraints: its tests exist, its constraints name each requirement, no lower bound is above them."""

import re

import pytest

from tests.rigs.source_tree import ROOT
from tools import version_matrix
from tools.constraints_matrix import BEGIN, CONTRACT, END, ERAS, LibraryRow, constraints_of, table, versions_in
from tools.matrix_results import Cell, between

REQUIREMENT = re.compile(r"^([\w.-]+)(?:\[[\w,]+\])?>=([\w.]+)", re.MULTILINE)


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", text))


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _pinned(series: str) -> dict[str, tuple[int, ...]]:
    found = re.findall(r"^([\w.-]+)==(\S+)$", constraints_of(series).read_text(), re.MULTILINE)
    return {_plain(name): _version(version) for name, version in found}


def _lower_bounds() -> dict[str, tuple[int, ...]]:
    return {_plain(name): _version(low) for name, low in REQUIREMENT.findall((ROOT / "requirements.txt").read_text())}


@pytest.mark.parametrize("path", CONTRACT)
def test_contract_tests_of_the_constraints_matrix_exist(path: str):
    """Every contract test file that tools/constraints_matrix.py lists exists in the repository."""
    assert (ROOT / path).is_file()


@pytest.mark.parametrize("series", ERAS)
def test_constraints_files_pin_every_requirement(series: str):
    """The constraints file of each OpenStack release has an exact version for every package in requirements.txt."""
    assert _lower_bounds().keys() - _pinned(series).keys() == set()


def test_requirements_accept_openstack_2025_1_libraries():
    """No lower bound in requirements.txt is above the library version of OpenStack 2025.1."""
    pinned = _pinned("2025.1")
    above = {name: low for name, low in _lower_bounds().items() if low > pinned[name]}
    assert above == {}


def test_setup_cfg_accepts_openstack_2025_1_docs_tools():
    """setup.cfg asks for no newer sphinx, openstackdocstheme or reno than OpenStack 2025.1 has."""
    of_2025_1 = {"sphinx": _version("8.1.3"), "openstackdocstheme": _version("3.4.1"), "reno": _version("4.1.0")}
    text = (ROOT / "setup.cfg").read_text().replace("    ", "")
    bounds = {_plain(name): _version(low) for name, low in REQUIREMENT.findall(text)}
    assert {name: bounds[name] for name in of_2025_1 if bounds[name] > of_2025_1[name]} == {}


def test_the_library_table_shows_results_per_release():
    """tools/constraints_matrix.py prints a line for each OpenStack release: its libraries and the test results."""
    cells = {"unit tests": Cell(7, (), ()), "contract tests": Cell(1, ("a::b",), ())}
    green = LibraryRow("2025.1", cells, versions=versions_in("oslo.config==9.7.2\nos_traits==3.3.0\n"))
    broken = LibraryRow("2025.2", {}, problem="no network")
    *_, one, two = table([green, broken]).splitlines()
    assert one == "| 2025.1 | 9.7.2 | - | - | - | - | - | 3.3.0 | green, 7 passed | RED: 1 of 2 |"
    assert two.count("not run") == 2
    assert (green.is_green, broken.is_green) == (False, False)


@pytest.mark.parametrize("markers", [(BEGIN, END), (version_matrix.BEGIN, version_matrix.END)])
def test_a_table_update_keeps_the_text_outside_its_markers(markers):
    """A tool writes a new table between two markers in README.md, and keeps the text before and after them."""
    begin, end = markers
    text = f"before {begin} old {end} after"
    assert between(text, begin, end, "new") == f"before {begin}\n\nnew\n\n{end} after"


def test_a_table_update_fails_for_swapped_markers():
    """A tool replaces the table between two markers of a text, and reports an error if the end marker comes first."""
    with pytest.raises(ValueError, match="lacks the markers"):
        between(f"before {END} {BEGIN} after", BEGIN, END, "new")
