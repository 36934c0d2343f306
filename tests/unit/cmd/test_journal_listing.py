"""The table that `stocktake journal` prints for people fits a terminal of 80 columns."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.host_files.journal import Change, FileJournal, Result
from tests.rigs.commands import stocktake_here
from tests.rigs.configs import ALONE
from tests.rigs.facts import uuid

AT = "2026-11-21T12:00:00.000Z"
WHY = f"instance {uuid('gone')} (web-3) is deleted, so 8 VCPU, 4096 MiB of MEMORY_MB on this host are removed"


def change(why: str, **more: str) -> Change:
    return Change(kind="allocations", why=why, before=None, after=None, code="consumer-on-several-providers", **more)


@pytest.fixture
def config_file(tmp_path: Path) -> str:
    """Return the configuration of a host whose journal has a change and the change that undid it."""
    (tmp_path / "state").mkdir()
    ids = iter(("aaaaaaaaaaaa", "bbbbbbbbbbbb"))
    journal = FileJournal(str(tmp_path / "state"), lambda: AT, lambda: next(ids))
    done = journal.begin(change(WHY))
    journal.end(done, Result.DONE)
    journal.end(journal.begin(change("put back", undoes=done)), Result.DONE)
    path = tmp_path / "stocktake.conf"
    path.write_text(ALONE.replace("[agent]", f"[agent]\nstate_dir = {tmp_path}/state\nrun_dir = {tmp_path}"))
    return str(path)


def test_the_journal_table_fits_80_columns_and_marks_an_undone_entry(
    config_file: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    done = stocktake_here("--config-file", config_file, "journal")
    assert (done.code, done.stderr) == (0, "")
    lines = done.stdout.splitlines()

    assert max(map(len, lines)) <= 80
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]
    assert [left for left, _ in cells if left] == [
        *("entry", "aaaaaaaaaaaa", AT, "consumer-on-several-providers", "done", "undone by bbbbbbbbbbbb"),
        *("bbbbbbbbbbbb", AT, "consumer-on-several-providers", "done"),
    ]
    assert " ".join(right for _, right in cells if right) == f"why {WHY} put back"


def test_journal_with_format_value_prints_full_lines_on_a_narrow_terminal(
    config_file: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    done = stocktake_here("--config-file", config_file, "journal", "-f", "value", "-c", "id", "-c", "why")
    assert done.stdout.splitlines() == [f"aaaaaaaaaaaa {WHY}", "bbbbbbbbbbbb put back"]
