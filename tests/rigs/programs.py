"""Start Stocktake's programs: as installed, or forked from a process that has imported everything already.

A start of the interpreter with all imports costs half a second of CPU, and the suite starts the programs about 1,500
times. ``FORKED`` runs the same entry points in processes of their own (own pid, signals, streams, environment, working
directory), each forked from a server of the standard library's ``multiprocessing``. ``INSTALLED`` runs the installed
scripts; tests of the start itself, of memory and of signals use it. ``STOCKTAKE_TEST_STARTS=installed`` makes the whole
suite use it.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import multiprocessing
import multiprocessing.connection
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, NoReturn, Protocol

if TYPE_CHECKING:
    from multiprocessing.context import ForkServerProcess

COMMAND = "stocktake"
DAEMON = "stocktake-agent"
# The interpreter or the C library reads these when a process starts, so a forked process would ignore them.
_READ_AT_START = ("PYTHON", "LC_", "LANG", "MALLOC_", "LD_")


class Process(Protocol):
    """A started program; the methods are those of ``subprocess.Popen``."""

    @property
    def pid(self) -> int:
        """The process id."""

    @property
    def returncode(self) -> int | None:
        """The exit code, minus the signal that killed the process; None before ``poll`` or ``wait`` saw the end."""

    def poll(self) -> int | None:
        """Return the exit code, None while the program runs."""

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the end and return the exit code. Raises subprocess.TimeoutExpired."""

    def send_signal(self, sig: int) -> None:
        """Send a signal if the program still runs."""

    def kill(self) -> None:
        """Send SIGKILL if the program still runs."""


class Launcher(Protocol):
    """A way to start a program by its name in the environment's ``bin`` folder."""

    def start(
        self, program: str, arguments: Sequence[str], log: Path, environment: Mapping[str, str], folder: Path
    ) -> Process:
        """Start the program in ``folder``; its stdout and stderr replace the content of ``log``."""

    def run(
        self, program: str, arguments: Sequence[str], timeout_s: float, environment: Mapping[str, str], folder: Path
    ) -> subprocess.CompletedProcess[str]:
        """Run the program until it exits. Raises subprocess.TimeoutExpired after killing the program."""


