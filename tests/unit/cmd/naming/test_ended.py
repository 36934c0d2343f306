"""A finding's id that no audit finds any more: when the finding ended, and which entry repaired it."""

from __future__ import annotations

import pytest

from agent.cmd.naming.ended import ended_words
from agent.host_files.journal import Change, Entry, Result

ID = "87897f25-105f-50a2-8adc-94d2fb184baa"
AT = "2026-11-21T12:00:01.000Z"


def entry(result: Result = Result.DONE, undoes: str | None = None, undone_by: tuple[str, ...] = ()) -> Entry:
    change = Change(kind="allocations", why="w", before=None, after=None, finding_id=ID, undoes=undoes)
    return Entry(id="2337b54e0001", at="t", change=change, result=result, ended_at=AT, undone_by=undone_by)


@pytest.mark.parametrize("typed", [ID, ID[:8], ID[:8].upper()])
def test_the_text_about_an_ended_finding_names_the_repair_that_ended_it(typed: str) -> None:
    assert ended_words(typed, (), (entry(),)) == f"finding {typed} ended at {AT}: repaired (journal entry 2337b54e0001)"


def test_the_text_about_an_undone_repair_names_the_journal_entry_of_the_undo() -> None:
    words = ended_words(ID, (), (entry(undone_by=("aaaa",)),))
    assert words is not None
    assert words.endswith("; this repair was undone (journal entry aaaa)")


@pytest.mark.parametrize(
    ("typed", "found"),
    [
        (ID[:7], entry()),
        ("web-1", entry()),
        (ID, entry(Result.REFUSED)),
        (ID, entry(undoes="aaaa")),
        ("9" * 8, entry()),
    ],
)
def test_a_finding_counts_as_repaired_only_if_the_journal_proves_it(typed: str, found: Entry) -> None:
    assert ended_words(typed, (), (found,)) is None
