"""Read volume groups and volumes by running each of lvm2's commands ``vgs`` and ``lvs`` once.

lvm2 can fail silently. Without the right privileges, or in a systemd unit that hides devices, its commands exit with 0
and report no group at all. So an empty report means "unknown", never "no group": only a report with other groups proves
that a configured group is gone. lvm2 writes warnings to stderr even in a successful run.

If SIGKILL does not end a command, the command hangs in the kernel on a dead device, and a second run would hang too.
The runner does not start that command again until the first run has ended.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from agent.errors import SourceInconsistent, SourceUnavailable
from agent.model import snapshot
from agent.model.host.storage import StorageFacts, VolumeGroup
from agent.ports import Deadline
from agent.sources.storage import lvm_json

# One read runs the pair vgs and lvs at most this number of times. If a volume changes between the two commands, their
# reports contradict each other, and the source runs both commands again.
READS = 3
# Each time the source runs a command, it tries up to this number of times. It tries again only if a signal ended the
# command: after a SIGSEGV of vgs, the next run worked (bug 1931710).
RUNS = 2
# The seconds to wait after SIGKILL: a child that has not ended by then hangs in the kernel on a dead device.
_REAP_S = 1.0
GROUPS_COMMAND = ("vgs", *lvm_json.FORMAT, "-o", lvm_json.GROUP_COLUMNS)
_UNKILLABLE = "(stderr was not read, because the command still runs after SIGKILL)"


@dataclass(frozen=True, slots=True)
class Completed:
    """A command that has ended; ``returncode`` is negative if a signal ended it."""

    stdout: str
    stderr: str
    returncode: int

    @property
    def last_line(self) -> str:
        """The last non-empty line on stderr, or ""."""
        return _last_line(self.stderr)

    @property
    def reason(self) -> str:
        """The last line on stderr, or "nothing on stderr": the reason in an error message about this command."""
        return self.last_line or "nothing on stderr"


class Runner(Protocol):
    """Runs commands, one at a time, and waits for each to end."""

    def run(self, argv: tuple[str, ...], timeout_s: float) -> Completed:
        """Run the command; kill it after ``timeout_s``. Raises OSError, or TimeoutError with stderr's last line."""
        ...


@dataclass(frozen=True, slots=True)
class Command:
    """A command that reads a storage source. ``name`` and ``package`` (such as " (lvm2)") are for error messages."""

    source: str
    name: str
    argv: tuple[str, ...]
    package: str = ""

    def run(self, runner: Runner, limit: Deadline) -> Completed:
        """Run the command. Raises SourceUnavailable if the command cannot be started or does not end in time."""
        try:
            return runner.run(self.argv, limit.left_s())
        except TimeoutError as error:
            last_line = f"; the last line on stderr: {error}" if str(error) else ""
            # The message names the time limit of the whole read, which is the same in every audit. The time left for
            # this command is different in each audit, so the message does not name it.
            why = f"{self.name} did not answer within {limit.allowed_s:.1f} s and was killed{last_line}"
            raise SourceUnavailable(self.source, why) from error
        except FileNotFoundError as error:
            why = f"{self.argv[0]} is not installed{self.package} or not in PATH"
            raise SourceUnavailable(self.source, why) from error
        except OSError as error:
            raise SourceUnavailable(self.source, f"{self.argv[0]} cannot be started: {error.strerror}") from error


