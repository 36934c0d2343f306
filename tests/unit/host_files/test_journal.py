"""The journal's file: its contents, and what a crash or another program can damage in it."""

import json
import os
import pwd
import stat
from dataclasses import asdict

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agent.errors import SourceUnavailable
from agent.host_files.actor import this_actor
from agent.host_files.journal import Change, Entry, FileJournal, Journal, JournalContent, Result, parsed

CHANGE = Change(
    kind="allocations",
    why="the instance is gone",
    before={"allocations": [["rp", "VCPU", 2]]},
    after={"allocations": []},
    finding_id="f1",
    code="allocation-leaked",
    consumer_uuid="c1",
    audit_id="a1",
    plan_digest="d1",
)


#: Nested so deep that Python can parse the line, but can neither copy nor print the value.
CHANGE_OF = (
    b'{"schema_version":1,"line":"change","id":"e7","at":"x","kind":"k","why":"w","before":{"a":%s%s},"after":{}}'
)


class Times:
    """A clock that advances one second per call."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self) -> str:
        self.count += 1
        return f"2026-11-21T10:00:{self.count:02d}.000Z"


class Ids(Times):
    """A source of ids: e1, e2, …"""

    def __call__(self) -> str:
        self.count += 1
        return f"e{self.count}"


@pytest.fixture
def journal(tmp_path) -> Journal:
    return FileJournal(str(tmp_path), now=Times(), new_id=Ids())


def test_a_change_in_the_journal_is_read_back_with_its_result(journal):
    """The agent writes a change to its journal, and later the result. Then both are read from the journal."""
    assert journal.read() == JournalContent()
    assert journal.begin(CHANGE) == "e1"
    assert journal.read().entries == (Entry(id="e1", at="2026-11-21T10:00:01.000Z", change=CHANGE),)
    journal.end("e1", Result.DONE, "as planned")
    (entry,) = journal.read().entries
    assert (entry.result, entry.words, entry.ended_at) == (Result.DONE, "as planned", "2026-11-21T10:00:02.000Z")


def test_a_journal_entry_shows_the_user_and_the_program(tmp_path, monkeypatch):
    """A journal entry shows who made a change: the user behind sudo, the command, the host and the process id."""
    monkeypatch.setenv("SUDO_USER", "alice")
    journal = FileJournal(str(tmp_path), now=Times(), new_id=Ids(), actor=lambda: this_actor("stocktake heal"))
    journal.begin(CHANGE)
    (entry,) = journal.read().entries
    assert entry.actor == this_actor("stocktake heal")
    assert entry.actor.words == "alice (sudo), stocktake heal"
    assert (entry.actor.host, entry.actor.pid) == (os.uname().nodename, os.getpid())


@pytest.mark.parametrize("actor", [None, 7, {}, {"user": "root"}, {**asdict(this_actor("x")), "login_uid": "many"}])
def test_an_invalid_actor_hides_no_journal_entry(tmp_path, actor):
    """If the actor field of a journal entry is invalid, the agent reads the entry without an actor."""
    journal = FileJournal(str(tmp_path), now=Times(), new_id=Ids())
    journal.begin(CHANGE)
    path = tmp_path / "journal.jsonl"
    path.write_text(json.dumps({**json.loads(path.read_text()), "actor": actor}) + "\n")
    read = journal.read()
    assert ([entry.actor for entry in read.entries], read.problems) == ([None], ())


def test_without_sudo_the_journal_shows_the_process_user(monkeypatch):
    """If a command was started without sudo, the journal shows the user of the command's process."""
    monkeypatch.delenv("SUDO_USER", raising=False)
    actor = this_actor("stocktake undo")
    assert actor.words == f"{pwd.getpwuid(os.geteuid()).pw_name}, stocktake undo"


def test_the_last_of_two_results_in_the_journal_counts(journal):
    """If a change in the journal has the result "unknown" and later "done", its result is "done"."""
    entry_id = journal.begin(CHANGE)
    journal.end(entry_id, Result.UNKNOWN, "no answer")
    journal.end(entry_id, Result.DONE, "it was done")
    assert [(e.result, e.words) for e in journal.read().entries] == [(Result.DONE, "it was done")]


