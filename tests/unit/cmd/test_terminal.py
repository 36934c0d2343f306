"""What a command finds out about its stdout."""

import argparse
import io

import pytest

from agent.cmd.terminal import escape_unencodable, look_of, width_of, wrapping_width
from agent.render.layout import UNLIMITED


class Terminal(io.StringIO):
    """A terminal that cannot say how wide it is."""

    encoding = "ascii"

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("columns", "terminal", "width"),
    [
        ("100", Terminal(), 100),
        ("100", io.StringIO(), 100),
        ("", io.StringIO(), None),
        ("0", io.StringIO(), None),
        ("wide", io.StringIO(), None),
        ("\u0663", io.StringIO(), None),
        ("", Terminal(), 80),
        ("-7", Terminal(), 80),
    ],
)
def test_the_environment_variable_columns_sets_the_width(columns, terminal, width):
    """With COLUMNS=100 the output of a command is at most 100 characters wide."""
    assert width_of(terminal, {"COLUMNS": columns}) == width


@pytest.mark.parametrize(
    ("environment", "options", "colour"),
    [
        ({"TERM": "xterm"}, {}, True),
        ({}, {}, True),
        ({"NO_COLOR": ""}, {}, True),
        ({"NO_COLOR": "0"}, {}, False),
        ({"TERM": "dumb"}, {}, False),
        ({}, {"no_color": True}, False),
    ],
)
def test_colours_are_used_only_on_a_terminal(monkeypatch, environment, options, colour):
    """A command prints colours on a terminal, except with NO_COLOR, `TERM=dumb` or the option `--no-color`."""
    for name in ("TERM", "NO_COLOR", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert look_of(Terminal(), argparse.Namespace(**options)).colour is colour
    assert look_of(io.StringIO(), argparse.Namespace(**options)).colour is False


def test_a_requested_width_also_applies_to_a_pipe(monkeypatch):
    """If the operator asks for a width, the command uses it in a pipe too, and prefers it to the variable COLUMNS."""
    monkeypatch.setenv("COLUMNS", "70")
    assert look_of(io.StringIO(), argparse.Namespace(), 120).width == 120
    assert look_of(io.StringIO(), argparse.Namespace(), 0).width == 70
    monkeypatch.delenv("COLUMNS")
    assert wrapping_width(io.StringIO()) == UNLIMITED


def test_the_output_is_utf8_if_stdout_has_no_encoding():
    assert look_of(Terminal(), argparse.Namespace()).encoding == "ascii"
    assert look_of(io.StringIO(), argparse.Namespace()).encoding == "utf-8"


def test_characters_unknown_to_the_terminal_are_escaped():
    """On an ASCII terminal a command prints an accented letter as an escape sequence, and does not fail."""
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="ascii")
    escape_unencodable(stream, io.StringIO())
    stream.write("caf\u00e9")
    stream.flush()
    assert raw.getvalue() == b"caf\\xe9"
