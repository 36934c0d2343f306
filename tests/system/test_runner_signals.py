"""The daemon's process: the effect of each signal, the messages to systemd, and the exit."""

import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import threading
import time

import pytest

from tests.rigs.host import PATIENCE_S
from tests.rigs.wait import until

ROOT = pathlib.Path(__file__).parents[2]
SCRIPT = pathlib.Path(__file__).with_name("mini_daemon.py")
# Longer than any wait of a test: a stop that waits this long fails the test.
ENDLESS_S = 3 * PATIENCE_S


class Daemon:
    """The daemon's process, the lines that it wrote, and its messages to systemd."""

    def __init__(self, folder: pathlib.Path):
        self.options = folder / "options.json"
        self.notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.notify.bind(str(folder / "notify"))
        self.notify.settimeout(0.05)
        self.errors = folder / "stderr"
        self.lines: list[str] = []
        self.told: list[str] = []
        self.process: subprocess.Popen | None = None

    def start(self, wait_for: str | None = "report", **options) -> "Daemon":
        self.set(**options)
        environment = os.environ | {
            "NOTIFY_SOCKET": self.notify.getsockname(),
            "WATCHDOG_USEC": "300000",
            "PYTHONPATH": str(ROOT),
        }
        with self.errors.open("w") as errors:
            self.process = subprocess.Popen(
                [sys.executable, str(SCRIPT), str(self.options)],
                stdout=subprocess.PIPE, stderr=errors, env=environment, text=True,
            )  # fmt: skip
        self.reader = threading.Thread(target=self._read)
        self.reader.start()
        self.listener = threading.Thread(target=self._listen)
        self.listener.start()
        if wait_for:
            self.until_line(wait_for)
        return self

    def set(self, **options) -> None:
        new = self.options.with_suffix(".new")
        new.write_text(json.dumps(options))
        new.rename(self.options)

    def send(self, number: int) -> None:
        self.process.send_signal(number)

    def until_line(self, text: str, count: int = 1) -> list[str]:
        def found():
            hits = [line for line in self.lines if text in line]
            return hits if len(hits) >= count else None

        return until(found, PATIENCE_S, f"{count} lines with {text!r} in {self.lines}")

    def until_told(self, text: str, count: int = 1) -> None:
        until(lambda: sum(text in told for told in self.told) >= count, PATIENCE_S, f"{text!r} told: {self.told}")

    def ended(self, timeout_s: float = PATIENCE_S) -> int:
        code = self.process.wait(timeout_s)
        self.reader.join()
        self.listener.join()
        return code

    def log(self) -> str:
        return self.errors.read_text()

    def _read(self):
        for line in self.process.stdout:
            self.lines.append(line.strip())

    def _listen(self):
        while True:
            over = self.process.poll() is not None
            try:
                self.told.append(self.notify.recv(4096).decode())
            except TimeoutError:
                if over:
                    return

    def close(self):
        if self.process:
            self.process.kill()
            self.ended()
            self.process.stdout.close()
        self.notify.close()


@pytest.fixture
def daemon(tmp_path):
    daemon = Daemon(tmp_path)
    yield daemon
    daemon.close()


def test_the_daemon_sends_ready_after_the_first_audit(daemon):
    """The agent's daemon tells systemd READY=1, with the audit's outcome as the status."""
    daemon.start()
    daemon.until_told("READY=1")
    assert daemon.lines[3:6] == ["events started", "audit start-up label=None depth=economical", "report clean"]
    (ready,) = [told for told in daemon.told if "READY=1" in told]
    assert ready == "READY=1\nSTATUS=audit of now: clean, 0 findings"
    daemon.send(signal.SIGUSR1)
    daemon.until_line("audit signal: USR1 label=None depth=economical")


def test_the_daemon_sends_no_ready_during_the_first_audit(daemon):
    """While the agent's first audit runs, systemd gets WATCHDOG=1 from the daemon; READY=1 follows after the audit."""
    goal = daemon.options.with_name("goal")
    daemon.start("audit start-up", until=str(goal))
    daemon.until_told("WATCHDOG=1")
    assert not any("READY" in told for told in daemon.told)
    goal.touch()
    daemon.until_line("report clean")
    daemon.until_told("READY=1")


