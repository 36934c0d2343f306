"""The journal entry that the operator means by an id or the beginning of an id."""

from __future__ import annotations

import pytest

from agent.cmd.changes.undo_run import entry_of
from agent.host_files.journal import Change, Entry
from agent.usage_error import UsageError

ENTRIES = tuple(
    Entry(id=name, at="2026-11-21T12:00:00.000Z", change=Change(kind="allocations", why="", before=None, after=None))
    for name in ("3f9c00000000", "3f9cd0000000", "7f")
)


@pytest.mark.parametrize(("typed", "found"), [("3f9c0", 0), ("3F9CD0000000", 1), ("7f", 2)])
def test_undo_accepts_an_entry_id_or_a_unique_prefix(typed: str, found: int) -> None:
    """`stocktake undo` finds a journal entry by its whole id, or by the beginning of its id if no other id has it."""
    assert entry_of(ENTRIES, typed) is ENTRIES[found]


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ("3f9c", "journal entry 3f9c is ambiguous: 3f9c00000000, 3f9cd0000000"),
        ("3f9", "journal entry 3f9: the beginning of an id needs at least 4 characters"),
        ("4abc", "the journal has no entry 4abc"),
        ("4", "the journal has no entry 4"),
        ("", "no entry id was passed: `stocktake journal` lists the ids"),
    ],
)
def test_undo_refuses_an_unknown_or_ambiguous_entry_id(typed: str, words: str) -> None:
    """`stocktake undo` fails if no journal entry, or more than one, has an id that begins with the given text."""
    with pytest.raises(UsageError) as raised:
        entry_of(ENTRIES, typed)
    assert str(raised.value) == words
