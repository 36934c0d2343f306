"""Which entries of the journal an operator's filters select."""

import datetime

import pytest

from agent.cmd.naming.journal_selection import Selection, selected
from agent.host_files.journal import Change, Entry
from tests.rigs.facts import uuid


def entry(number: int, code: str, consumer: str) -> Entry:
    change = Change(kind="allocations", why="", before=None, after=None, code=code, consumer_uuid=uuid(consumer))
    return Entry(id=f"e{number}", at=f"2026-11-2{number}T10:00:00.000Z", change=change)


ENTRIES = (entry(1, "leaked", "a"), entry(2, "missing", "a"), entry(3, "leaked", "b"), entry(4, "leaked", "a"))
NOON = datetime.datetime(2026, 11, 22, 10, 0, tzinfo=datetime.UTC)


@pytest.mark.parametrize(
    ("asked", "ids"),
    [
        (Selection(), "1234"),
        (Selection(since=NOON), "234"),
        (Selection(limit=2), "34"),
        (Selection(limit=9), "1234"),
        (Selection(codes=frozenset({"leaked"})), "134"),
        (Selection(codes=frozenset({"leaked", "missing"}), limit=3), "234"),
        (Selection(consumers=frozenset({uuid("b")})), "3"),
        (Selection(codes=frozenset({"leaked"}), consumers=frozenset({uuid("a")}), limit=1), "4"),
        (Selection(codes=frozenset({"other"})), ""),
    ],
)
def test_a_journal_entry_must_match_every_filter(asked, ids):
    """`stocktake journal` lists the entries that match each given filter: time, finding code and instance."""
    assert [found.id for found in selected(ENTRIES, asked)] == [f"e{number}" for number in ids]


def test_a_time_filter_keeps_entries_with_an_invalid_time():
    """A journal entry has the time "in autumn"; `stocktake journal` with a time filter still lists the entry."""
    odd = Entry(id="odd", at="in autumn", change=ENTRIES[0].change)
    assert selected((odd,), Selection(since=NOON)) == (odd,)
