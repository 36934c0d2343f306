"""Real file systems for tests, mounted and unmounted by mount(8): in memory (tmpfs), and ext4 on a loop device."""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path

import pytest

needs_mounts = pytest.mark.skipif(os.geteuid() != 0, reason="needs root: mount(8)")


def run(*argv: str) -> str:
    """Return a command's output; raise AssertionError with its error output if it fails."""
    done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, f"{argv}: {done.stderr}"
    return done.stdout


class Mounts:
    """The mounts of one test; ``close`` unmounts the remaining ones, the last first."""

    def __init__(self) -> None:
        self._places: list[Path] = []
        self._loops: list[tuple[str, Path]] = []

    def tmpfs(self, place: Path, size_gib: int) -> None:
        """Mount an empty file system of that size; it occupies no memory until a file is written."""
        self._tmpfs(place, f"{size_gib}g")

    def small_tmpfs(self, place: Path, size_kib: int) -> None:
        """Mount an empty file system that a test can fill."""
        self._tmpfs(place, f"{size_kib}k")

    def _tmpfs(self, place: Path, size: str) -> None:
        place.mkdir(parents=True, exist_ok=True)
        try:
            run("mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(place))
        except AssertionError as error:
            pytest.skip(f"no file system can be mounted here: {error}")
        self._places.append(place)

    def ext4(self, place: Path, image: Path) -> None:
        """Mount the file system of that image."""
        place.mkdir(parents=True, exist_ok=True)
        try:
            run("mount", "-t", "ext4", "-o", "loop", str(image), str(place))
        except AssertionError as error:
            pytest.skip(f"no loop device can be mounted here: {error}")
        self._places.append(place)

    def bind(self, what: Path, place: Path) -> None:
        """Mount the same folder at a second place."""
        place.mkdir(parents=True, exist_ok=True)
        run("mount", "--bind", str(what), str(place))
        self._places.append(place)

    def resize(self, place: Path, size_gib: int) -> None:
        """Change the size of the tmpfs at that place; its files remain."""
        run("mount", "-o", f"remount,size={size_gib}g", str(place))

    def loop(self) -> None:
        """Occupy a loop device until ``close``, so that the next mount uses another one."""
        with tempfile.NamedTemporaryFile(delete=False) as file:
            file.truncate(1 << 20)
        self._loops.append((run("losetup", "--find", "--show", file.name).strip(), Path(file.name)))

    def unmount(self, place: Path) -> None:
        """Unmount the topmost file system at that place."""
        run("umount", str(place))
        self._places.reverse()
        self._places.remove(place)
        self._places.reverse()

    def close(self) -> None:
        """Unmount all remaining file systems and detach the loop devices."""
        while self._places:
            run("umount", "--lazy", str(self._places.pop()))
        while self._loops:
            device, file = self._loops.pop()
            run("losetup", "--detach", device)
            file.unlink()


def ext4_image(path: Path, size_mib: int, uuid: str) -> Path:
    """Make a file with an ext4 file system of that UUID; return its path."""
    with path.open("xb") as file:
        file.truncate(size_mib << 20)
    run("mkfs.ext4", "-q", "-U", uuid, str(path))
    return path
