"""Every failure as an error object on stdout, when the command line asks for JSON."""

import json

import pytest

from agent.cmd.command_line.failures import FailureKind, NoDocument
from agent.cmd.exit_handling import ended, wants_json
from agent.errors import ConfigError, LockHeld, PlacementRejected, SourceUnavailable
from agent.usage_error import UsageError


def run(error):
    def raising():
        raise error

    return raising


@pytest.mark.parametrize(
    ("error", "kind", "code"),
    [
        (UsageError("unknown command x"), "arguments", 127),
        (ConfigError("a.conf: [x] y = 1: no"), "configuration", 78),
        (SourceUnavailable("report", "there is none"), "unavailable", 75),
        (LockHeld("/run/lock", "is held by pid 7 (x)"), "unavailable", 75),
        (NoDocument(FailureKind.PERMISSION, "not root", 5), "permission", 5),
        (NoDocument(FailureKind.REFUSED, "no", 5), "refused", 5),
        (KeyboardInterrupt(), "interrupted", 130),
        (PlacementRejected("malformed", status=400), "bug", 1),
        (KeyError("x"), "bug", 1),
    ],
)
def test_with_json_output_a_failure_is_a_json_object(error, kind, code, capsys):
    """With `-f json` a failing command prints one JSON object with the error's kind, message and exit code."""
    assert ended(run(error), ["audit", "-f", "json"]) == code
    out, err = capsys.readouterr()
    document = json.loads(out)
    assert (document["schema_version"], document["exit_code"]) == (1, code)
    assert document["error"]["kind"] == kind
    assert err == f"stocktake: {document['error']['message']}\n"


def test_a_failure_prints_each_problem_on_its_own_line(capsys):
    """Each problem is one line on stderr, and with `-f json` also one item of the list `problems`."""
    ended(run(ConfigError("one", "two")), ["audit", "-f", "json"])
    out, err = capsys.readouterr()
    assert json.loads(out)["error"]["problems"] == ["one", "two"]
    assert err.splitlines() == ["stocktake: one", "stocktake: two"]
    partial = NoDocument(
        FailureKind.UNAVAILABLE, "not enough sources could be read; unread: placement", 75, ("placement: refused",)
    )
    ended(run(partial), ["audit", "-f", "json"])
    out, err = capsys.readouterr()
    assert json.loads(out)["error"]["problems"] == ["placement: refused"]
    assert err.splitlines() == [
        "stocktake: placement: refused",
        "stocktake: not enough sources could be read; unread: placement",
    ]


@pytest.mark.parametrize("words", [["audit"], ["audit", "-f", "text"], ["ledger", "-f", "csv"], ["explain", "json"]])
def test_a_failing_command_prints_nothing_on_stdout(words, capsys):
    """Without `-f json` an error message goes to stderr, and stdout stays empty."""
    assert ended(run(UsageError("no")), words) == 127
    assert capsys.readouterr() == ("", "stocktake: no\n")


@pytest.mark.parametrize(
    "words",
    [
        ["-f", "json"],
        ["-fjson"],
        ["-f=json"],
        ["--format", "json"],
        ["--format=json"],
        ["--form=json"],
        ["--fo", "json"],
    ],
)
def test_each_spelling_of_the_format_option_selects_json(words):
    """`-f json`, `-fjson`, `--format=json` and `--fo json` all select JSON output, also for error messages."""
    assert wants_json(["ledger", *words, "--nonsense"])


@pytest.mark.parametrize("words", [["--fit-width", "json"], ["--finding", "json"], ["--f", "json"], ["json"], []])
def test_json_after_another_option_does_not_select_json(words):
    """The word `json` after `--fit-width` or `--finding`, or without any option, does not select JSON output."""
    assert not wants_json(["ledger", *words])
