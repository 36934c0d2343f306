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


def test_only_its_owner_may_read_the_report_page(host):
    """`stocktake report --html FILE` writes an HTML page about the host, with file mode 0600."""
    host.reported(CALM)
    done = report(host)
    file = host.folder / "page.html"
    assert (done.code, done.stderr) == (0, "")
    assert done.stdout == f"wrote {file}, {file.stat().st_size} bytes\n"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert "<h1>Resources of compute-1</h1>" in page_of(host)


def test_report_exits_0_even_if_there_are_findings(host):
    """`stocktake report` exits with 0 if the page is written, also if the page shows findings."""
    host.reported(SCREEN)
    assert report(host).code == 0


def test_report_html_dash_prints_the_page(host):
    """`stocktake report --html -` prints the HTML page on stdout, and nothing else."""
    host.reported(CALM)
    done = report(host, "-")
    assert done.stdout.startswith("<!doctype html>")
    assert done.stdout.endswith("</html>\n")


def test_a_new_report_page_replaces_the_old_page(host):
    """`stocktake report --html FILE` replaces the old page with one of mode 0600 and leaves no temporary file."""
    host.reported(CALM)
    (host.folder / "page.html").write_text("old")
    (host.folder / "page.html").chmod(0o644)
    before = {path.name for path in host.folder.iterdir()}
    report(host)
    assert {path.name for path in host.folder.iterdir()} == before
    assert stat.S_IMODE((host.folder / "page.html").stat().st_mode) == 0o600


def test_the_report_page_shows_an_unread_source(host):
    """The page of `stocktake report` says "placement was not read", and the command exits with 2."""
    host.reported(UNREAD)
    done = report(host)
    assert done.code == 2
    assert "placement" in done.stderr
    assert "placement was not read" in page_of(host)


def test_report_writes_a_page_even_without_any_data(host):
    """If the daemon could read no data source, the page of `stocktake report` shows question marks."""
    host.reported(dead())
    assert report(host).code == 2
    shown = [text for text in Elements(page_of(host)).texts if text.strip() == "?"]
    assert len(shown) >= 10


def test_report_exits_2_if_the_saved_audit_is_too_old(host):
    """If the audit that the daemon saved is older than three intervals, `stocktake report` exits with 2."""
    host.reported(CALM, age_s=7200.0)
    assert report(host).code == 2
    assert "more than 3 intervals of 60 s" in page_of(host)


def test_report_exits_75_if_there_is_no_saved_audit(host):
    """If the daemon has saved no audit yet, `stocktake report` exits with 75 and writes no page."""
    assert report(host).code == 75
    assert not (host.folder / "page.html").exists()


def test_report_exits_75_if_its_html_file_cannot_be_written(host):
    host.reported(CALM)
    done = report(host, "missing/page.html")
    assert done.code == 75
    assert "missing/page.html cannot be written: No such file or directory" in done.stderr


def test_the_report_page_shows_past_changes_and_options(host):
    """The page of `stocktake report` has past changes with their `stocktake undo` commands, and the agent's options."""
    host.reported(CALM)
    journal = FileJournal(str(host.folder / "state"), now=lambda: "2999-01-01T00:00:00Z")
    entry = journal.begin(Change(kind="allocations", why="leaked", before={}, after={}, code="allocation-leaked"))
    journal.end(entry, Result.DONE, "removed 4 VCPU")
    report(host)
    assert f"stocktake undo {entry[:8]}" in page_of(host)
    assert "[lvm] volume_groups" in page_of(host)