def test_the_daemon_sends_ready_if_the_first_audit_is_slow(daemon):
    """After a timeout the daemon sends READY=1 to systemd although the first audit is still running."""
    daemon.start("audit start-up", audit_s=ENDLESS_S, ready_after_s=0.5)
    daemon.until_told("READY=1\nSTATUS=first audit runs")
    assert "report clean" not in daemon.lines


def test_sigterm_ends_an_idle_daemon_with_exit_code_0(daemon):
    """Before it exits, the daemon stops its event listener and sends STOPPING=1 to systemd."""
    daemon.start(graceful_s=ENDLESS_S)
    daemon.send(signal.SIGTERM)
    assert daemon.ended() == 0
    assert daemon.lines[-3:] == ["events stopped", "closed", f"eventlet None processes {daemon.process.pid}"]
    assert "STOPPING=1\nSTATUS=stopping" in daemon.told


def test_sigint_ends_an_idle_daemon_with_exit_code_0(daemon):
    daemon.start()
    daemon.send(signal.SIGINT)
    assert daemon.ended() == 0


def test_sigterm_cancels_a_running_audit(daemon):
    """The daemon's audit ends early, at its next check for a cancellation, and the daemon exits with 0."""
    daemon.start("audit start-up", audit_s=ENDLESS_S, graceful_s=ENDLESS_S)
    daemon.send(signal.SIGTERM)
    assert daemon.ended() == 0
    assert "audit cancelled" in daemon.lines


def test_after_sigterm_an_audit_may_run_to_its_end(daemon):
    """An audit that ignores its cancellation runs to its end within the graceful stop time; then the daemon exits."""
    daemon.start("audit start-up", audit_s=1.0, deaf=True, graceful_s=ENDLESS_S)
    daemon.send(signal.SIGTERM)
    assert daemon.ended() == 0
    assert "report clean" in daemon.lines


def test_sigterm_cancels_an_audit_during_a_pause(daemon):
    """SIGTERM ends a pause in the daemon's audit: the audit is cancelled and the daemon exits with 0."""
    daemon.start("audit start-up", pause_s=ENDLESS_S, graceful_s=ENDLESS_S)
    daemon.send(signal.SIGTERM)
    assert daemon.ended() == 0
    assert "audit cancelled" in daemon.lines


def test_the_daemon_exits_with_1_if_its_stop_takes_too_long(daemon):
    """If an audit runs longer than the graceful stop time after SIGTERM, the daemon exits with 1."""
    daemon.start("audit start-up", audit_s=ENDLESS_S, deaf=True, graceful_s=0.3)
    daemon.send(signal.SIGTERM)
    assert daemon.ended() == 1
    assert "agent stop incomplete" in daemon.log()


def test_sigint_ends_a_daemon_that_is_slow_to_stop(daemon):
    """A second SIGTERM does not end a daemon that waits for its audit; SIGINT ends the daemon with exit code 1."""
    daemon.start("audit start-up", audit_s=ENDLESS_S, deaf=True, graceful_s=ENDLESS_S)
    daemon.send(signal.SIGTERM)
    daemon.until_line("events stopped")
    daemon.send(signal.SIGTERM)
    with pytest.raises(subprocess.TimeoutExpired):
        daemon.process.wait(0.3)
    daemon.send(signal.SIGINT)
    assert daemon.ended() == 1


def test_sighup_reloads_the_settings_and_clears_the_caches(daemon):
    """The daemon keeps running, forgets its cached data, and makes an audit with the new settings."""
    daemon.start(label="old")
    daemon.until_told("READY=1")
    daemon.set(label="new", interval_s=0.05)
    daemon.send(signal.SIGHUP)
    daemon.until_line("audit interval label=new", count=2)
    assert daemon.process.poll() is None
    # On a busy machine the interval may pass before the worker takes the reload: one audit then serves both.
    reloads = [line for line in daemon.lines if "reload" in line]
    assert reloads in (
        ["audit reload label=new depth=economical"], ["audit interval,reload label=new depth=economical"]
    )  # fmt: skip
    assert [line for line in daemon.lines if "forgot" in line] == ["forgot host", "forgot reader", "forgot images"]
    daemon.until_told("READY=1", count=2)
    reloading = next(told for told in daemon.told if "RELOADING" in told)
    usec = int(reloading.removeprefix("RELOADING=1\nMONOTONIC_USEC="))
    assert abs(time.monotonic_ns() / 1000 - usec) < 60e6


