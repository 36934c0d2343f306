"""``stocktake report --html``: the file, its mode and the exit codes, from the daemon's last report."""

import dataclasses
import pathlib
import stat

import pytest

from agent.host_files.journal import Change, FileJournal, Result
from tests.rigs.pages import dead
from tests.rigs.screens import SCREEN, UNREAD
from tests.unit.cmd.test_last import Host
from tests.unit.pages.test_render import Elements

CALM = dataclasses.replace(SCREEN, findings=())


@pytest.fixture
def host(tmp_path: pathlib.Path) -> Host:
    (tmp_path / "state").mkdir()
    return Host(tmp_path)


def page_of(host: Host) -> str:
    return (host.folder / "page.html").read_text()


def report(host: Host, file: str = "page.html"):
    return host.run("report", "--html", file if file == "-" else str(host.folder / file))


def test_the_page_is_written_to_a_file_that_only_the_owner_of_the_file_may_read(host):
    host.reported(CALM)
    done = report(host)
    file = host.folder / "page.html"
    assert (done.code, done.stderr) == (0, "")
    assert done.stdout == f"wrote {file}, {file.stat().st_size} bytes\n"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert "<h1>Resources of compute-1</h1>" in page_of(host)


def test_findings_do_not_change_the_exit_code_of_the_report_command(host):
    host.reported(SCREEN)
    assert report(host).code == 0


def test_the_report_command_prints_only_the_html_page_if_the_path_is_a_dash(host):
    host.reported(CALM)
    done = report(host, "-")
    assert done.stdout.startswith("<!doctype html>")
    assert done.stdout.endswith("</html>\n")


def test_a_new_report_page_replaces_the_old_page_and_leaves_no_other_file(host):
    host.reported(CALM)
    (host.folder / "page.html").write_text("old")
    (host.folder / "page.html").chmod(0o644)
    before = {path.name for path in host.folder.iterdir()}
    report(host)
    assert {path.name for path in host.folder.iterdir()} == before
    assert stat.S_IMODE((host.folder / "page.html").stat().st_mode) == 0o600


def test_the_html_report_names_each_source_that_could_not_be_read(host):
    """The command then exits with 2."""
    host.reported(UNREAD)
    done = report(host)
    assert done.code == 2
    assert "placement" in done.stderr
    assert "placement was not read" in page_of(host)


def test_the_report_command_writes_a_page_even_if_every_data_source_failed(host):
    host.reported(dead())
    assert report(host).code == 2
    shown = [text for text in Elements(page_of(host)).texts if text.strip() == "?"]
    assert len(shown) >= 10


def test_the_report_command_shows_the_age_of_an_old_report_and_exits_2(host):
    host.reported(CALM, age_s=7200.0)
    assert report(host).code == 2
    assert "more than 3 intervals of 60 s" in page_of(host)


def test_the_report_command_exits_75_and_writes_no_file_if_no_report_exists(host):
    assert report(host).code == 75
    assert not (host.folder / "page.html").exists()


def test_the_report_command_exits_75_if_the_page_cannot_be_written(host):
    host.reported(CALM)
    done = report(host, "missing/page.html")
    assert done.code == 75
    assert "missing/page.html cannot be written: No such file or directory" in done.stderr


def test_the_report_page_shows_changes_from_the_journal_and_config_options(host):
    host.reported(CALM)
    journal = FileJournal(str(host.folder / "state"), now=lambda: "2999-01-01T00:00:00Z")
    entry = journal.begin(Change(kind="allocations", why="leaked", before={}, after={}, code="allocation-leaked"))
    journal.end(entry, Result.DONE, "removed 4 VCPU")
    report(host)
    assert f"stocktake undo {entry[:8]}" in page_of(host)
    assert "[lvm] volume_groups" in page_of(host)
