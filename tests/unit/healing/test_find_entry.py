"""The journal entry that the operator means by an id or the beginning of an id."""

from __future__ import annotations

import pytest

from agent.healing.undo import NotFound, find_entry
from agent.host_files.journal import Change, Entry

ENTRIES = tuple(
    Entry(id=name, at="2026-11-21T12:00:00.000Z", change=Change(kind="allocations", why="", before=None, after=None))
    for name in ("3f9c00000000", "3f9d00000000", "3f")
)


@pytest.mark.parametrize(("typed", "found"), [("3f9c", 0), ("3f9d00000000", 1), ("3f", 2)])
def test_a_journal_entry_is_found_by_its_full_id_or_a_unique_prefix(typed: str, found: int) -> None:
    assert find_entry(ENTRIES, typed) is ENTRIES[found]


@pytest.mark.parametrize(
    ("typed", "words"),
    [("3f9", "several entry ids begin with 3f9: 3f9c00000000, 3f9d00000000"), ("4", "the journal has no entry 4")],
)
def test_an_unknown_or_ambiguous_prefix_is_reported(typed: str, words: str) -> None:
    assert find_entry(ENTRIES, typed) == NotFound(words=words)


def test_an_empty_id_finds_no_entry() -> None:
    assert isinstance(find_entry(ENTRIES[:1], ""), NotFound)
