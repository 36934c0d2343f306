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
def test_the_answer_about_a_repaired_finding_shows_the_repair(typed: str) -> None:
    """The operator asks for a repaired finding; the answer has the time and the journal entry of the repair."""
    assert ended_words(typed, (), (entry(),)) == f"finding {typed} ended at {AT}: repaired (journal entry 2337b54e0001)"


def test_the_answer_about_an_undone_repair_shows_the_undo() -> None:
    """The operator asks for a repaired finding; the answer ends with the journal entry that undid the repair."""
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
def test_a_finding_is_shown_as_repaired_only_after_a_repair(typed: str, found: Entry) -> None:
    """If the journal has only a refused repair of a finding, the agent does not show the finding as repaired."""
    assert ended_words(typed, (), (found,)) is None
