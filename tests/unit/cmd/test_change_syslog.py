"""A change that an operator's command made is one line in the machine's syslog, whatever becomes of its outcome."""

import json
import re
import socket
from contextlib import contextmanager
from dataclasses import replace

import pytest

from agent.cmd.log_output import change_syslog
from agent.cmd.log_output.change_syslog import AnnouncingJournal, change_line, to_syslog
from agent.errors import SourceUnavailable
from agent.host_files.journal import Change, FileJournal, Result
from agent.telemetry.change_text import state_text
from agent.telemetry.text_form import LINE_BYTES, size_bytes

CONSUMER = "95a20332-20e6-52bf-aeae-06fd5924e001"
HERE, THERE = "bd0379cb-12b7-54ae-a063-fe1cfa3fdfa4", "1c5b1bd4-1a0b-4f1a-9f0e-3f6c7a1f0001"
USER_WARNING = (1 << 3) | 4


def consumer(*rows):
    names = ("provider_uuid", "resource_class", "amount")
    return {"consumer": {"allocations": [dict(zip(names, row, strict=True)) for row in rows]}}


CHANGE = Change(
    kind="allocations", why="leaked", before=consumer((HERE, "MEMORY_MB", 512), (HERE, "VCPU", 8), (THERE, "VCPU", 8)),
    after=consumer((THERE, "VCPU", 8)), finding_id="87897f25", code="allocation-stale-move", consumer_uuid=CONSUMER,
)  # fmt: skip
RENAME = Change(kind="provider-name", why="adopt", before={"name": "a"}, after={"name": "b"}, provider_uuid=HERE)


class Refusing:
    """A journal on a disk that is full."""

    def begin(self, _change):
        return "3f9c"

    def end(self, *_outcome):
        raise SourceUnavailable("journal", "no space left")


def announced(journal, change, *results):
    """Return the lines for one change with these outcomes."""
    lines = []
    for result in results:
        announcing = AnnouncingJournal(journal, lambda: "alice (sudo), stocktake heal", lines.append)
        announcing.end(announcing.begin(change), result, "words")
    return lines


@contextmanager
def syslog_at(path):
    """A syslog server on a socket of the machine; yields its socket."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as server, pytest.MonkeyPatch.context() as changed:
        server.bind(str(path))
        server.settimeout(10)
        changed.setattr(change_syslog, "DEV_LOG", str(path))
        yield server


def test_only_finished_changes_are_sent_to_syslog(tmp_path):
    """A change with the result "done" gives a syslog line; a change with any other result gives none."""
    journal = FileJournal(str(tmp_path), lambda: "2026-11-22T03:11:07.000Z")
    (line,) = announced(journal, CHANGE, *Result)
    assert [entry.result for entry in journal.read().entries] == list(Result)
    assert journal.read().entries[1].id in line


def test_a_change_is_sent_to_syslog_despite_a_full_disk():
    """The disk is full, so the agent cannot write the change's result to its journal; syslog still gets the change."""
    lines = []
    announcing = AnnouncingJournal(Refusing(), lambda: "alice", lines.append)
    with pytest.raises(SourceUnavailable):
        announcing.end(announcing.begin(CHANGE), Result.DONE)
    assert len(lines) == 1


def test_a_syslog_line_shows_who_changed_what():
    """The syslog line of a change has the user, the values before and after, and the command for the undo."""
    assert change_line(CHANGE, "3f9c00000000", "alice (sudo), stocktake heal") == (
        f'finding healed code=allocation-stale-move subject="consumer {CONSUMER}" actor="alice (sudo), stocktake heal"'
        f' entry_id=3f9c00000000 after="8 VCPU on {THERE}"'
        f' before="512 MiB of MEMORY_MB, 8 VCPU on {HERE}; 8 VCPU on {THERE}" undo="stocktake undo 3f9c00000000"'
    )


@pytest.mark.parametrize(
    ("change", "text"),
    [(CHANGE, "finding healed "), (RENAME, "identity adopted "), (replace(CHANGE, undoes="3f9c"), "change undone ")],
)
def test_a_syslog_line_begins_with_the_kind_of_change(change, text):
    """The syslog line of a change begins with "finding healed", "identity adopted" or "change undone"."""
    assert change_line(change, "3f9c", "alice").startswith(text)


def test_the_syslog_line_of_a_large_change_is_limited():
    """A change of 1000 consumers still gives a syslog line within the size limit."""
    many = {"consumers": [consumer((HERE, f"CUSTOM_{n}", n)) for n in range(1000)]}
    line = change_line(Change(kind="reshape", why="w", before=many, after=many, provider_uuid=HERE), "3f9c", "a" * 5000)
    assert size_bytes(line) <= LINE_BYTES


def test_a_syslog_line_shows_a_consumer_without_allocation():
    """The syslog line of a change shows a consumer without allocation as "no allocation"."""
    assert state_text(consumer()) == "no allocation"
    assert json.loads(state_text({"name": "b"})) == {"name": "b"}


def test_a_syslog_line_has_a_program_name_and_a_priority(tmp_path):
    """A line for syslog has the program name "stocktake", the process id and the priority of a warning."""
    with syslog_at(tmp_path / "log") as server:
        to_syslog("finding healed before=\u00e9")
        text = server.recv(4096).decode()
    assert re.fullmatch(rf"<{USER_WARNING}>stocktake\[\d+\]: finding healed before=\u00e9", text)


def test_a_command_ignores_a_missing_syslog_socket(tmp_path, capsys):
    """If no syslog server listens, the command prints no error."""
    with syslog_at(tmp_path / "log"):
        pass
    with pytest.MonkeyPatch.context() as changed:
        for path in (tmp_path / "log", tmp_path / "nothing"):
            changed.setattr(change_syslog, "DEV_LOG", str(path))
            to_syslog("finding healed")
    assert capsys.readouterr().err == ""


def test_a_command_does_not_hang_on_a_full_syslog_socket(tmp_path, monkeypatch):
    """If the syslog server does not read its messages, the command drops a line and goes on."""
    monkeypatch.setattr(change_syslog, "SEND_S", 0.01)
    with syslog_at(tmp_path / "log") as server:
        for number in range(50):  # a socket of the machine takes net.unix.max_dgram_qlen messages, 10 or 512
            to_syslog(f"{number} {'x' * 900}")
        server.setblocking(False)
        assert server.recv(4096)
