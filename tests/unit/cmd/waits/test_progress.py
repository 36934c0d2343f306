"""What a command says on stderr while it waits for a source."""

import argparse
import io
import math

import pytest

from agent.cmd.waits.progress import AFTER_S, Form, Progress, form_for
from tests.rigs.wait import until

PLACEMENT = "placement (https://placement.example.org)"


class Terminal(io.StringIO):
    """A stream that claims to be a terminal."""

    def isatty(self) -> bool:
        return True


class Clock:
    """A clock that only the test advances."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class Shown:
    """A Progress without its thread: the test calls ``after`` instead, which advances the clock and shows the wait."""

    def __init__(self, form: Form, monkeypatch: pytest.MonkeyPatch) -> None:
        self.out, self.clock = io.StringIO(), Clock()
        self.progress = Progress(self.out, form, self.clock)
        monkeypatch.setattr(self.progress, "_start", lambda: None)

    def after(self, seconds: float) -> str:
        self.clock.now += seconds
        self.progress.show()
        return self.out.getvalue()


@pytest.fixture(params=[Form.LINES, Form.ONE_LINE])
def shown(request, monkeypatch):
    return Shown(request.param, monkeypatch)


@pytest.fixture
def lines(monkeypatch):
    return Shown(Form.LINES, monkeypatch)


@pytest.fixture
def one_line(monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    return Shown(Form.ONE_LINE, monkeypatch)


def test_a_wait_under_two_seconds_is_not_shown(shown):
    """A command prints no progress line if a source answers in less than two seconds."""
    for _ in range(3):
        with shown.progress.waiting(PLACEMENT, 30.0):
            assert shown.after(AFTER_S - 0.1) == ""
    assert shown.after(5.0) == ""


def test_a_waiting_command_prints_what_it_waits_for(lines):
    """After two seconds, a command prints which source it waits for and for how many seconds more at most."""
    with lines.progress.waiting(PLACEMENT, 30.0):
        said = lines.after(AFTER_S)
    assert said == f"stocktake: waiting for {PLACEMENT}, at most 28 s more; stop with Ctrl-C\n"


def test_a_wait_without_a_limit_shows_no_remaining_time(lines):
    with lines.progress.waiting("libvirt (qemu:///system)", math.inf):
        assert lines.after(3.0) == "stocktake: waiting for libvirt (qemu:///system); stop with Ctrl-C\n"


def test_repeated_waits_for_a_source_print_one_line(lines):
    """If stderr is a file, a command prints one line about each source, even if it waits for the source repeatedly."""
    for source in (PLACEMENT, PLACEMENT, "libvirt"):
        with lines.progress.waiting(source, 30.0):
            lines.after(AFTER_S)
            lines.after(5.0)
    assert [line.split()[3].rstrip(",") for line in lines.out.getvalue().splitlines()] == ["placement", "libvirt"]


def test_the_progress_line_is_updated_and_then_removed(one_line):
    """On a terminal, the line about a wait counts down in place and disappears at the end of the wait."""
    with one_line.progress.waiting(PLACEMENT, 30.0):
        first = one_line.after(AFTER_S)
        second = one_line.after(1.0).removeprefix(first)
    assert first == f"\rwaiting for {PLACEMENT}, at most 28 s more; stop with Ctrl-C"
    assert second == first.replace("28", "27")
    removal = one_line.out.getvalue().removeprefix(first + second)
    assert removal == f"\r{' ' * (len(second) - 1)}\r"


def test_the_progress_line_fits_a_narrow_terminal(one_line, monkeypatch):
    """On a terminal with 40 columns, the line about a wait is cut and does not wrap."""
    monkeypatch.setenv("COLUMNS", "40")
    with one_line.progress.waiting("libvirt", 30.0):
        assert one_line.after(AFTER_S) == "\rwaiting for libvirt, at most 28 s more;"


def test_a_narrow_terminal_omits_the_url_of_the_source(one_line, monkeypatch):
    """On a narrow terminal, the line about a wait for Placement does not show Placement's URL."""
    monkeypatch.setenv("COLUMNS", "60")
    with one_line.progress.waiting(PLACEMENT, 30.0):
        assert one_line.after(AFTER_S) == "\rwaiting for placement, at most 28 s more; stop with Ctrl-C"


def test_control_characters_in_a_source_name_are_escaped(lines):
    """A command that waits for a source never sends the control characters of the source's name to the terminal."""
    with lines.progress.waiting("state (\x1b[31m)", 30.0):
        assert "\x1b" not in lines.after(AFTER_S)


def test_a_command_continues_if_stderr_is_closed(lines):
    """A command that cannot print its progress line does not fail."""
    with lines.progress.waiting(PLACEMENT, 30.0):
        lines.out.close()
        lines.clock.now += AFTER_S
        lines.progress.show()


@pytest.mark.parametrize(
    ("quiet", "out", "form"),
    [
        (False, Terminal(), Form.ONE_LINE),
        (False, io.StringIO(), Form.LINES),
        (True, Terminal(), Form.NOTHING),
        (True, io.StringIO(), Form.NOTHING),
    ],
)
def test_the_form_of_progress_depends_on_the_output(quiet, out, form):
    """Progress is one updated line on a terminal and separate lines in a file."""
    assert form_for(argparse.Namespace(quiet=quiet), out) is form


def test_the_progress_thread_stops_with_the_command():
    """The thread that prints the progress lines stops when the command ends."""
    out = io.StringIO()
    progress = Progress(out, Form.LINES, monotonic=iter([0.0, *[60.0] * 1000]).__next__)
    with progress.waiting("libvirt", 90.0):
        until(out.getvalue, 30.0, "the line")
    progress.close()
    progress._thread.join(10.0)
    assert not progress._thread.is_alive()
    assert out.getvalue() == "stocktake: waiting for libvirt, at most 30 s more; stop with Ctrl-C\n"
