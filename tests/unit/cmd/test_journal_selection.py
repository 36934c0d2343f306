"""Which entries of the journal an operator's filters select."""

import datetime

import pytest

from agent.cmd.journal_selection import Selection, consumers_of, selected
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
def test_the_entries_that_match_every_filter_are_selected(asked, ids):
    assert [found.id for found in selected(ENTRIES, asked)] == [f"e{number}" for number in ids]


def test_an_entry_whose_time_cannot_be_read_counts_as_new():
    odd = Entry(id="odd", at="in autumn", change=ENTRIES[0].change)
    assert selected((odd,), Selection(since=NOON)) == (odd,)


def test_the_beginning_of_a_uuid_stands_for_every_uuid_that_begins_so():
    assert consumers_of(ENTRIES, uuid("a")[:8].upper()) == (uuid("a"),)
    assert consumers_of(ENTRIES, uuid("c")[:8]) == ()
    twins = (
        *ENTRIES,
        Entry(
            id="t", at="", change=Change(kind="k", why="", before=None, after=None, consumer_uuid=f"{uuid('a')[:-1]}x")
        ),
    )
    assert consumers_of(twins, uuid("a")[:8]) == tuple(sorted((uuid("a"), f"{uuid('a')[:-1]}x")))


def test_fewer_than_8_characters_stand_for_no_uuid_but_themselves():
    assert consumers_of(ENTRIES, uuid("a")[:7]) == (uuid("a")[:7],)
