"""Every way that a command can end, as an exit code and as lines on stderr."""

import pytest

from agent.cmd.exit_handling import ended
from agent.errors import (
    ConfigError,
    LockHeld,
    PlacementDenied,
    PlacementRejected,
    SourceInconsistent,
    SourceUnavailable,
)
from agent.usage_error import UsageError


def run(error):
    def raising():
        raise error

    return raising


@pytest.mark.parametrize(
    ("error", "code", "line"),
    [
        (UsageError("unknown command x"), 127, "stocktake: unknown command x"),
        (ConfigError("a.conf: [x] y = 1: no"), 78, "stocktake: a.conf: [x] y = 1: no"),
        (SourceUnavailable("report", "there is none"), 75, "stocktake: report: there is none"),
        (SourceInconsistent("report", "garbage"), 75, "stocktake: report: garbage"),
        (PlacementDenied("who are you", status=401), 75, "stocktake: placement: who are you (HTTP 401)"),
        (LockHeld("/run/lock", "is held by pid 7 (x)"), 75, "stocktake: /run/lock is held by pid 7 (x)"),
        (PlacementRejected("malformed", status=400), 1, "stocktake: placement: malformed (HTTP 400)"),
        (SystemExit(2), 127, ""),
        (SystemExit(0), 0, ""),
        (SystemExit(None), 0, ""),
        (KeyboardInterrupt(), 130, ""),
    ],
)
def test_each_kind_of_error_has_its_exit_code_and_message(error, code, line, capsys):
    """For example, a configuration error exits with 78 and prints one line on stderr that begins with "stocktake:"."""
    assert ended(run(error)) == code
    out, err = capsys.readouterr()
    assert (out, err.strip()) == ("", line)


def test_a_config_error_prints_a_line_for_each_problem(capsys):
    assert ended(run(ConfigError("one", "two"))) == 78
    assert capsys.readouterr().err.splitlines() == ["stocktake: one", "stocktake: two"]


def test_a_bug_prints_a_traceback_only_with_debug(capsys):
    """After an unexpected exception the command exits with 1 and prints "this is a bug" on one line."""
    assert ended(run(KeyError("x"))) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("stocktake: this is a bug: KeyError: 'x' (at test_exit_handling.py:")
    assert ended(run(KeyError("x")), ["audit", "--debug"]) == 1
    assert "Traceback" in capsys.readouterr().err


def test_the_exit_code_of_a_command_is_returned_unchanged():
    assert [ended(lambda code=code: code) for code in (0, 2, 3, 5, 75)] == [0, 2, 3, 5, 75]