def test_sighup_during_an_audit_takes_effect_after_the_audit(daemon):
    """The running audit keeps the old settings; the daemon then starts another audit with the new settings."""
    daemon.start("audit start-up", audit_s=0.7, label="old")
    daemon.set(label="new")
    daemon.send(signal.SIGHUP)
    daemon.until_line("report clean", count=2)
    audits = [line for line in daemon.lines if line.startswith(("audit ", "forgot", "report"))]
    assert audits == [
        "audit start-up label=old depth=economical", "report clean", "forgot host", "forgot reader", "forgot images",
        "audit reload label=new depth=economical", "report clean",
    ]  # fmt: skip


def test_sighup_with_an_invalid_config_keeps_the_old_settings(daemon):
    """The daemon logs "reload refused, old configuration kept" and continues to run."""
    daemon.start(label="old")
    daemon.until_told("READY=1")
    daemon.options.write_text("{ not json")
    daemon.send(signal.SIGHUP)
    daemon.until_told("READY=1", count=2)
    daemon.set(label="ignored")
    daemon.send(signal.SIGUSR1)
    daemon.until_line("audit signal: USR1 label=old")
    assert "reload refused, old configuration kept" in daemon.log()
    assert "Traceback" not in daemon.log()


def test_sigusr2_makes_the_daemon_dump_its_own_state(daemon):
    """The daemon writes a report about itself, for example whether it is healthy, and keeps running."""
    daemon.start()
    daemon.send(signal.SIGUSR2)
    daemon.until_line("dump waiting=() healthy=True")
    daemon.send(signal.SIGTERM)
    assert daemon.ended() == 0


def test_the_daemon_survives_an_exception_in_an_audit(daemon):
    """A bug raises an exception in an audit: the daemon logs the traceback, and its next audit runs."""
    daemon.start("report crashed", error="crash")
    daemon.set()
    daemon.send(signal.SIGHUP)
    daemon.until_line("report clean")
    assert daemon.log().count("ZeroDivisionError: a bug") >= 1
    assert "Traceback" in daemon.log()
    daemon.send(signal.SIGTERM)
    assert daemon.ended() == 0


def test_a_configuration_error_ends_the_daemon_with_78(daemon):
    """An audit finds an error in the configuration, and the agent's daemon exits with 78."""
    daemon.start(None, error="config")
    assert daemon.ended() == 78
    assert "report unreadable" in daemon.lines


def test_the_daemon_exits_with_1_if_its_worker_thread_ends(daemon):
    daemon.start(None, error="exit")
    assert daemon.ended() == 1
    assert "worker ended" in daemon.log()


def test_the_daemon_exits_with_1_after_a_failed_start(daemon):
    daemon.start(None, start_error=True)
    assert daemon.ended() == 1
    assert "agent start failed" in daemon.log()


def test_sigterm_during_start_ends_the_daemon_with_0(daemon):
    """SIGTERM arrives just before the daemon enters its main loop; the exit code is still 0."""
    daemon.start(None, term_before_start=True)
    assert daemon.ended() == 0


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2])
def test_sighup_or_sigusr_during_start_does_not_end_the_daemon(daemon, number):
    """The daemon gets SIGHUP, SIGUSR1 or SIGUSR2 before its first audit, and still runs this audit."""
    daemon.start("handlers installed")
    daemon.send(number)
    daemon.until_line("report clean")
    daemon.send(signal.SIGTERM)
    assert daemon.ended() == 0


def test_child_processes_do_not_inherit_systemd_variables(daemon):
    """The daemon itself uses NOTIFY_SOCKET; the programs that it starts do not see the variable."""
    daemon.start()
    assert f"pid {daemon.process.pid} notify=True" in daemon.lines
    assert "children False" in daemon.lines


def test_watchdog_messages_stop_after_three_libvirt_timeouts(daemon):
    """After three libvirt reads in a row have timed out, the daemon sends systemd no more WATCHDOG=1 messages."""
    daemon.start()
    daemon.until_told("WATCHDOG=1", count=3)
    daemon.set(misses=2)
    fed = sum(told == "WATCHDOG=1" for told in daemon.told)
    daemon.until_told("WATCHDOG=1", count=fed + 3)
    daemon.set(misses=3)
    quiet = threading.Event()

    def starved():
        before = daemon.told.count("WATCHDOG=1")
        quiet.wait(0.5)
        return daemon.told.count("WATCHDOG=1") == before

    until(starved, PATIENCE_S, "no more WATCHDOG=1")
