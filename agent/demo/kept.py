"""Remember a kept demo cloud in its folder, find the kept clouds of this user, and remove them.

The folder is below the system's folder for temporary files, and only its owner can read it.
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
    """A kept cloud: its folder, the process of its Placement, and the loop devices of its volume groups."""

    folder: Path
    pid: int
    devices: tuple[str, ...]

    def remember(self) -> None:
        """Write the file by which ``kept_clouds`` finds the cloud."""
        text = json.dumps({"pid": self.pid, "devices": list(self.devices)})
        (self.folder / _FILE).write_text(text, encoding="utf-8")

    def end(self) -> None:
        """End Placement, detach the loop devices and remove the folder, which contains the volume groups' files."""
        if _is_ours(self.pid, self.folder):
            _end_process(self.pid)
        for device in self.devices:
            if _is_backed_by(device, self.folder):
                subprocess.run(["losetup", "--detach", device], capture_output=True, check=False, timeout=_END_S)
        shutil.rmtree(self.folder, ignore_errors=True)


def kept_clouds() -> Iterator[Kept]:
    """Yield each kept cloud of this user, the oldest first."""
    folders = sorted(Path(tempfile.gettempdir()).glob(f"{PREFIX}*"), key=lambda folder: folder.stat().st_mtime)
    for folder in folders:
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            if folder.stat().st_uid != os.getuid():
                continue
            found = json.loads((folder / _FILE).read_text(encoding="utf-8"))
            yield Kept(folder=folder, pid=int(found["pid"]), devices=tuple(map(str, found["devices"])))


def _is_ours(pid: int, folder: Path) -> bool:
    """Return whether the process is still the demo's Placement server: then its command line names the folder."""
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
