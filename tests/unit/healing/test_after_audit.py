"""What the daemon's heal reads from the journal."""

from __future__ import annotations

from types import SimpleNamespace

from agent.healing.daemon_heal import _undone
from agent.healing.heal import KIND
from agent.healing.reshape_journal import KIND as RESHAPE
from agent.host_files.journal import Change, FileJournal, Result
from agent.model.heal import Undone


def read(folder):
    return _undone(SimpleNamespace(journal=FileJournal(str(folder), lambda: "2026-11-25T00:00:00.000Z")))


def changed(folder, number, *, kind=KIND, undoes=None, result=Result.DONE):
    written = FileJournal(str(folder), lambda: "2026-11-25T00:00:00.000Z", lambda: f"e{number}")
    change = Change(kind=kind, why="w", before={}, after={}, finding_id=f"f{number}", consumer_uuid=f"c{number}")
    undo = Change(kind=kind, why="w", before={}, after={}, consumer_uuid=f"c{number}", undoes=undoes)
    written.end(written.begin(undo if undoes else change), result)


def test_the_agent_reads_undone_repairs_from_the_journal(tmp_path):
    """The agent's journal shows which repairs an operator undid. An undo that was refused does not count."""
    changed(tmp_path, 1)
    changed(tmp_path, 2)
    changed(tmp_path, 3, kind=RESHAPE)
    changed(tmp_path, 4, undoes="e2")
    changed(tmp_path, 5, undoes="e3")
    changed(tmp_path, 6, undoes="e1", result=Result.REFUSED)
    assert read(tmp_path) == Undone(findings=frozenset({"f2", "f3"}), consumers=frozenset({"c2"}))
    assert read(tmp_path / "none") == Undone()


def test_the_error_of_an_unreadable_journal_is_remembered(tmp_path):
    """If the journal of repairs cannot be read, the agent remembers the error."""
    (tmp_path / "journal.jsonl").mkdir()
    assert read(tmp_path).unread_because.startswith("journal: ")
