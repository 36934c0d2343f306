"""Logging as the daemon and the commands set it up, with real handlers; each test restores the root logger."""

import io
import json
import logging as stdlib
import re
import threading
import warnings

import pytest
from keystoneauth1 import exceptions as kx
from keystoneauth1 import session
from keystoneauth1.identity import generic
from oslo_log import log as logging

from agent.cmd.logs import LIBRARIES, audit_context, setup_command_logging, setup_logging
from agent.errors import ConfigError
from agent.telemetry import events
from agent.telemetry.event_log import Line, emit, log_bug, log_event
from tests.rigs.configs import ALONE, load_ours
from tests.rigs.logs import logging_as_it_was

LOG = logging.getLogger("agent.test_logs")
UUID = "95a20332-20e6-52bf-aeae-06fd5924e001"
FINAL_WORDS = (
    "node", "phys_ram", "used_ram", "phys_disk", "used_disk", "total_vcpus", "used_vcpus", "pci_stats",
)  # fmt: skip


@pytest.fixture(autouse=True)
def root_logger():
    with logging_as_it_was() as root:
        yield root


def configured(tmp_path, text=""):
    return load_ours(tmp_path, f"{ALONE}[DEFAULT]\nlog_file = {tmp_path}/log\n{text}")


def lines(tmp_path):
    return (tmp_path / "log").read_text().splitlines()


def test_a_text_log_line_ends_with_fields_and_the_audit_id(tmp_path):
    """A log line ends with its fields, such as "writes=2", and with the id of the audit that wrote it."""
    setup_logging(configured(tmp_path))
    with audit_context("0b5f"):
        LOG.info("placement written", extra={"writes": 2, "what": ("a b", "c"), "times": [], "why": None})
    (line,) = lines(tmp_path)
    assert line.endswith('[-] placement written times=- what="a b",c writes=2 audit=0b5f')
    assert re.match(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} \d+ INFO agent\.test_logs ", line)


def test_a_json_log_line_has_fields_and_the_audit_id(tmp_path):
    """With `use_json = true` the fields of a log line and the audit's id are in the JSON object `extra`."""
    setup_logging(configured(tmp_path, "use_json = true\n"))
    with audit_context("0b5f"):
        LOG.info("placement written", extra={"writes": 2})
        stdlib.getLogger("some.library").warning("slow")
    mine, theirs = map(json.loads, lines(tmp_path))
    assert (mine["message"], mine["levelname"]) == ("placement written", "INFO")
    assert mine["extra"] == {"writes": 2, "audit_id": "0b5f"}
    assert theirs["extra"] == {"audit_id": "0b5f"}


class Endless:
    """An object like importlib's EntryPoint: each of its items is the object itself, or begins with it."""

    def __iter__(self):
        return iter((self,))

    def __str__(self):
        return "without end"


def test_a_self_referencing_object_is_logged_as_text(tmp_path):
    """A library logs an object that contains itself; the JSON log line has the object's text."""
    setup_logging(configured(tmp_path, "use_json = true\ndefault_log_levels = stevedore=DEBUG\ndebug = true\n"))
    stdlib.getLogger("stevedore").debug("found extension %s", Endless())
    (line,) = map(json.loads, lines(tmp_path))
    assert line["message"] == "found extension without end"


def test_a_json_log_line_of_the_agent_has_an_event_name(tmp_path):
    """A log line of the agent has a field `event`, such as "final-resource-view"; a line of a library has none."""
    setup_logging(configured(tmp_path, "use_json = true\n"))
    log_event(events.RELOAD_REFUSED, error="e")
    emit((Line(event=events.FINAL_VIEW, fields={}, words=dict.fromkeys(FINAL_WORDS, 1)),))
    stdlib.getLogger("some.library").warning("slow")
    refused, view, library = map(json.loads, lines(tmp_path))
    assert (refused["event"], refused["name"]) == ("reload-refused-old-configuration-kept", "stocktake.config")
    assert (refused["levelname"], refused["levelno"]) == ("ERROR", stdlib.ERROR)
    assert view["event"] == "final-resource-view"
    assert "event" not in library


def test_a_value_in_a_json_log_line_has_at_most_4_kib(tmp_path):
    """The agent cuts a value above 4 KiB: a long text ends with "...", a long list with "and 61 more"."""
    setup_logging(configured(tmp_path, "use_json = true\n"))
    log_event(events.STATE_DIR_UNUSABLE, error="\u00e9" * 5000, many=["x" * 100] * 100, few=("a", "b"), number=7)
    extra = json.loads(lines(tmp_path)[0])["extra"]
    assert (extra["few"], extra["number"]) == (["a", "b"], 7)
    assert 4000 < len(extra["error"].encode()) <= 4096
    assert extra["error"].endswith("...")
    assert extra["many"][-1] == "and 61 more"
    assert len("".join(extra["many"])) <= 4096


