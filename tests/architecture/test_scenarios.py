"""Each scenario of docs/contributor/scenarios.md has tests, and each number in a test's name is a scenario."""

import pathlib

import pytest

from tests.rigs.scenario_table import DOCUMENT, cited_numbers, numbered_tests, rows
from tests.rigs.source_tree import ROOT

ROWS = rows(DOCUMENT.read_text())
NUMBERS = [row.number for row in ROWS]
TESTS = numbered_tests()
TEXTS = [
    *sorted(path for folder in ("agent", "tests", "tools") for path in (ROOT / folder).rglob("*.py")),
    *sorted((ROOT / "docs").rglob("*.md")),
]


def test_scenario_numbers_are_unique_and_have_no_gaps():
    """docs/contributor/scenarios.md lists each of the scenarios 1 to 163 exactly once."""
    assert [number for number in NUMBERS if number.isdigit()] == [str(n) for n in range(1, 164)]
    assert len(set(NUMBERS)) == len(NUMBERS) == 165


@pytest.mark.parametrize("row", ROWS, ids=NUMBERS)
def test_scenarios_md_lists_the_tests_of_each_scenario(row):
    """Each row of docs/contributor/scenarios.md lists the tests that have the scenario's number in their names."""
    assert row.tests == TESTS.get(row.number, ())
    assert row.tests, "no test bears this number; tools/scenario_tests.py writes the column"


def test_scenarios_md_has_a_row_for_each_number_in_a_test():
    """If a test's name contains a scenario number, docs/contributor/scenarios.md has a row for this number."""
    assert sorted(set(TESTS) - set(NUMBERS)) == []


def test_scenarios_md_has_every_cited_number():
    """If code or a document mentions "scenario 68", docs/contributor/scenarios.md has a row for number 68."""
    cited = {path: cited_numbers(path) - set(NUMBERS) for path in TEXTS}
    assert {str(path.relative_to(ROOT)): unknown for path, unknown in cited.items() if unknown} == {}


def test_the_scanner_finds_scenario_numbers_in_a_file(tmp_path: pathlib.Path):
    """The scanner finds the numbers in "scenarios 1, 68 and 158", "scenario 128b" and "scenarios 59 to 67"."""
    file = tmp_path / "cites.py"
    file.write_text("# scenarios 1, 68 and 158; scenario 128b; scenarios 59 to 67\n")
    assert cited_numbers(file) == {"1", "68", "158", "128b", "59", "67"}
