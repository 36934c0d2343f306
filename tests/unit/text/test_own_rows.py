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
def test_valid_list_entries_are_read_even_if_another_is_nested_too_deeply(row, read):
    good = {"code": "2026-11-21T10:00:00.000Z"}
    found = read_rows("sightings", [good, row, good], read)
    assert found.good == (good["code"], good["code"])
    (problem,) = found.problems
    assert problem.startswith("sightings[1]: code is ")
    assert problem.endswith("nested too deep")


def test_a_finding_in_findings_json_is_ignored_if_it_is_nested_too_deeply(tmp_path):
    """A row that can just be parsed is printed from a deeper call, with less of the stack left."""
    path = tmp_path / "findings.json"
    for levels in range(700, sys.getrecursionlimit()):
        row = "[" * levels + "]" * levels
        path.write_text(f'{{"schema_version": 1, "sightings": [{{"id": {row}}}], "added": [], "left": []}}')
        store = FindingsFile(str(tmp_path))
        assert store.load() == History()
        assert len(store.notes) == 1


def test_store_json_is_ignored_with_a_note_if_a_value_is_nested_too_deeply(tmp_path):
    for levels in range(700, sys.getrecursionlimit()):
        name = "[" * levels + "]" * levels
        (tmp_path / "store.json").write_text(f'{{"schema_version": 1, "store": {{"source": {name}}}}}')
        store = StoreFile(str(tmp_path))
        assert store.load() is None
        assert len(store.notes) == 1


def test_the_error_about_a_field_of_the_wrong_type_shows_the_value():
    with pytest.raises(BadRow, match="code is not text: " + json.dumps(3)):
        text_of({"code": 3}, "code")