def test_a_text_log_line_has_at_most_1000_bytes(tmp_path):
    """The agent shortens a long error text in the line, even if the configured format has a long prefix."""
    setup_logging(configured(tmp_path, f"logging_default_format_string = %(levelname)s {'p' * 300} %(message)s\n"))
    try:
        float("of the caller" * 100)
    except ValueError:
        log_event(events.STATE_DIR_UNUSABLE, error="word " * 500, consumer_uuid=UUID)
    (line,) = lines(tmp_path)
    assert len(line.encode()) <= 1000
    assert line.endswith(f" consumer_uuid={UUID}")


def test_a_crash_is_logged_with_error_and_traceback(tmp_path):
    """The agent logs a crash with the error in the first line and the traceback below."""
    setup_logging(configured(tmp_path))
    try:
        _ = 1 / 0
    except ZeroDivisionError as error:
        log_bug(events.AUDIT_CRASHED, error, where="audit")
    first, *others = lines(tmp_path)
    assert first.endswith(
        'ERROR stocktake.audit [-] audit crashed error="ZeroDivisionError: division by zero" where=audit'
    )
    assert any("Traceback" in line for line in others)


@pytest.mark.parametrize("use_json", ["true", "false"])
def test_passwords_in_an_exception_text_are_not_logged(tmp_path, use_json):
    """The text of an exception contains a database URL with a password.

    The agent logs the exception with *** instead of the user and the password.
    """
    setup_logging(configured(tmp_path, f"use_json = {use_json}\n"))
    error = RuntimeError("cannot connect to mysql+pymysql://nova:hunter2@cell-db/nova")
    log_bug(events.AUDIT_CRASHED, error, where="audit")
    text = (tmp_path / "log").read_text()
    assert "hunter2" not in text
    assert text.count("//***@cell-db/nova") >= 2


def connect():
    raise OSError("no answer from http://joe:hunter2@keystone:5000/v3")


@pytest.mark.parametrize("use_json", ["true", "false"])
def test_passwords_in_a_url_from_a_library_are_masked(tmp_path, use_json):
    """A library logs http://joe:hunter2@keystone:5000; the log shows http://***@keystone:5000."""
    setup_logging(configured(tmp_path, f"debug = true\nuse_json = {use_json}\n"))
    library = stdlib.getLogger("keystoneauth.identity")
    try:
        connect()
    except OSError:
        library.warning("request to %s", "http://joe:hunter2@keystone:5000/v3")
    (line,) = [line for line in lines(tmp_path) if "request to" in line]
    assert "http://***@keystone:5000/v3" in line
    assert "hunter2" not in line


def test_the_final_resource_view_log_line_is_limited(tmp_path):
    """The log line "Final resource view" has at most 1000 bytes, even on a host with many PCI devices."""
    setup_logging(configured(tmp_path))
    words = dict.fromkeys(FINAL_WORDS, 1) | {"pci_stats": ", ".join(f"8086:15{n:02} x2 on 0000:81" for n in range(99))}
    emit((Line(event=events.FINAL_VIEW, fields={"audit_id": UUID}, words=words),))
    (line,) = lines(tmp_path)
    assert len(line.encode()) <= 1000
    assert line.endswith(f" audit={UUID}")


def test_a_log_line_outside_an_audit_shows_a_given_audit_id(tmp_path):
    """Outside an audit, a log line shows an audit id only if the code that logs the line gives the id."""
    setup_logging(configured(tmp_path))
    LOG.info("agent started")
    LOG.info("audit done", extra={"audit_id": "ffff"})
    first, second = lines(tmp_path)
    assert first.endswith("[-] agent started")
    assert second.endswith("[-] audit done audit=ffff")


def test_log_lines_outside_the_audit_have_no_audit_id(tmp_path):
    """A log line has no audit id if another thread logs the line or if the audit has ended."""
    setup_logging(configured(tmp_path))
    with audit_context("0b5f"):
        other = threading.Thread(target=LOG.info, args=("from a reader",))
        other.start()
        other.join()
    LOG.info("after")
    assert all("audit=" not in line for line in lines(tmp_path))


def test_quotes_and_line_breaks_in_log_fields_are_escaped(tmp_path):
    """A field with quotes and a line break stays on one log line, and a percent sign in it is printed as it is."""
    setup_logging(configured(tmp_path))
    LOG.info("name=%(node)s used=%(used)sMB", {"node": "n%d", "used": 3}, extra={"error": '100%s of "it"\nnext'})
    (line,) = lines(tmp_path)
    assert line.endswith('name=n%d used=3MB error="100%s of \\"it\\"\\nnext"')


