"""The journal, followed from audit to audit."""

import shutil

from agent.host_files.journal import Change, FileJournal, Result
from agent.host_files.journal_tail import JournalTail
from agent.model.heal import JournalCounts
from tests.rigs.facts import uuid

CHANGE = Change(kind="allocations", why="w", before={}, after={}, code="allocation-leaked", consumer_uuid=uuid("a"))


def journal(folder):
    return FileJournal(str(folder), lambda: "2026-11-25T00:00:00.000Z")


def test_a_missing_journal_counts_as_an_empty_journal(tmp_path):
    assert JournalTail(str(tmp_path)).read() == JournalCounts()


def test_a_starting_daemon_counts_only_unfinished_changes(tmp_path):
    """A starting daemon counts the changes in its journal that have no result yet."""
    written = journal(tmp_path)
    written.end(written.begin(CHANGE), Result.DONE)
    written.begin(CHANGE)
    assert JournalTail(str(tmp_path)).read() == JournalCounts(open_entries=1)


def test_each_new_change_in_the_journal_is_counted_once(tmp_path):
    """A running daemon counts every new change in its journal exactly once."""
    written, tail = journal(tmp_path), JournalTail(str(tmp_path))
    tail.read()
    first = written.begin(CHANGE)
    assert tail.read() == JournalCounts(open_entries=1)
    written.end(first, Result.DONE)
    undo = written.begin(Change(kind="allocations", why="w", before={}, after={}, undoes=first))
    written.end(undo, Result.UNKNOWN)
    written.end(written.begin(Change(kind="identity-file", why="w", before={}, after={})), Result.REFUSED)
    changes = (("adopt", "refused", 1), ("allocation-leaked", "done", 1), ("undo", "unknown", 1))
    assert tail.read() == JournalCounts(new_changes=changes)
    assert tail.read() == JournalCounts()


def test_a_new_entry_is_counted_after_damaged_journal_lines(tmp_path):
    """If the journal is replaced by a file with damaged lines, the daemon still counts an entry that is added later."""
    written, tail = journal(tmp_path), JournalTail(str(tmp_path))
    written.begin(CHANGE)
    tail.read()
    (tmp_path / "journal.jsonl").unlink()
    with (tmp_path / "journal.jsonl").open("wb") as file:
        file.write(b'\xff\n{"line": "change"}\n[]\n{"line": "cha')
    assert tail.read().new_changes == ()
    written.end(written.begin(CHANGE), Result.DONE)
    assert tail.read().new_changes == (("allocation-leaked", "done", 1),)


def test_a_too_deeply_nested_journal_line_is_skipped(tmp_path):
    """The daemon skips a journal line with 200,000 nested brackets and counts the entry after it."""
    written, tail = journal(tmp_path), JournalTail(str(tmp_path))
    tail.read()
    with (tmp_path / "journal.jsonl").open("wb") as file:
        file.write(b"[" * 200_000 + b"\n")
    written.end(written.begin(CHANGE), Result.DONE)
    assert tail.read().new_changes == (("allocation-leaked", "done", 1),)


def test_changes_are_not_counted_twice_after_a_restore(tmp_path):
    """If a backup replaces the journal file, the daemon does not count the old changes again.

    New changes are counted.
    """
    written, tail = journal(tmp_path), JournalTail(str(tmp_path))
    written.end(written.begin(CHANGE), Result.DONE)
    written.begin(CHANGE)
    shutil.copy(tmp_path / "journal.jsonl", tmp_path / "backup")
    tail.read()
    written.end(written.begin(CHANGE), Result.DONE)
    assert tail.read() == JournalCounts(new_changes=(("allocation-leaked", "done", 1),), open_entries=1)
    (tmp_path / "backup").replace(tmp_path / "journal.jsonl")
    assert tail.read() == JournalCounts(open_entries=1)
    written.end(written.begin(CHANGE), Result.DONE)
    assert tail.read().new_changes == (("allocation-leaked", "done", 1),)


def test_changes_are_not_counted_twice_if_the_journal_returns(tmp_path):
    """If the journal file is moved away and later moved back, the daemon does not count its finished changes again."""
    written, tail = journal(tmp_path), JournalTail(str(tmp_path))
    written.end(written.begin(CHANGE), Result.DONE)
    written.begin(CHANGE)
    tail.read()
    (tmp_path / "journal.jsonl").rename(tmp_path / "aside")
    assert tail.read() == JournalCounts()
    (tmp_path / "aside").rename(tmp_path / "journal.jsonl")
    assert tail.read() == JournalCounts(open_entries=1)


def test_an_emptied_journal_has_no_unfinished_changes(tmp_path):
    """If the journal file is emptied, the daemon's number of unfinished changes falls to zero."""
    written, tail = journal(tmp_path), JournalTail(str(tmp_path))
    written.begin(CHANGE)
    assert tail.read() == JournalCounts(open_entries=1)
    (tmp_path / "journal.jsonl").write_bytes(b"")
    assert tail.read() == JournalCounts()
