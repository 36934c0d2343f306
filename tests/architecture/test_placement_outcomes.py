"""Each row of the outcome table in docs/placement.md has a test, and each tested case has a row."""

import re

import pytest

from agent import errors
from tests.rigs.source_tree import ROOT

DOCUMENT = (ROOT / "docs/placement.md").read_text()
FAILURES = "tests/contract/placement/test_failures.py"
HEAD = "| Situation | Error | The audit | Tried again | Log | Test |"


def _rows() -> list[list[str]]:
    table = DOCUMENT.partition(f"{HEAD}\n")[2].partition("\n\n")[0]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[1:]]


ROWS = _rows()


def _tests(row: list[str]) -> list[tuple[str, str, str]]:
    """Return file, function and key (may be empty) of each test that the row names."""
    named = re.findall(r"`(?:(tests/[\w/.]+)::)?(test_\w+)(?:\[([\w-]+)\])?`", row[5])
    return [(path or FAILURES, function, key) for path, function, key in named]


@pytest.mark.parametrize("row", ROWS, ids=[row[0] for row in ROWS])
def test_placement_outcome_rows_refer_to_existing_tests(row: list[str]):
    """Each row of the table of Placement's errors in docs/placement.md refers to tests that exist."""
    assert len(row) == 6
    assert all(row)
    assert _tests(row), "names no test"
    assert row[5].count("`") == 2 * len(_tests(row)), "names something that is no test"
    for path, function, key in _tests(row):
        text = (ROOT / path).read_text()
        assert f"def {function}(" in text, f"{path} has no {function}"
        assert not key or f'"{key}"' in text, f"{path} has no {key}"


@pytest.mark.parametrize("row", ROWS, ids=[row[0] for row in ROWS])
def test_error_classes_in_the_placement_table_exist(row: list[str]):
    """Each error class in the outcome table of docs/placement.md exists in agent/errors and is a PlacementError."""
    named = re.match(r"[A-Z]\w+", row[1])
    assert named is None or issubclass(getattr(errors, named[0]), errors.PlacementError)


def test_placement_outcome_rows_describe_different_situations():
    """No two rows of the table of Placement's errors in docs/placement.md have the same text in the first column."""
    assert len({row[0] for row in ROWS}) == len(ROWS) > 50


def test_every_tested_placement_failure_is_documented():
    """Every case of tests/contract/placement/test_failures.py is in the outcome table of docs/placement.md."""
    text = (ROOT / FAILURES).read_text()
    cases = set(re.findall(r'^    "([\w-]+)": (?:Case|Unwritten)\(', text, re.MULTILINE))
    assert len(cases) > 20
    assert cases == {key for row in ROWS for _path, function, key in _tests(row) if function in OF_CASES}
    functions = set(re.findall(r"^def (test_\w+)\(", text, re.MULTILINE))
    assert functions == {function for row in ROWS for path, function, _key in _tests(row) if path == FAILURES}


OF_CASES = {
    "test_an_audit_writes_nothing_after_a_failed_read",
    "test_an_audit_does_not_repeat_a_failed_write",
}