# C1 and C0 control, DEL, line and paragraph separators, a bidirectional override, a tag, a lone surrogate.
NASTY = "\x1b]0;x\x07\x7f\x9b2J\u2028\u2029\u202e\U000e0041\ud800\x85\r"


@pytest.mark.parametrize("use_json", ["true", "false"])
def test_control_characters_are_escaped_in_the_log(tmp_path, capsys, use_json):
    """A message or exception with control characters cannot clear a terminal or fake another log line."""
    setup_logging(configured(tmp_path, f"use_json = {use_json}\nuse_stderr = true\n"))
    with audit_context(f"0b5f{NASTY}"):
        LOG.warning("finding %s", f"of {NASTY}", extra={"subject": NASTY, "names": [NASTY], "bare": f"a{NASTY}"})
        stdlib.getLogger("a.library").warning(
            f"it says {NASTY}\n2026-11-21 10:00:00.000 1 INFO agent [-] agent stopped"
        )
        LOG.error("failed", exc_info=ValueError(f"of {NASTY}"))
    text = (tmp_path / "log").read_bytes().decode("utf-8")
    for shown in (text, capsys.readouterr().err):
        assert len(shown.splitlines()) >= 3
        assert "".join(shown.split("\n")).isprintable()
        assert not any(line.endswith("] agent stopped") and "it says" not in line for line in shown.splitlines())
    assert "\\ud800" in text
    assert "\\u202e" in text


def test_a_json_log_line_decodes_to_the_logged_text(tmp_path):
    """A program that decodes the JSON log line gets exactly the text that was logged, with its control characters."""
    setup_logging(configured(tmp_path, "use_json = true\n"))
    LOG.info("finding appeared", extra={"subject": NASTY})
    (line,) = lines(tmp_path)
    assert json.loads(line)["extra"]["subject"] == NASTY


def test_control_characters_in_an_exception_are_escaped(tmp_path, root_logger):
    """The agent's log formatter escapes control characters in the text of an exception."""
    setup_logging(configured(tmp_path))
    (formatter,) = {handler.formatter for handler in root_logger.handlers}
    told = formatter.formatException((ValueError, ValueError(NASTY), None))
    assert "".join(told.split("\n")).isprintable()


def test_the_log_file_and_stderr_get_the_same_line(tmp_path, root_logger):
    """With `use_stderr = true`, the log file and stderr get the same line.

    Each field of the line, such as audit=, appears once.
    """
    setup_logging(configured(tmp_path, "use_stderr = true\n"))
    second = io.StringIO()
    (stream,) = (h for h in root_logger.handlers if type(h) is stdlib.StreamHandler)
    stream.setStream(second)
    with audit_context("0b5f"):
        LOG.info("audit done", extra={"writes": 0})
    assert second.getvalue().splitlines() == lines(tmp_path)
    assert lines(tmp_path)[0].count("audit=0b5f") == lines(tmp_path)[0].count("writes=0") == 1


def test_a_reload_opens_a_new_log_file_after_a_rotation(tmp_path, root_logger):
    """After a log rotation and a reload, the agent writes to a new log file, with the new log level."""
    setup_logging(configured(tmp_path))
    LOG.debug("unseen")
    first = list(root_logger.handlers)
    (tmp_path / "log").rename(tmp_path / "log.1")
    setup_logging(configured(tmp_path, "debug = true\n"))
    LOG.debug("seen")
    assert [" seen" in line for line in lines(tmp_path)] == [True]
    assert not set(first) & set(root_logger.handlers)
    assert all(handler.stream is None or handler.stream.closed for handler in first)


def test_debug_mode_logs_no_debug_messages_of_libraries(tmp_path):
    """Even with `debug = true` the log has no debug lines of libraries, because such a line can contain a token."""
    setup_logging(configured(tmp_path, "debug = true\n"))
    stdlib.getLogger("keystoneauth.session").debug("X-Auth-Token: hunter2")
    stdlib.getLogger("urllib3.connectionpool").debug("GET")
    assert lines(tmp_path) == []


