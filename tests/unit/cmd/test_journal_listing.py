"""The table that `stocktake journal` prints for people fits a terminal of 80 columns."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.cmd.naming.journal_selection import named_in
from agent.host_files.journal import Change, Entry, FileJournal, Result
from agent.model.heal import Actor
from tests.rigs.commands import stocktake_here
from tests.rigs.configs import ALONE
from tests.rigs.facts import uuid

AT = "2026-11-21T12:00:00.000Z"
ALICE = Actor(user="root", login_uid=1000, sudo_user="alice", program="stocktake heal", version="1", host="h", pid=7)
WHY = f"instance {uuid('gone')} (web-3) is deleted, so 8 VCPU, 4096 MiB of MEMORY_MB on this host are removed"


def change(why: str, **more: str) -> Change:
    return Change(kind="allocations", why=why, before=None, after=None, code="consumer-on-several-providers", **more)


@pytest.fixture
def config_file(tmp_path: Path) -> str:
    """Return the configuration of a host whose journal has a change and the change that undid it."""
    (tmp_path / "state").mkdir()
    ids = iter(("aaaaaaaaaaaa", "bbbbbbbbbbbb"))
    journal = FileJournal(str(tmp_path / "state"), lambda: AT, lambda: next(ids), lambda: ALICE)
    done = journal.begin(change(WHY, consumer_uuid=uuid("web-1")))
    journal.end(done, Result.DONE)
    journal.end(journal.begin(change("put back", undoes=done)), Result.DONE)
    path = tmp_path / "stocktake.conf"
    path.write_text(ALONE.replace("[agent]", f"[agent]\nstate_dir = {tmp_path}/state\nrun_dir = {tmp_path}"))
    return str(path)


def test_the_journal_table_fits_a_terminal_of_80_columns(config_file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a width of 80 columns, `stocktake journal` wraps long text and shortens ids."""
    monkeypatch.setenv("COLUMNS", "80")
    done = stocktake_here("--config-file", config_file, "journal")
    assert (done.code, done.stderr) == (0, "")
    lines = done.stdout.splitlines()

    assert max(map(len, lines)) <= 80
    heading, first, *_ = lines
    assert heading.split() == ["ENTRY", "AT", "(UTC)", "RESULT", "ACTOR", "WHY"]
    assert first.split()[:4] == ["aaaaaaaa", "2026-11-21", "12:00", "undone"]
    actor, why = (heading.index(name) for name in ("ACTOR", "WHY"))
    assert lines[-1] == "left out: code, consumer_uuid (-c shows them)"
    actors = " ".join(line[actor:why].strip() for line in lines[1:-1])
    assert actors.split() == ["alice", "(sudo),", "stocktake", "heal"] * 2
    short = WHY.replace(uuid("gone"), uuid("gone")[:8])
    words = " ".join(line[why:].strip() for line in lines[1:-1]).strip()
    assert words == f"{short} (undone by bbbbbbbb) put back"


def test_plain_journal_output_is_not_cut(config_file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """`stocktake journal -f value` prints the whole text on one line even if the terminal has only 20 columns."""
    monkeypatch.setenv("COLUMNS", "20")
    done = stocktake_here("--config-file", config_file, "journal", "-f", "value", "-c", "id", "-c", "why")
    assert done.stdout.splitlines() == [f"aaaaaaaaaaaa {WHY}", "bbbbbbbbbbbb put back"]


@pytest.mark.parametrize(
    ("arguments", "ids"),
    [
        (("--limit", "1"), ["bbbbbbbbbbbb"]),
        (("--since", "2026-11-21T12:00"), ["aaaaaaaaaaaa", "bbbbbbbbbbbb"]),
        (("--since", "2026-11-21T12:01"), []),
        (("--code", "consumer-unknown"), []),
        (("--consumer", uuid("web-1")[:8]), ["aaaaaaaaaaaa"]),
    ],
)
def test_the_journal_can_be_filtered(config_file: str, arguments: tuple[str, ...], ids) -> None:
    """`stocktake journal` lists only the entries that match `--limit`, `--since`, `--code` or `--consumer`."""
    done = stocktake_here("--config-file", config_file, "journal", "-f", "json", *arguments)
    assert (done.code, [row["id"] for row in done.document]) == (0, ids)


@pytest.mark.parametrize("form", [(), ("-f", "value"), ("-f", "csv")])
def test_the_journal_shows_an_undone_repair_as_undone(config_file: str, form: tuple[str, ...]) -> None:
    """`stocktake journal` shows the result "undone" for a repair that was undone, also in CSV."""
    listed = stocktake_here("--config-file", config_file, "journal", *form, "-c", "ENTRY", "-c", "RESULT")
    assert "undone" in next(line for line in listed.stdout.splitlines() if "aaaaaaaaaaaa" in line)
    kept = stocktake_here("--config-file", config_file, "journal", "-f", "json", "-c", "result")
    assert kept.document[0] == {"result": "done"}


def test_the_journal_table_has_a_heading_for_each_column(config_file: str) -> None:
    listed = stocktake_here("--config-file", config_file, "journal", "-c", "ENTRY", "-c", "finding_id")
    assert listed.stdout.splitlines()[0].split() == ["ENTRY", "FINDING_ID"]


def test_a_journal_search_needs_the_whole_instance_name() -> None:
    """`stocktake journal` finds entries by the whole name of an instance, and not by a part of the name."""
    entry = Entry(id="a", at=AT, change=change(WHY, consumer_uuid=uuid("gone")))
    assert named_in((entry,), "web-3") == {uuid("gone")}
    assert named_in((entry,), "web") == frozenset()


def test_the_journal_csv_shows_the_actor_as_plain_text(config_file: str) -> None:
    """The CSV output of `stocktake journal` shows who made a change, such as "alice (sudo), stocktake heal"."""
    done = stocktake_here("--config-file", config_file, "journal", "-f", "csv", "-c", "actor", "--limit", "1")
    assert done.stdout.splitlines() == ['"actor"', '"alice (sudo), stocktake heal"']


@pytest.mark.parametrize(
    "arguments", [("--since", "yesterday"), ("--limit", "0"), ("--limit", "-3"), ("--consumer", uuid("web-1")[:7])]
)
def test_the_journal_command_exits_127_for_an_invalid_filter(config_file: str, arguments: tuple[str, ...]) -> None:
    assert stocktake_here("--config-file", config_file, "journal", *arguments).code == 127
