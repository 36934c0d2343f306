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


def test_a_wait_shorter_than_two_seconds_is_not_shown(shown):
    for _ in range(3):
        with shown.progress.waiting(PLACEMENT, 30.0):
            assert shown.after(AFTER_S - 0.1) == ""
    assert shown.after(5.0) == ""


def test_a_command_that_waits_two_seconds_prints_what_it_is_waiting_for(lines):
    """The line also says how much longer the command waits at most."""
    with lines.progress.waiting(PLACEMENT, 30.0):
        said = lines.after(AFTER_S)
    assert said == f"stocktake: waiting for {PLACEMENT}, at most 28 s more; stop with Ctrl-C\n"


def test_a_wait_without_a_limit_shows_no_remaining_time(lines):
    with lines.progress.waiting("libvirt (qemu:///system)", math.inf):
        assert lines.after(3.0) == "stocktake: waiting for libvirt (qemu:///system); stop with Ctrl-C\n"


def test_repeated_waits_for_one_source_print_only_one_line_if_output_is_a_file(lines):
    for source in (PLACEMENT, PLACEMENT, "libvirt"):
        with lines.progress.waiting(source, 30.0):
            lines.after(AFTER_S)
            lines.after(5.0)
    assert [line.split()[3].rstrip(",") for line in lines.out.getvalue().splitlines()] == ["placement", "libvirt"]


def test_the_line_about_a_wait_is_updated_and_finally_removed_on_a_terminal(one_line):
    with one_line.progress.waiting(PLACEMENT, 30.0):
        first = one_line.after(AFTER_S)
        second = one_line.after(1.0).removeprefix(first)
    assert first == f"\rwaiting for {PLACEMENT}, at most 28 s more; stop with Ctrl-C"
    assert second == first.replace("28", "27")
    removal = one_line.out.getvalue().removeprefix(first + second)
    assert removal == f"\r{' ' * (len(second) - 1)}\r"


def test_the_line_about_a_wait_does_not_wrap_on_a_narrow_terminal(one_line, monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    with one_line.progress.waiting("libvirt", 30.0):
        assert one_line.after(AFTER_S) == "\rwaiting for libvirt, at most 28 s more;"


def test_the_address_of_a_source_is_omitted_if_the_terminal_is_too_narrow(one_line, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    with one_line.progress.waiting(PLACEMENT, 30.0):
        assert one_line.after(AFTER_S) == "\rwaiting for placement, at most 28 s more; stop with Ctrl-C"


def test_control_characters_in_the_name_of_a_source_are_escaped(lines):
    with lines.progress.waiting("state (\x1b[31m)", 30.0):
        assert "\x1b" not in lines.after(AFTER_S)


def test_a_command_continues_if_it_cannot_print_what_it_waits_for(lines):
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
def test_progress_is_one_updated_line_on_a_terminal_and_many_lines_in_a_file(quiet, out, form):
    """With ``--quiet``, no progress is printed."""
    assert form_for(argparse.Namespace(quiet=quiet), out) is form


def test_the_progress_display_thread_stops_at_the_end_of_the_command():
    out = io.StringIO()
    progress = Progress(out, Form.LINES, monotonic=iter([0.0, *[60.0] * 1000]).__next__)
    with progress.waiting("libvirt", 90.0):
        until(out.getvalue, 30.0, "the line")
    progress.close()
    progress._thread.join(10.0)
    assert not progress._thread.is_alive()
    assert out.getvalue() == "stocktake: waiting for libvirt, at most 30 s more; stop with Ctrl-C\n"
