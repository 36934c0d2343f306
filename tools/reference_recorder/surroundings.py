"""Surroundings that some configurations need: volume group, huge pages, base images; each is made and removed.

Each is a context manager over a scratch folder. It yields the environment with which nova-compute and the recorder's
commands see the surroundings.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from agent.demo.volume_group import VolumeGroupRig

GROUP = "nova-images"
_GIB = 1 << 30
_HUGE_PAGES = Path("/proc/sys/vm/nr_hugepages")


@dataclass(frozen=True, slots=True)
class Scratch:
    """The folders of one run of nova-compute."""

    folder: Path

    @property
    def state(self) -> Path:
        """state_path."""
        return self.folder / "state"

    @property
    def instances(self) -> Path:
        """instances_path."""
        return self.state / "instances"

    @property
    def images(self) -> Path:
        """Base images."""
        return self.instances / "_base"

    @property
    def provider_files(self) -> Path:
        """provider_config_location."""
        return self.folder / "provider_config"


@contextmanager
def nothing(scratch: Scratch) -> Iterator[Mapping[str, str]]:  # noqa: ARG001 (all have this signature)
    """Yield without making anything."""
    yield {}


@contextmanager
def volume_group(scratch: Scratch) -> Iterator[Mapping[str, str]]:
    """Yield a group of 20 GiB with 3 GiB of foreign volumes and 1.5 GiB of block storage's in it."""
    with VolumeGroupRig(folder=scratch.folder, name=GROUP, size_bytes=20 * _GIB) as group:
        group.add_volume("backup", 3 * _GIB)
        group.add_volume("volume-7a1f4b1e-3a4b-4f0c-9d3a-0b9a5f6c1d2e", 3 * _GIB // 2)
        yield group.environment


@contextmanager
def huge_pages(scratch: Scratch) -> Iterator[Mapping[str, str]]:  # noqa: ARG001
    """Yield with 64 pages of 2 MiB; raise SystemExit if the kernel has no room for them."""
    before = _HUGE_PAGES.read_text()
    try:
        _HUGE_PAGES.write_text("64")
        if int(_HUGE_PAGES.read_text()) != 64:
            raise SystemExit("the kernel gives no 64 huge pages")
        yield {}
    finally:
        _HUGE_PAGES.write_text(before)


@contextmanager
def cached_images(scratch: Scratch) -> Iterator[Mapping[str, str]]:
    """Yield with base images: one of 2.5 GiB on disk, a sparse one of 8 GiB, and a folder, which does not count."""
    (scratch.images / "ephemeral_parts").mkdir(parents=True)
    (scratch.images / "ephemeral_parts" / "inner").write_bytes(bytes(4096))
    with (scratch.images / "0a1b2c3d4e5f60718293a4b5c6d7e8f901234567").open("wb") as whole:
        os.posix_fallocate(whole.fileno(), 0, 5 * _GIB // 2)
    with (scratch.images / "89abcdef0123456789abcdef0123456789abcdef").open("wb") as sparse:
        sparse.truncate(8 * _GIB)
    yield {}