@pytest.mark.parametrize("name", [*LIBRARIES, "urllib3.connectionpool", "oslo.messaging._drivers.impl_rabbit"])
@pytest.mark.parametrize(
    ("text", "levels"),
    [
        ("", ["CRITICAL"]),
        ("debug = true\n", ["WARNING", "ERROR", "CRITICAL"]),
        ("default_log_levels = NAME=ERROR\n", ["ERROR", "CRITICAL"]),
    ],
)
def test_libraries_log_only_critical_messages_by_default(tmp_path, name, text, levels):
    """Libraries log only critical messages, unless the option debug or default_log_levels allows more."""
    setup_logging(configured(tmp_path, text.replace("NAME", name)))
    for level in ("WARNING", "ERROR", "CRITICAL"):
        stdlib.getLogger(name).log(getattr(stdlib, level), "says")
    assert [line.split()[3] for line in lines(tmp_path)] == levels


def test_a_reload_without_debug_silences_the_libraries(tmp_path):
    """The operator turns `debug` off and reloads the agent, and errors of libraries are no longer logged."""
    for text in ("debug = true\n", ""):
        setup_logging(configured(tmp_path, text))
        stdlib.getLogger("kombu.connection").error("says")
    assert len(lines(tmp_path)) == 1


def test_a_python_warning_is_logged_only_with_debug(tmp_path, capfd):
    for text in ("", "debug = true\n"):
        setup_logging(configured(tmp_path, text))
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            stdlib.captureWarnings(True)
            warnings.warn(f"careful {text}", stacklevel=1)
            stdlib.captureWarnings(False)
    assert ["careful debug" in line for line in lines(tmp_path) if "careful" in line] == [True]
    assert "careful" not in capfd.readouterr().err


@pytest.mark.parametrize(("text", "warnings"), [("", 0), ("debug = true\n", 2)])
def test_a_keystone_discovery_warning_is_logged_only_with_debug(tmp_path, text, warnings):
    """If Keystone does not answer, keystoneauth warns at each login.

    The log has this warning only with `debug = true`.
    """
    setup_logging(configured(tmp_path, text))
    login = generic.Password("http://127.0.0.1:1", username="nova", password="hunter2", user_domain_name="Default")
    for _ in range(2):
        with pytest.raises(kx.DiscoveryFailure):
            login.get_token(session.Session())
    assert sum("Failed to discover" in line for line in lines(tmp_path)) == warnings


def test_log_lines_go_to_stderr_if_no_log_file_is_configured(tmp_path, capsys):
    setup_logging(load_ours(tmp_path, ALONE))
    LOG.info("agent started")
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "agent started" in captured.err


def test_a_command_logs_only_warnings_and_errors(tmp_path, capsys):
    """A command logs to stderr and not to the daemon's log file, and leaves out messages of level INFO."""
    setup_command_logging(configured(tmp_path))
    LOG.info("audit done")
    LOG.warning("careful")
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "careful" in captured.err
    assert "audit done" not in captured.err
    assert not (tmp_path / "log").exists()


def test_a_command_prints_debug_messages_if_debug_is_true(tmp_path, capsys):
    setup_command_logging(configured(tmp_path, "debug = true\n"))
    LOG.debug("detail")
    assert "detail" in capsys.readouterr().err


@pytest.mark.parametrize(
    "text",
    [
        "log_file = /nowhere/at/all\n",
        "log_file = DIR/other\ndefault_log_levels = agent=LOUD\n",
        "log_config_append = /nowhere/logging.conf\n",
    ],
)
def test_an_invalid_logging_option_keeps_the_old_logging(tmp_path, root_logger, text):
    """A reload with an invalid logging option fails, and the agent still logs as it did before."""
    setup_logging(configured(tmp_path))
    before = list(root_logger.handlers)
    bad = load_ours(tmp_path, f"{ALONE}[DEFAULT]\n{text.replace('DIR', str(tmp_path))}")
    with pytest.raises(ConfigError, match="logging cannot be set up as configured"):
        setup_logging(bad)
    assert root_logger.handlers == before
    LOG.info("still here")
    assert lines(tmp_path)[-1].endswith("still here")


def test_logging_can_be_configured_by_a_separate_file(tmp_path, root_logger):
    """The option log_config_append points to a file with loggers and handlers, as in other OpenStack services."""
    (tmp_path / "logging.conf").write_text(
        "[loggers]\nkeys=root\n[handlers]\nkeys=file\n[formatters]\nkeys=context\n"
        "[logger_root]\nlevel=INFO\nhandlers=file\n"
        f"[handler_file]\nclass=FileHandler\nargs=('{tmp_path}/log',)\nformatter=context\n"
        "[formatter_context]\nclass=oslo_log.formatters.ContextFormatter\n"
    )
    setup_logging(load_ours(tmp_path, f"{ALONE}[DEFAULT]\nlog_config_append = {tmp_path}/logging.conf\n"))
    with audit_context("0b5f"):
        LOG.info("audit done", extra={"writes": 0})
    assert lines(tmp_path)[0].endswith("audit done writes=0 audit=0b5f")