def test_a_refused_undo_does_not_count_as_an_undo(journal):
    """If the undo of a change is refused, the journal does not show the change as undone."""
    first = journal.begin(CHANGE)
    refused = journal.begin(Change(kind="allocations", why="undo", before=1, after=2, undoes=first))
    journal.end(refused, Result.REFUSED, "no room")
    second = journal.begin(Change(kind="allocations", why="undo", before=1, after=2, undoes=first))
    assert [e.undone_by for e in journal.read().entries] == [(second,), (), ()]


def test_the_first_journal_entry_is_synced_to_disk(journal, tmp_path, monkeypatch):
    """When the agent writes its first journal entry, it syncs the file and the folder to disk."""
    synced = []
    real = os.fsync
    monkeypatch.setattr(os, "fsync", lambda fd: (synced.append(stat.S_ISDIR(os.fstat(fd).st_mode)), real(fd)))
    journal.begin(CHANGE)
    assert synced == [False, True]  # the file, then its folder
    assert stat.S_IMODE((tmp_path / "journal.jsonl").stat().st_mode) == 0o640


def test_the_journal_only_grows(journal, tmp_path):
    """The agent only appends lines to its journal, and never changes the lines that are there."""
    path = tmp_path / "journal.jsonl"
    contents = [b""]
    for step in (lambda: journal.begin(CHANGE), lambda: journal.end("e1", Result.DONE), lambda: journal.begin(CHANGE)):
        step()
        contents.append(path.read_bytes())
        assert contents[-1].startswith(contents[-2])
        assert len(contents[-1]) > len(contents[-2])


def test_each_journal_line_has_a_schema_version(journal, tmp_path):
    journal.begin(CHANGE)
    journal.end("e1", Result.DONE)
    lines = [json.loads(line) for line in (tmp_path / "journal.jsonl").read_text().splitlines()]
    assert [(line["schema_version"], line["line"], line["id"]) for line in lines] == [
        (1, "change", "e1"),
        (1, "outcome", "e1"),
    ]


def test_a_cut_off_journal_line_is_reported(journal, tmp_path):
    """If a crash cut off the last journal line, the agent reports the line and still reads lines written later."""
    path = tmp_path / "journal.jsonl"
    journal.begin(CHANGE)
    journal.begin(CHANGE)
    path.write_bytes(path.read_bytes()[:-20])
    found = journal.read()
    assert [e.id for e in found.entries] == ["e1"]
    assert found.problems == ("the last line, 2, is torn: a write was cut off",)
    journal.end("e1", Result.DONE)
    journal.begin(CHANGE)
    found = journal.read()
    assert [(e.id, e.result) for e in found.entries] == [("e1", Result.DONE), ("e3", Result.OPEN)]
    assert found.problems == ("line 2 is skipped: the line is not JSON",)


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (b"\xff\xfe", "the line is not JSON"),
        (b"[" * 100_000, "the line is not JSON"),
        (CHANGE_OF % (b"[" * 500, b"]" * 500), "the line is nested too deep"),
        (b"[1]", "the line is not a JSON object with schema_version 1"),
        (b'{"schema_version": 2}', "the line is not a JSON object with schema_version 1"),
        (b'{"schema_version": 1, "line": "change", "id": 7, "at": "x"}', "the line has no id or no time"),
        (
            b'{"schema_version": 1, "line": "song", "id": "e7", "at": "x"}',
            "the line records neither a change nor the outcome of a change",
        ),
        (
            b'{"schema_version": 1, "line": "change", "id": "e7", "at": "x"}',
            "the line records a change, but a key is missing or has a wrong value",
        ),
        (
            b'{"schema_version": 1, "line": "outcome", "id": "e7", "at": "x", "result": "done", "words": ""}',
            "the line records the outcome of a change that is not in the journal: e7",
        ),
        (
            b'{"schema_version": 1, "line": "outcome", "id": "e1", "at": "x", "result": "perhaps", "words": ""}',
            'the line records an outcome, but "result" or "words" is missing or wrong',
        ),
    ],
)
def test_an_invalid_journal_line_is_skipped_and_reported(journal, tmp_path, line, problem):
    """If a journal line is invalid, the agent reports the line's number and the reason, and reads all other lines."""
    journal.begin(CHANGE)
    with open(tmp_path / "journal.jsonl", "ab") as file:
        file.write(line + b"\n")
    journal.begin(CHANGE)
    found = journal.read()
    assert ([e.id for e in found.entries], found.problems) == (["e1", "e2"], (f"line 2 is skipped: {problem}",))


