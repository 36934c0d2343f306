"""Real file systems for tests, mounted and unmounted by mount(8): in memory (tmpfs), and ext4 over a loop device."""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path

import pytest

needs_mounts = pytest.mark.skipif(os.geteuid() != 0, reason="needs root: mount(8)")


def run(*argv: str) -> str:
    """What a command prints; AssertionError with its words when it fails."""
    done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, f"{argv}: {done.stderr}"
    return done.stdout


class Mounts:
    """What one test has mounted; ``close`` unmounts what is left, the last first."""

    def __init__(self) -> None:
        self._places: list[Path] = []
        self._loops: list[tuple[str, Path]] = []

    def tmpfs(self, place: Path, size_gib: int) -> None:
        """An empty file system of that size; no memory is taken before something is written."""
        place.mkdir(parents=True, exist_ok=True)
        try:
            run("mount", "-t", "tmpfs", "-o", f"size={size_gib}g", "tmpfs", str(place))
        except AssertionError as error:
            pytest.skip(f"no file system can be mounted here: {error}")
        self._places.append(place)

    def ext4(self, place: Path, image: Path) -> None:
        """The file system of that image."""
        place.mkdir(parents=True, exist_ok=True)
        try:
            run("mount", "-t", "ext4", "-o", "loop", str(image), str(place))
        except AssertionError as error:
            pytest.skip(f"no loop device can be mounted here: {error}")
        self._places.append(place)

    def bind(self, what: Path, place: Path) -> None:
        """The same folder at a second place."""
        place.mkdir(parents=True, exist_ok=True)
        run("mount", "--bind", str(what), str(place))
        self._places.append(place)

    def resize(self, place: Path, size_gib: int) -> None:
        """Another size for the tmpfs there, with all that is in it."""
        run("mount", "-o", f"remount,size={size_gib}g", str(place))

    def loop(self) -> None:
        """A loop device that is taken until ``close``, so that the next mount gets another one."""
        with tempfile.NamedTemporaryFile(delete=False) as file:
            file.truncate(1 << 20)
        self._loops.append((run("losetup", "--find", "--show", file.name).strip(), Path(file.name)))

    def unmount(self, place: Path) -> None:
        """The topmost file system that is mounted there."""
        run("umount", str(place))
        self._places.reverse()
        self._places.remove(place)
        self._places.reverse()

    def close(self) -> None:
        """Unmount all that is left."""
        while self._places:
            run("umount", "--lazy", str(self._places.pop()))
        while self._loops:
            device, file = self._loops.pop()
            run("losetup", "--detach", device)
            file.unlink()


def ext4_image(path: Path, size_mib: int, uuid: str) -> Path:
    """A file with an ext4 file system of that UUID."""
    with path.open("xb") as file:
        file.truncate(size_mib << 20)
    run("mkfs.ext4", "-q", "-U", uuid, str(path))
    return path
