"""Each line on stderr has its priority if systemd's journal reads stderr, and only then."""

import logging as stdlib
import os
import re
import sys

import pytest

from agent.cmd.log_output import journald
from agent.cmd.logs import setup_command_logging, setup_logging
from agent.telemetry import events
from agent.telemetry.event_log import log_bug, log_event
from tests.rigs.configs import ALONE, load_ours
from tests.rigs.logs import logging_as_it_was


@pytest.fixture(autouse=True)
def root_logger():
    with logging_as_it_was() as root:
        yield root


@pytest.fixture
def stderr(tmp_path):
    with (tmp_path / "stderr").open("w+") as stream:
        yield stream


def logged(stderr, tmp_path, text="", setup=setup_logging, journal=None):
    """Return the lines on stderr; ``journal`` is what systemd's variable names, by default that stderr."""
    found = os.fstat(stderr.fileno())
    with pytest.MonkeyPatch.context() as changed:
        changed.setattr(sys, "stderr", stderr)
        changed.setenv("JOURNAL_STREAM", f"{found.st_dev}:{found.st_ino}" if journal is None else journal)
        setup(load_ours(tmp_path, f"{ALONE}[DEFAULT]\n{text}"))
        log_event(events.STARTED)
        log_event(events.STATE_DIR_UNUSABLE, error="no such folder")
        log_bug(events.AUDIT_CRASHED, ZeroDivisionError("a bug\nin two lines"))
        stdlib.getLogger("a.library").critical("broken")
        stdlib.getLogger("agent.detail").debug("seen")
        assert (journald.prefix(stdlib.ERROR) == "<3>") == (journal is None)
    stderr.flush()
    return (tmp_path / "stderr").read_text().splitlines()


@pytest.mark.parametrize("form", ["", "use_json = true\n", "log_color = true\n"])
def test_a_log_line_for_journald_begins_with_its_priority(stderr, tmp_path, form):
    """If systemd's journal reads stderr, an error line begins with <3>, a warning with <4>, and so on."""
    shown = logged(stderr, tmp_path, f"debug = true\n{form}")
    assert all(re.match("<[2-7]>", line) for line in shown)
    events_of = {
        "agent started": "<6>",
        "state directory": "<4>",
        "audit crashed": "<3>",
        "broken": "<2>",
        "seen": "<7>",
    }
    for text, prefix in events_of.items():
        assert {line[:3] for line in shown if text in line} == {prefix}


def test_each_traceback_line_for_journald_has_a_priority(stderr, tmp_path):
    """The journal of systemd stores each line separately, so each line of a traceback begins with <3> for an error."""
    shown = logged(stderr, tmp_path)
    assert len([line for line in shown if line.startswith("<3>")]) >= 3


@pytest.mark.parametrize("value", ["", "1:1", "not a stream"])
def test_only_log_lines_for_journald_begin_with_a_priority(stderr, tmp_path, value):
    """If another program or a terminal reads stderr, no log line begins with a priority such as <3>."""
    shown = logged(stderr, tmp_path, journal=value)
    assert shown
    assert not [line for line in shown if line.startswith("<")]


def test_a_missing_stderr_is_not_mistaken_for_journald(monkeypatch):
    """A process without stderr does not believe that systemd's journal reads its log."""
    with monkeypatch.context() as changed:
        changed.setattr(sys, "stderr", None)
        assert not journald.is_read_by_journald()


def test_lines_in_a_log_file_have_no_priority_prefix(stderr, tmp_path):
    """A priority such as <3> at the beginning of a line is meant for systemd's journal, not for a log file."""
    shown = logged(stderr, tmp_path, f"log_file = {tmp_path}/log\nuse_stderr = true\n")
    assert shown
    assert not [line for line in (tmp_path / "log").read_text().splitlines() if line.startswith("<")]


def test_log_lines_of_a_command_have_a_priority_for_journald(stderr, tmp_path):
    """If systemd's journal reads a command's stderr, its log lines begin with a priority, such as <3> for an error."""
    shown = logged(stderr, tmp_path, setup=setup_command_logging)
    assert shown
    assert all(re.match("<[234]>", line) for line in shown)
