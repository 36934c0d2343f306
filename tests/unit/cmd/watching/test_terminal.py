"""The terminal has single keys while it is used, and is as before after every end."""

import os
import pty
import signal
import sys
import termios
import time

import pytest

from agent.cmd.watching.live import LiveScreen, keyboard_of
from agent.cmd.watching.setup import Watched
from agent.cmd.watching.terminal import Terminal
from agent.cmd.watching.ui import Ui
from agent.render.layout import Look


@pytest.fixture
def ends():
    ours, theirs = pty.openpty()
    yield ours, theirs
    os.close(ours)
    os.close(theirs)


def test_keys_arrive_without_the_enter_key(ends):
    """On the live screen, a pressed key arrives at once; the terminal's old settings return at the end."""
    ours, theirs = ends
    before = termios.tcgetattr(theirs)
    with Terminal(theirs) as terminal:
        os.write(ours, b"s\x1b[A")
        assert terminal.wait(10).keys == ("s", "up")
        os.write(ours, b"\x1b")
        assert [*terminal.wait(10).keys, *terminal.wait(10).keys] == ["escape"]
    assert termios.tcgetattr(theirs) == before


def test_a_signal_ends_the_wait_for_keys(ends):
    """SIGTERM ends the wait for a key at once, and the caller receives the signal."""
    handler = signal.getsignal(signal.SIGTERM)
    with Terminal(ends[1]) as terminal:
        began = time.monotonic()
        os.kill(os.getpid(), signal.SIGTERM)
        assert terminal.wait(60).signals == (signal.SIGTERM,)
        assert time.monotonic() - began < 30
    assert signal.getsignal(signal.SIGTERM) is handler


def test_a_closed_terminal_is_reported_as_a_hangup():
    """If the terminal is closed, the wait for a key ends with SIGHUP."""
    ours, theirs = pty.openpty()
    with Terminal(theirs) as terminal:
        os.close(ours)
        assert terminal.wait(60).signals == (signal.SIGHUP,)
    os.close(theirs)


def test_the_terminal_settings_are_restored_after_an_error(ends):
    """If an error ends the live screen, `stocktake watch` restores the terminal settings."""
    _, theirs = ends
    before = termios.tcgetattr(theirs)
    with pytest.raises(ZeroDivisionError), Terminal(theirs):
        print(1 / (termios.tcgetattr(theirs) == before))
    assert termios.tcgetattr(theirs) == before


class Broken(Watched):
    """A fleet whose second view cannot be made."""

    views = 0

    def view(self, *, waited: bool = False):
        self.views += 1
        if self.views > 1:
            raise ZeroDivisionError
        return super().view(waited=waited)


def test_an_error_while_drawing_restores_the_screen(ends, monkeypatch):
    """If an error ends the live screen while it is drawn, the terminal shows its normal screen again."""
    ours, theirs = ends
    monkeypatch.setattr("agent.cmd.watching.live.REDRAW_S", 0.0)
    before = termios.tcgetattr(theirs)
    with open(theirs, "w", closefd=False) as out:
        screen = LiveScreen(Broken((), None), Ui(), out, theirs, Look(width=80))
        with pytest.raises(ZeroDivisionError):
            screen.run()
    assert termios.tcgetattr(theirs) == before
    shown = b""
    while b"\x1b[?1049l" not in shown:  # the end of the alternate screen
        shown += os.read(ours, 65536)


def test_the_keyboard_is_read_only_from_a_terminal(ends, tmp_path):
    """`stocktake watch` reads keys only if standard input is a terminal, never from a file."""
    with (tmp_path / "keys").open("w") as file, open(ends[1], closefd=False) as terminal:
        assert keyboard_of(file) is None
        assert keyboard_of(terminal) == ends[1]
    assert keyboard_of(None) is None
    assert keyboard_of(sys.stdin) is None or os.isatty(sys.stdin.fileno())