class SubprocessRunner:
    """Runs each command as a child process in its own session, with empty stdin and messages in English.

    ``environment`` is added to this process's environment; the demo and tests set LVM_SYSTEM_DIR, the folder of
    lvm.conf. Only one thread at a time may use a runner.
    """

    def __init__(self, environment: Mapping[str, str] | None = None) -> None:
        self.environment = environment or {}
        self._unkillable: dict[str, subprocess.Popen[str]] = {}

    def run(self, argv: tuple[str, ...], timeout_s: float) -> Completed:
        """Run the command; after ``timeout_s``, kill its whole process group. See Runner.

        If an earlier run of the command was killed but has not ended yet, raises TimeoutError at once. stdout is a
        memory file, not a pipe: lvs writes the report on 2,000 volumes in 280 pieces, and with a pipe each piece would
        wake this process.
        """
        self._refuse_beside_unkillable(argv[0])
        with open(os.memfd_create(argv[0]), "w+b") as report:
            child = subprocess.Popen(
                argv,
                stdin=subprocess.DEVNULL,
                stdout=report,
                stderr=subprocess.PIPE,
                env=self._environment(),
                start_new_session=True,
                encoding="utf-8",
                errors="replace",
            )
            try:
                _, stderr = child.communicate(timeout=timeout_s)
            except subprocess.TimeoutExpired:
                raise TimeoutError(self._end(argv[0], child)) from None
            except BaseException:
                self._end(argv[0], child)
                raise
            report.seek(0)
            return Completed(report.read().decode("utf-8", "replace"), stderr, child.returncode)

    def _refuse_beside_unkillable(self, command: str) -> None:
        left = self._unkillable.get(command)
        if left is not None and left.poll() is None:
            raise TimeoutError(_UNKILLABLE)
        self._unkillable.pop(command, None)

    def _end(self, command: str, child: subprocess.Popen[str]) -> str:
        """Kill the child's process group, reap the child and return its last line on stderr."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        try:
            _, stderr = child.communicate(timeout=_REAP_S)
        except subprocess.TimeoutExpired:
            for pipe in (child.stdout, child.stderr):
                if pipe is not None:
                    pipe.close()
            self._unkillable[command] = child
            return _UNKILLABLE
        return _last_line(stderr)

    def _environment(self) -> dict[str, str]:
        # Add sbin, where lvm2 is: the PATH of an operator's shell may lack sbin.
        path = os.pathsep.join((os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"))
        fixed = {"PATH": path, "LC_ALL": "C", "LVM_SUPPRESS_FD_WARNINGS": "1"}
        return {**os.environ, **fixed, **self.environment}


def volumes_command(groups: tuple[str, ...]) -> tuple[str, ...]:
    """Return the command that reports all volumes of these groups; the command fails if a group is missing."""
    return ("lvs", "-a", *lvm_json.FORMAT, "-o", lvm_json.VOLUME_COLUMNS, *groups)


@dataclass(frozen=True, slots=True)
class Lvm:
    """The StorageSource that reads the volume groups in ``groups``. It exists only if a group is configured."""

    groups: tuple[str, ...]
    deadline_s: float
    runner: Runner = field(default_factory=SubprocessRunner)
    name: str = snapshot.LVM

    def read(self, deadline: Deadline) -> StorageFacts:
        """Return the configured volume groups that exist, and all their volumes, sorted by name.

        Raises SourceUnavailable if lvm2 is missing, fails or does not answer in time. Raises SourceInconsistent on a
        report that cannot be true, such as a report without any group (lvm2 lacks privileges and exits with 0).
        """
        limit = Deadline.after(min(self.deadline_s, deadline.left_s()))
        for _ in range(READS - 1):
            with contextlib.suppress(lvm_json.ReportsDiffer):
                return self._read_once(limit)
        return self._read_once(limit)

    def _read_once(self, limit: Deadline) -> StorageFacts:
        groups = self._read_groups(limit)
        if not groups:
            return StorageFacts()
        names = tuple(group.name for group in groups)
        report = self._run(volumes_command(names), limit)
        return lvm_json.parse_storage(report.stdout, groups)

    def _read_groups(self, limit: Deadline) -> tuple[VolumeGroup, ...]:
        report = self._run(GROUPS_COMMAND, limit)
        groups = lvm_json.parse_groups(report.stdout)
        if not groups:
            last_line = f"; vgs printed: {report.last_line}" if report.last_line else ""
            raise SourceInconsistent(
                self.name,
                f"vgs ended with 0 and lists no volume group at all, but {', '.join(self.groups)} is configured: "
                "most likely vgs lacks privileges (root with CAP_SYS_ADMIN and CAP_FOWNER) or cannot see the devices "
                f"(PrivateDevices=, a filter in lvm.conf){last_line}",
            )
        return lvm_json.select(groups, self.groups)

    def _run(self, argv: tuple[str, ...], limit: Deadline) -> Completed:
        command = Command(self.name, argv[0], argv, " (lvm2)")
        for _ in range(RUNS):
            completed = command.run(self.runner, limit)
            if completed.returncode >= 0:
                break
        if completed.returncode == 0:
            return completed
        raise SourceUnavailable(self.name, f"{argv[0]} {_ended(completed.returncode)}: {completed.reason}")


def _ended(returncode: int) -> str:
    if returncode > 0:
        return f"failed with exit status {returncode}"
    try:
        name = signal.Signals(-returncode).name
    except ValueError:
        name = f"signal {-returncode}"
    return f"was ended by {name}, {RUNS} times"


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else ""
