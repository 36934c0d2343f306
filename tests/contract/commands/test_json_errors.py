"""Each command that fails prints one JSON object with -f json, whose exit code is that of the process."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.cmd.registry import COMMANDS
from tests.rigs.commands import stocktake, stocktake_here

# Every server of this host is away.
AWAY = """\
[agent]
nova_conf =
state_dir = {folder}/state
run_dir = {folder}/run
confirm_spacing = 0
[libvirt]
connection_uri = test:///nowhere/node.xml
[state]
source = sql
connection = sqlite:////nowhere/cell.sqlite
[placement]
auth_type = admin_token
token = s3cret
endpoint_override = http://127.0.0.1:1
"""
PLAN = ("--plan", "0123456789ab", "--yes")
# The exit code of each command while nothing answers, and the kind of its error.
DEAD = {
    ("adopt",): (2, "unavailable"),
    ("adopt", *PLAN): (2, "unavailable"),
    ("audit",): (75, "unavailable"),
    ("audit", "--publish"): (75, "unavailable"),
    ("explain", "VCPU"): (75, "unavailable"),
    ("findings",): (75, "unavailable"),
    ("heal",): (75, "unavailable"),
    ("heal", *PLAN): (75, "unavailable"),
    ("inventory",): (75, "unavailable"),
    ("journal",): (75, "unavailable"),
    ("ledger",): (75, "unavailable"),
    ("ledger", "--storage"): (75, "unavailable"),
    ("status",): (75, "unavailable"),
    ("traits",): (75, "unavailable"),
    ("undo", "3f9c"): (75, "unavailable"),
    ("watch", "--once"): (78, "configuration"),
    ("why", "--resource", "VCPU=1"): (75, "unavailable"),
}
# These commands have no -f, or cannot fail in this way.
WITHOUT = {"complete", "help", "demo", "report", "health"}
NAMES = sorted({entry.name for entry in COMMANDS} - WITHOUT)


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("away")
    (folder / "state").mkdir()
    (folder / "state" / "journal.jsonl").mkdir()
    path = folder / "stocktake.conf"
    path.write_text(AWAY.format(folder=folder))
    return path


def error_of(ended, code, kind):
    """Return the error of the only JSON object on stdout, whose message stderr has too."""
    document = ended.document
    assert (ended.code, document["exit_code"], document["schema_version"]) == (code, code, 1), ended.stderr
    assert set(document) == {"schema_version", "error", "exit_code"}
    error = document["error"]
    assert (set(error), error["kind"]) == ({"kind", "message", "problems"}, kind)
    assert error["message"] in ended.stderr or all(problem in ended.stderr for problem in error["problems"])
    return error


@pytest.mark.parametrize(("command", "ends"), DEAD.items(), ids=lambda value: " ".join(map(str, value)))
def test_a_command_that_fails_prints_a_json_error_object(config, command, ends):
    """With -f json, a command whose sources are all down prints an object with the message and the exit code."""
    error = error_of(stocktake_here("--config-file", config, *command, "-f", "json"), *ends)
    assert "Traceback" not in error["message"]


def test_json_error_tests_run_all_commands_except_config():
    """The tests run every command that can print a JSON error, except `config check` and `config show`."""
    assert set(NAMES) - {"config check", "config show"} <= {command[0] for command in DEAD}


@pytest.mark.parametrize("name", NAMES)
def test_a_wrong_command_line_prints_a_json_error_object(config, name):
    """With -f json, a command with an unknown option exits with 127, and its error object has the kind "arguments"."""
    ended = stocktake_here("--config-file", config, *name.split(), "--nonsense", "-f", "json")
    error_of(ended, 127, "arguments")


@pytest.mark.parametrize("name", sorted({command[0] for command in DEAD} | {"config show"}))
def test_a_missing_config_file_gives_a_json_error_object(tmp_path, name):
    """The configuration file is missing: with -f json, a command prints the file's path in an error object."""
    more = {"explain": ["VCPU"], "undo": ["3f9c"], "why": ["--resource", "VCPU=1"]}.get(name, [])
    ended = stocktake_here("--config-file", tmp_path / "none.conf", *name.split(), *more, "-f", "json")
    assert error_of(ended, 78, "configuration")["message"] == f"{tmp_path}/none.conf: there is no such file"


def test_a_failing_command_prints_only_json_to_stdout(config):
    """`stocktake ledger -f json` fails, and stdout contains nothing except the JSON error object."""
    error_of(stocktake("--config-file", config, "ledger", "-f", "json"), 75, "unavailable")
