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


def test_a_change_before_the_daemon_start_is_counted_only_if_it_never_finished(tmp_path):
    written = journal(tmp_path)
    written.end(written.begin(CHANGE), Result.DONE)
    written.begin(CHANGE)
    assert JournalTail(str(tmp_path)).read() == JournalCounts(open_entries=1)


def test_each_journal_entry_after_the_daemon_start_is_counted_once(tmp_path):
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


def test_a_new_journal_entry_is_counted_even_if_earlier_lines_are_damaged(tmp_path):
    written, tail = journal(tmp_path), JournalTail(str(tmp_path))
    written.begin(CHANGE)
    tail.read()
    (tmp_path / "journal.jsonl").unlink()
    with (tmp_path / "journal.jsonl").open("wb") as file:
        file.write(b'\xff\n{"line": "change"}\n[]\n{"line": "cha')
    assert tail.read().new_changes == ()
    written.end(written.begin(CHANGE), Result.DONE)
    assert tail.read().new_changes == (("allocation-leaked", "done", 1),)


def test_a_journal_line_with_too_deeply_nested_json_is_skipped(tmp_path):
    written, tail = journal(tmp_path), JournalTail(str(tmp_path))
    tail.read()
    with (tmp_path / "journal.jsonl").open("wb") as file:
        file.write(b"[" * 200_000 + b"\n")
    written.end(written.begin(CHANGE), Result.DONE)
    assert tail.read().new_changes == (("allocation-leaked", "done", 1),)


def test_changes_are_not_counted_twice_if_a_backup_replaces_the_journal(tmp_path):
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


def test_changes_are_not_counted_twice_if_the_journal_disappears_and_returns(tmp_path):
    written, tail = journal(tmp_path), JournalTail(str(tmp_path))
    written.end(written.begin(CHANGE), Result.DONE)
    written.begin(CHANGE)
    tail.read()
    (tmp_path / "journal.jsonl").rename(tmp_path / "aside")
    assert tail.read() == JournalCounts()
    (tmp_path / "aside").rename(tmp_path / "journal.jsonl")
    assert tail.read() == JournalCounts(open_entries=1)


def test_unfinished_changes_are_forgotten_if_the_journal_file_is_emptied(tmp_path):
    written, tail = journal(tmp_path), JournalTail(str(tmp_path))
    written.begin(CHANGE)
    assert tail.read() == JournalCounts(open_entries=1)
    (tmp_path / "journal.jsonl").write_bytes(b"")
    assert tail.read() == JournalCounts()