def test_a_repeated_journal_line_is_ignored_and_reported(journal, tmp_path):
    """If two lines of the journal contain the same change id, the second line is skipped and reported as a problem."""
    journal.begin(CHANGE)
    path = tmp_path / "journal.jsonl"
    path.write_bytes(path.read_bytes() * 2)
    found = journal.read()
    assert (len(found.entries), found.problems) == (1, ("line 2 is skipped: the line repeats the id e1",))


@pytest.mark.parametrize("make", ["folder", "pipe", "link"])
def test_the_journal_is_written_only_to_a_regular_file(journal, tmp_path, make):
    """If journal.jsonl is a folder, a pipe or a symbolic link, the agent raises an error and writes nothing."""
    path = tmp_path / "journal.jsonl"
    if make == "folder":
        path.mkdir()
    elif make == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(SourceUnavailable, match=r"journal: .*journal\.jsonl cannot be written"):
        journal.begin(CHANGE)
    assert not (tmp_path / "elsewhere").exists()


def _lines(count: int) -> bytes:
    lines = []
    for number in range(count):
        change = {"kind": "k", "why": "w", "before": {"n": [number, "ß\n"]}, "after": None}
        lines.append({"schema_version": 1, "line": "change", "id": f"e{number}", "at": "t"} | change)
        outcome = {"line": "outcome", "id": f"e{number}", "at": "t", "result": "done", "words": "}{"}
        lines.append({"schema_version": 1} | outcome)
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


@given(cut=st.integers(0, len(_lines(4))))
def test_complete_lines_of_a_cut_off_journal_are_read(cut):
    """At whatever byte the journal is cut off, all complete lines are read, and an incomplete last line is reported."""
    content = _lines(4)[:cut]
    found = parsed(content)
    # A line that lacks only its line end is complete.
    lacks_its_end = _lines(4)[cut : cut + 1] == b"\n"
    whole = content.count(b"\n") + lacks_its_end
    assert len(found.entries) == (whole + 1) // 2
    assert sum(e.result is Result.DONE for e in found.entries) == whole // 2
    is_torn = not lacks_its_end and content != b"" and not content.endswith(b"\n")
    assert len(found.problems) == is_torn


@given(where=st.integers(0, 8), noise=st.binary(max_size=60).filter(lambda b: b"\n" not in b))
def test_random_bytes_between_journal_lines_hide_no_entry(where, noise):
    """If a line of random bytes is inserted anywhere in the journal, all entries are still read."""
    lines = _lines(4).splitlines(keepends=True)
    content = b"".join((*lines[:where], noise + b"\n", *lines[where:]))
    assert [(e.id, e.result) for e in parsed(content).entries] == [(f"e{n}", Result.DONE) for n in range(4)]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=st.binary(max_size=300))
def test_a_new_entry_is_readable_in_a_damaged_journal(tmp_path, content):
    """Whatever bytes the journal file contains, the agent can add a new entry and read it again."""
    path = tmp_path / "journal.jsonl"
    path.write_bytes(content)
    path.chmod(0o600)
    journal = FileJournal(str(tmp_path), now=Times(), new_id=Ids())
    journal.begin(CHANGE)
    assert [e.change for e in journal.read().entries] == [CHANGE]
    assert path.read_bytes().startswith(content)


ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**400), 10**400) | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=9), inner, max_size=4),
    max_leaves=8,
)


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_strange_json_line_hides_no_journal_entry(tmp_path_factory, data):
    """If a line with any JSON value is inserted anywhere in the journal, the real entries are still read."""
    journal = FileJournal(str(tmp_path_factory.mktemp("journal")), now=Times(), new_id=Ids())
    journal.end(journal.begin(CHANGE), Result.DONE)
    with open(journal.path, "rb") as file:
        lines = file.read().splitlines()
    first = json.loads(lines[0])
    nearly = st.builds(lambda name, value: {**first, "id": "x", name: value}, st.sampled_from(sorted(first)), ANY_JSON)
    odd = json.dumps(data.draw(ANY_JSON | nearly)).encode()
    at = data.draw(st.integers(0, len(lines)))
    found = parsed(b"\n".join([*lines[:at], odd, *lines[at:]]) + b"\n")
    assert ("e1", Result.DONE) in {(entry.id, entry.result) for entry in found.entries} or b'"e1"' in odd
    assert found.problems or len(found.entries) == 2 or b'"x"' in odd
