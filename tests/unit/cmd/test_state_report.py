"""The report for SIGUSR2: its sections, no secret, to stderr or to a file."""

import os
import re
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from agent.cmd.log_output.state_report import _processes, report_text, write_state_report
from agent.telemetry import events
from agent.telemetry.dump import Condition
from tests.rigs.configs import ALONE, load_ours
from tests.rigs.log_days import leak, report_of, seen
from tests.rigs.wait import until

SECRET = "kept-from-every-report-7f3a"
SECTIONS = (
    "Package", "Threads", "Processes", "Configuration", "Audit queue", "Last audit", "Sources", "Live findings",
    "Health", "Counters",
)  # fmt: skip
CONDITION = Condition(waiting=("interval",), report=report_of(seen(leak())), counters={"audits": 61})
NOW = "2026-11-22T03:15:07+00:00"


def loaded(tmp_path, text=""):
    return load_ours(tmp_path, ALONE + text)


def section(text, title):
    """Return the lines of one section of the report."""
    _, _, rest = text.partition(f"===={title: ^64}====\n")
    return rest.partition("\n" + "=" * 72 + "\n====")[0].splitlines()[1:]


def test_the_sigusr2_report_has_all_its_sections(tmp_path):
    """After the signal SIGUSR2 the agent reports its version, threads, options, last audit, findings and so on."""
    text = report_text(CONDITION, loaded(tmp_path), "1.2.3", NOW)
    assert [title for title in SECTIONS if section(text, title)] == list(SECTIONS)
    assert "version = 1.2.3" in "\n".join(section(text, "Package"))
    assert section(text, "Counters") == ["audits: 61"]


def test_the_sigusr2_report_contains_the_process_id(tmp_path):
    """After the signal SIGUSR2 the agent prints a report about itself, with its process id."""
    # A process of its own: a pytest worker can have a zombie child of another test, which psutil cannot read.
    code = (
        "import os, pathlib, sys; from tests.unit.cmd import test_state_report as t; print(os.getpid());"
        "print(t.report_text(t.CONDITION, t.loaded(pathlib.Path(sys.argv[1])), '1', t.NOW))"
    )
    command = [sys.executable, "-c", code, str(tmp_path)]
    root = Path(__file__).parents[3]
    ran = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True, timeout=60)
    pid, _, text = ran.stdout.partition("\n")
    assert f"Process {pid} " in "\n".join(section(text, "Processes"))


def test_the_sigusr2_report_has_one_line_per_stack_frame(tmp_path):
    """After the signal SIGUSR2 the agent prints the call stack of each of its threads."""
    stop = threading.Event()
    thread = threading.Thread(target=stop.wait, name="the-waiting-one")
    thread.start()
    try:
        lines = section(report_text(CONDITION, loaded(tmp_path), "1", NOW), "Threads")
    finally:
        stop.set()
        thread.join()
    assert "thread the-waiting-one" in lines
    assert [line for line in lines if not re.match(r"thread |  .+:\d+ in .+: ", line)] == []


def test_the_sigusr2_report_masks_passwords(tmp_path):
    """The report that the agent prints after SIGUSR2 has its configuration with *** in place of passwords."""
    text = (
        f"[DEFAULT]\ntransport_url = rabbit://nova:{SECRET}@broker/\n"
        f"[state]\nconnection = mysql+pymysql://nova:{SECRET}@db/nova\n"
    )
    conf = ALONE.replace("http://127.0.0.1:8778", f"http://u:{SECRET}@placement/")
    report = report_text(CONDITION, load_ours(tmp_path, conf + text), "1", NOW)
    assert SECRET not in report
    assert re.search(r"transport_url = \*\*\*", report)
    assert "http://***@placement/" in report


def test_the_log_mentions_a_sigusr2_report(tmp_path, capfd, caplog):
    """After the signal SIGUSR2, the agent prints a report about itself on stderr.

    The agent also logs one line about this report.
    """
    with caplog.at_level("INFO"):
        write_state_report(CONDITION, loaded(tmp_path), "1")
    assert "Live findings" in capfd.readouterr().err
    (record,) = [record for record in caplog.records if record.msg == events.STATE_DUMP]
    assert (record.levelname, record.waiting, hasattr(record, "file")) == ("INFO", ("interval",), False)


def test_the_sigusr2_report_for_journald_has_priority_info(tmp_path):
    """If systemd's journal reads stderr, each line of the report after SIGUSR2 begins with the priority <6>."""
    with (tmp_path / "stderr").open("w+") as stream, pytest.MonkeyPatch.context() as changed:
        found = os.fstat(stream.fileno())
        changed.setattr(sys, "stderr", stream)
        changed.setenv("JOURNAL_STREAM", f"{found.st_dev}:{found.st_ino}")
        write_state_report(CONDITION, loaded(tmp_path), "1")
    lines = (tmp_path / "stderr").read_text().splitlines()
    assert len(lines) > 50
    assert all(line.startswith("<6>") for line in lines)


def test_the_sigusr2_report_goes_to_the_configured_folder(tmp_path, capfd, caplog):
    """With [oslo_reports] log_dir the agent writes its report to a new file there, and prints nothing on stderr."""
    (tmp_path / "reports").mkdir()
    with caplog.at_level("INFO"):
        write_state_report(CONDITION, loaded(tmp_path, f"[oslo_reports]\nlog_dir = {tmp_path}/reports\n"), "1")
    (path,) = (tmp_path / "reports").iterdir()
    assert re.fullmatch(r"stocktake-agent_gurumeditation_\d{14}", path.name)
    assert section(path.read_text(), "Audit queue") == ["interval"]
    assert stat.S_IMODE(path.stat().st_mode) & 0o137 == 0
    assert capfd.readouterr().err == ""
    assert [r.file for r in caplog.records if r.msg == events.STATE_DUMP] == [str(path)]


def test_the_report_goes_to_stderr_if_log_dir_does_not_exist(tmp_path, capfd, caplog):
    """On SIGUSR2, the agent prints the report to stderr if the folder [oslo_reports] log_dir does not exist."""
    with caplog.at_level("INFO"):
        write_state_report(CONDITION, loaded(tmp_path, f"[oslo_reports]\nlog_dir = {tmp_path}/absent\n"), "1")
    assert "Live findings" in capfd.readouterr().err
    (record,) = [record for record in caplog.records if record.msg == events.STATE_DUMP]
    assert record.error == f"{tmp_path}/absent: No such file or directory"


def test_a_zombie_process_does_not_prevent_the_sigusr2_report():
    """psutil fails on a zombie child process; the agent's report then says that the processes cannot be read."""
    child = subprocess.Popen(["true"])
    until(lambda: "Z" in Path(f"/proc/{child.pid}/stat").read_text().rpartition(")")[2].split()[0], 30, "a zombie")
    try:
        assert "the processes cannot be read now: " in str(_processes())
    finally:
        child.wait()
