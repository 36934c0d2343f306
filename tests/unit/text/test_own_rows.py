"""Rows of the agent's own files, however deep an editor or a bad disk nested their values."""

from __future__ import annotations

import json
import sys

import pytest

from agent.host_files.history import FindingsFile
from agent.host_files.store_file import StoreFile
from agent.model.finding import History
from agent.text.own_rows import BadRow, read_rows, text_of, utc_time_of


def deep(levels: int) -> object:
    """Return a list in a list in a list …, built without recursion."""
    value: object = []
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize("row", [{"code": deep(100_000)}, deep(100_000)], ids=["the value", "the row"])
@pytest.mark.parametrize("read", [lambda row: text_of(row, "code"), lambda row: utc_time_of(row, "code")])
def test_valid_rows_are_read_beside_a_too_deeply_nested_row(row, read):
    """The agent reads the valid rows of its own files, and reports a row with 100,000 nested lists as a problem."""
    good = {"code": "2026-11-21T10:00:00.000Z"}
    found = read_rows("sightings", [good, row, good], read)
    assert found.good == (good["code"], good["code"])
    (problem,) = found.problems
    assert problem.startswith("sightings[1]: code is ")
    assert problem.endswith("nested too deep")


def test_a_too_deeply_nested_row_of_findings_json_is_ignored(tmp_path):
    """The agent ignores a row of its file `findings.json` with hundreds of nested lists, and notes the problem."""
    path = tmp_path / "findings.json"
    for levels in range(700, sys.getrecursionlimit()):
        row = "[" * levels + "]" * levels
        path.write_text(f'{{"schema_version": 1, "sightings": [{{"id": {row}}}], "added": [], "left": []}}')
        store = FindingsFile(str(tmp_path))
        assert store.load() == History()
        assert len(store.notes) == 1


def test_store_json_with_a_too_deeply_nested_value_is_ignored(tmp_path):
    """The agent ignores its file `store.json` if a value has hundreds of nested lists, and notes the problem."""
    for levels in range(700, sys.getrecursionlimit()):
        name = "[" * levels + "]" * levels
        (tmp_path / "store.json").write_text(f'{{"schema_version": 1, "store": {{"source": {name}}}}}')
        store = StoreFile(str(tmp_path))
        assert store.load() is None
        assert len(store.notes) == 1


def test_an_error_about_a_field_of_wrong_type_shows_the_value():
    """The number 3 in a text field of the agent's own files raises an error that shows the 3."""
    with pytest.raises(BadRow, match="code is not text: " + json.dumps(3)):
        text_of({"code": 3}, "code")
