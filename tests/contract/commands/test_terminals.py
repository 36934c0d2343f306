"""The commands on a terminal: width, colours, hostile names; in a pipe; and with a stdout that is not UTF-8."""

import re
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from agent.host_files.reports import write_report
from tests.rigs.commands import SmallHost, small_host, stocktake
from tests.rigs.configs import ALONE
from tests.rigs.placement import running
from tests.rigs.programs import COMMAND, installed
from tests.rigs.screens import SCREEN
from tests.rigs.terminals import screen_of, typed

TO_COPY = ("  fix: ", " hand: ", "inspect: ", " docs: ")
WHOLE = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


@pytest.fixture(scope="module")
def host(tmp_path_factory) -> SmallHost:
    with running(tmp_path_factory.mktemp("placement")) as rest:
        yield small_host(tmp_path_factory.mktemp("host"), rest)


@pytest.fixture
def reported(tmp_path: Path) -> Path:
    """Return the configuration of a host whose daemon has reported findings about tenants with hostile names."""
    write_report(str(tmp_path), replace(SCREEN, started_at="2026-11-22T03:11:07.000Z"))
    path = tmp_path / "stocktake.conf"
    path.write_text(ALONE.replace("[agent]", f"[agent]\nstate_dir = {tmp_path}/state\nrun_dir = {tmp_path}"))
    return path


COMMANDS = [
    ("audit",),
    ("findings",),
    ("ledger",),
    ("ledger", "--storage"),
    ("inventory",),
    ("inventory", "--diff"),
    ("traits",),
    ("explain", "VCPU", "-v"),
]


@pytest.mark.parametrize("command", COMMANDS)
def test_command_output_fits_a_terminal_of_80_columns(host, command):
    """Each command keeps its lines within 80 columns, except for lines to copy, such as a fix command."""
    _, written = typed(80, "--config-file", host.agent.config_file, *command)
    plain = re.sub(rb"\x1b\[[0-9;]*m", b"", written).decode()
    long = [line for line in plain.splitlines() if len(line) > 80]
    assert [line for line in long if not line.startswith(TO_COPY)] == []
    lines = [line for line in screen_of(80, written) if not line.startswith(TO_COPY)]
    broken = [word for line in lines for word in re.findall(r"\b[0-9a-f]{8}-[0-9a-f-]*", line) if not WHOLE.match(word)]
    assert broken == [] or long


def test_terminal_output_equals_pipe_output_of_the_same_width(reported):
    """`stocktake config show` prints the same lines to a terminal of 80 columns and to a pipe with COLUMNS=80."""
    _, written = typed(80, "--config-file", reported, "config", "show")
    piped = stocktake("--config-file", reported, "config", "show", COLUMNS="80")
    assert screen_of(80, written) == piped.stdout.splitlines()


def test_status_prints_colours_only_to_a_terminal(reported):
    """`stocktake status` colours the word ERROR on a terminal, and writes it without colour to a pipe."""
    code, written = typed(120, "--config-file", reported, "status")
    assert b"\x1b[1;31mERROR\x1b[0m  allocation-leaked" in written
    piped = stocktake("--config-file", reported, "status")
    assert (piped.code, "\x1b" in piped.stdout) == (code, False)
    assert "ERROR  allocation-leaked" in piped.stdout


@pytest.mark.parametrize(
    ("arguments", "environment"),
    [
        (("--no-color",), {}),
        ((), {"NO_COLOR": "1"}),
        ((), {"TERM": "dumb"}),
    ],
)
def test_colours_can_be_turned_off(reported, monkeypatch, arguments, environment):
    """The option --no-color, the variable NO_COLOR=1 or TERM=dumb each turn off the colours of `stocktake status`."""
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    _, written = typed(80, *arguments, "--config-file", reported, "status")
    assert b"\x1b" not in written
    assert b"ERROR  allocation-leaked" in written


def test_colours_stay_on_if_no_color_is_empty(reported, monkeypatch):
    """An empty NO_COLOR environment variable does not turn off the colours on a terminal."""
    monkeypatch.setenv("NO_COLOR", "")
    assert b"\x1b[" in typed(80, "--config-file", reported, "status")[1]


@pytest.mark.parametrize("columns", [60, 220])
def test_output_fits_the_terminal_or_the_columns_variable(reported, monkeypatch, columns):
    """A command's output is at most as wide as the terminal, or as the variable COLUMNS says."""
    _, written = typed(columns, "--config-file", reported, "config", "show")
    width = max(len(line) for line in screen_of(columns, written))
    assert width <= columns
    monkeypatch.setenv("COLUMNS", "100")
    _, narrow = typed(columns, "--config-file", reported, "config", "show")
    assert 60 < max(len(line) for line in narrow.decode().splitlines()) <= 100


ENCODINGS = [
    {"PYTHONIOENCODING": "ascii"},
    {"PYTHONIOENCODING": "latin-1"},
    {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
]


@pytest.mark.parametrize("environment", ENCODINGS, ids=str)
def test_status_prints_any_name_in_any_encoding_of_stdout(reported, environment):
    """An instance's name contains an emoji.

    `stocktake status` prints the name without an error, even to an ASCII stdout.
    """
    name = "caf\u00e9 \U0001f600 \u202eevil\x1b[2J\nname\udc80"
    ledger = tuple(replace(row, consumer_name=name if row.consumer_name else "") for row in SCREEN.ledger)
    write_report(str(reported.parent), replace(SCREEN, ledger=ledger))
    done = subprocess.run(
        [installed(COMMAND), "--config-file", str(reported), "status"],
        env={"PATH": "/usr/bin:/bin", **environment},
        capture_output=True,
        check=False,
        timeout=300,
    )
    assert b"Traceback" not in done.stderr
    assert done.returncode == 2
    assert b"\x1b" not in done.stdout
    assert b"\nname" not in done.stdout
    assert b"evil" in done.stdout


def test_each_fix_command_that_audit_prints_can_be_run(host, tmp_path):
    """`stocktake audit` prints commands after the word "fix:". Each runs in a shell as printed, even at 80 columns."""
    said = host.run_apart("audit", COLUMNS="80").stdout
    fixes = [line.removeprefix("  fix: ") for line in said.splitlines() if line.startswith("  fix: stocktake ")]
    program = tmp_path / "stocktake"
    program.write_text(f'#!/bin/sh\nexec {installed(COMMAND)} --config-file {host.agent.config_file} "$@"\n')
    program.chmod(0o755)
    assert len(fixes) == 2
    for fix in fixes:
        done = subprocess.run(
            ["bash", "-c", 'eval "$1"', "bash", fix],
            env={"PATH": f"{tmp_path}:/usr/bin:/bin"},
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
        assert done.returncode in (3, 75), done.stderr
        assert done.stdout.startswith("plan for ")
