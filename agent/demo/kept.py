"""Record in a demo cloud's folder that the cloud was left running, find this user's kept clouds, and remove them.

A cloud's folder is in the system's folder for temporary files, and only the folder's owner can read it.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PREFIX = "stocktake-demo-"
_FILE = "kept.json"
_END_S = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """A cloud that ``stocktake demo --keep`` left running: its folder, processes, and volume groups' loop devices."""

    folder: Path
    pid: int
    devices: tuple[str, ...]
    agents: tuple[int, ...] = ()
    hosts: tuple[str, ...] = ()

    def remember(self) -> None:
        """Write the file by which ``kept_clouds`` finds the cloud."""
        kept = {"pid": self.pid, "devices": self.devices, "agents": self.agents, "hosts": self.hosts}
        text = json.dumps(kept)
        (self.folder / _FILE).write_text(text, encoding="utf-8")

    def end(self) -> None:
        """End the cloud's processes, detach the volume groups' loop devices, and remove the cloud's folder."""
        for pid in (*self.agents, self.pid):
            if _is_ours(pid, self.folder):
                _end_process(pid)
        for device in self.devices:
            if _is_backed_by(device, self.folder):
                subprocess.run(["losetup", "--detach", device], capture_output=True, check=False, timeout=_END_S)
        shutil.rmtree(self.folder, ignore_errors=True)


def kept_clouds() -> Iterator[Kept]:
    """Yield each cloud that this user's ``stocktake demo --keep`` left running, the oldest first."""
    for file in sorted(Path(tempfile.gettempdir()).glob(f"{PREFIX}*/{_FILE}"), key=_written_at):
        if (found := kept_in(file.parent)) is not None:
            yield found


def _written_at(file: Path) -> float:
    """Return when the file was written, in seconds since 1970; 0 if another process has just removed the file.

    ``kept_clouds`` sorts by this time. It cannot sort by the time of the cloud's folder, because that time changes
    whenever the running cloud makes a file.
    """
    try:
        return file.stat().st_mtime
    except OSError:
        return 0.0


def kept_in(folder: Path) -> Kept | None:
    """Return the kept cloud in ``folder``; None if there is none or the folder belongs to another user."""
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
        if folder.stat().st_uid == os.getuid():
            found = json.loads((folder / _FILE).read_text(encoding="utf-8"))
            return Kept(
                folder=folder.resolve(),
                pid=int(found["pid"]),
                devices=tuple(map(str, found["devices"])),
                agents=tuple(map(int, found.get("agents", ()))),
                hosts=tuple(map(str, found.get("hosts", ()))),
            )
    return None


def _is_ours(pid: int, folder: Path) -> bool:
    """Return whether the process still belongs to the demo: its command line names the folder."""
    try:
        return str(folder).encode() in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


def _end_process(pid: int) -> None:
    ends_at = time.monotonic() + _END_S
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGTERM)
        while time.monotonic() < ends_at and Path(f"/proc/{pid}").exists():
            time.sleep(0.05)
        if Path(f"/proc/{pid}").exists():
            os.kill(pid, signal.SIGKILL)


def _is_backed_by(device: str, folder: Path) -> bool:
    """Return whether the loop device still uses a file of the folder; another program may use the device by now."""
    try:
        backing = Path(f"/sys/block/{Path(device).name}/loop/backing_file").read_text(encoding="utf-8").strip()
    except OSError:
        return False
    return backing.startswith(f"{folder}/")