class _Installed:
    def start(
        self, program: str, arguments: Sequence[str], log: Path, environment: Mapping[str, str], folder: Path
    ) -> Process:
        with log.open("wb") as out:
            return subprocess.Popen(
                [installed(program), *arguments],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                env=environment,
                cwd=folder,
            )

    def run(
        self, program: str, arguments: Sequence[str], timeout_s: float, environment: Mapping[str, str], folder: Path
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [installed(program), *arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=timeout_s,
            env=environment,
            cwd=folder,
            check=False,
        )


class _Forked:
    def start(
        self, program: str, arguments: Sequence[str], log: Path, environment: Mapping[str, str], folder: Path
    ) -> Process:
        if _is_read_at_start(environment):
            return INSTALLED.start(program, arguments, log, environment, folder)
        log.write_bytes(b"")
        return ForkedProcess(_forked(_entry_point(program, arguments), environment, folder, log, log))

    def run(
        self, program: str, arguments: Sequence[str], timeout_s: float, environment: Mapping[str, str], folder: Path
    ) -> subprocess.CompletedProcess[str]:
        if _is_read_at_start(environment):
            return INSTALLED.run(program, arguments, timeout_s, environment, folder)
        return run_function(_entry_point(program, arguments), timeout_s, environment, folder)


def run_function(
    function: Callable[[], object], timeout_s: float, environment: Mapping[str, str], folder: Path
) -> subprocess.CompletedProcess[str]:
    """Run a function, which pickle must be able to name, in a forked process until the process exits.

    Raises subprocess.TimeoutExpired after killing the process.
    """
    with tempfile.NamedTemporaryFile() as out, tempfile.NamedTemporaryFile() as err:
        process = ForkedProcess(_forked(function, environment, folder, Path(out.name), Path(err.name)))
        try:
            code = process.wait(timeout_s)
        finally:
            process.kill()
        return subprocess.CompletedProcess([str(function)], code, _text(out), _text(err))


def start_function(
    function: Callable[[], object], log: Path, environment: Mapping[str, str], folder: Path
) -> ForkedProcess:
    """Start a function, which pickle must be able to name, in a forked process; its streams are appended to ``log``.

    The process ends with this one, however this one ends.
    """
    log.touch()
    bound = functools.partial(_run_with_parent, function)
    return ForkedProcess(_forked(bound, environment, folder, log, log))


class ForkedProcess:
    """The part of ``subprocess.Popen`` that tests use, over a process of ``multiprocessing``."""

    stdin = None

    def __init__(self, process: ForkServerProcess) -> None:
        assert process.pid is not None
        self.pid = process.pid
        self._process = process

    @property
    def returncode(self) -> int | None:
        return self.poll()

    def poll(self) -> int | None:
        # A second thread that reads the exit code at the same time would get 255 for it.
        with _READING:
            return self._process.exitcode

    def wait(self, timeout: float | None = None) -> int:
        multiprocessing.connection.wait([self._process.sentinel], timeout)
        code = self.poll()
        if code is None:
            raise subprocess.TimeoutExpired(self._process.name, timeout or 0.0)
        return code

    def send_signal(self, sig: int) -> None:
        # The server reaps its children, so a signal may find the process gone, as with subprocess.Popen.
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, sig)

    def terminate(self) -> None:
        """Send SIGTERM if the process still runs."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """Send SIGKILL if the process still runs."""
        self.send_signal(signal.SIGKILL)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Start:
    """What a forked process takes over before its function runs."""

    function: Callable[[], object]
    environment: dict[str, str]
    folder: Path
    stdout: Path
    stderr: Path


_READING = threading.RLock()
INSTALLED: Launcher = _Installed()
FORKED: Launcher = INSTALLED if os.environ.get("STOCKTAKE_TEST_STARTS") == "installed" else _Forked()


def installed(program: str) -> str:
    """Return the path of the installed program."""
    return str(Path(sys.executable).parent / program)


def _forked(
    function: Callable[[], object], environment: Mapping[str, str], folder: Path, stdout: Path, stderr: Path
) -> ForkServerProcess:
    context = multiprocessing.get_context("forkserver")
    # The server starts with the first process and imports these modules once.
    context.set_forkserver_preload(["tests.rigs.imported_programs"])
    start = _Start(function=function, environment=dict(environment), folder=folder, stdout=stdout, stderr=stderr)
    # A daemonic process may have no children of multiprocessing; the worker would otherwise wait for it at its end.
    process = context.Process(target=_run_forked, args=(start,), daemon=True)
    with _READING:  # start() also reads the exit codes of earlier processes
        process.start()
    return process


def _run_forked(start: _Start) -> None:
    """Take over the environment and the streams, and run the function."""
    os.environ.clear()
    os.environ.update(start.environment)
    time.tzset()
    tempfile.tempdir = None
    # All processes of the server begin with the same state; uuids are drawn from the kernel.
    random.seed()
    os.chdir(start.folder)
    for number, path in ((0, os.devnull), (1, start.stdout), (2, start.stderr)):
        opened = os.open(path, os.O_APPEND | (os.O_WRONLY if number else os.O_RDONLY))
        os.dup2(opened, number)
        os.close(opened)
    sys.stdin, sys.stdout = open(0, closefd=False), open(1, "w", closefd=False)  # noqa: SIM115 - numbers
    sys.stderr = open(2, "w", errors="backslashreplace", buffering=1, closefd=False)  # noqa: SIM115
    try:
        start.function()
    finally:
        # The interpreter runs these at its end; multiprocessing leaves by os._exit.
        atexit._run_exitfuncs()


def _run_with_parent(function: Callable[[], object]) -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    threading.Thread(target=_end_with, args=(parent.sentinel,), daemon=True).start()
    function()


def _end_with(sentinel: int) -> None:
    multiprocessing.connection.wait([sentinel])
    os.kill(os.getpid(), signal.SIGTERM)


def _entry_point(program: str, arguments: Sequence[str]) -> Callable[[], object]:
    return functools.partial(_run_script, program, tuple(arguments))


def _run_script(program: str, arguments: tuple[str, ...]) -> NoReturn:
    """Run the program as its installed script does."""
    from agent.cmd import daemon, shell

    sys.argv = [installed(program), *arguments]
    if program == DAEMON:
        daemon.main()
    sys.exit(shell.main())


def _is_read_at_start(environment: Mapping[str, str]) -> bool:
    """Return whether the environment differs in a variable that only the start of a process reads."""
    names = {name for name in (*environment, *os.environ) if name.startswith(_READ_AT_START)}
    return any(environment.get(name) != os.environ.get(name) for name in names)


def _text(stream: IO[bytes]) -> str:
    """Return all that a process wrote into the file, with the line ends of a text stream."""
    return Path(stream.name).read_text(errors="strict")
