"""Worlds for tests of the store: its own file system, the root file system below it, and the remembered mark."""

from __future__ import annotations

import dataclasses
from typing import Any

from agent.model.host.facts import Disk, Domain
from agent.model.host.storage import DiskFile, FileSystem, FileSystemIdentity, StorageFacts
from agent.model.host.store import StoreMark
from agent.model.snapshot import FILESYSTEM, IMAGES, LVM, Snapshot
from agent.model.units import GIB
from tests.rigs.facts import INSTANCES, domain, good

DISK = f"{INSTANCES}/i1/disk"
OF_STORE = FileSystemIdentity(mount_point=INSTANCES, kind="xfs", device="/dev/vdb", inner="/", uuid="store-uuid")
OF_ROOT = FileSystemIdentity(mount_point="/", kind="ext4", device="/dev/vda", inner=INSTANCES, uuid="root-uuid")


def on_disk(size_gib: float, identity: FileSystemIdentity | None = OF_STORE) -> FileSystem:
    """Return the store on its own file system."""
    size = int(size_gib * GIB)
    return FileSystem(path=INSTANCES, size_bytes=size, free_bytes=size, available_bytes=size, identity=identity)


def on_root(size_gib: float) -> FileSystem:
    """Return the store's folder on the root file system, as if the store were not mounted."""
    return on_disk(size_gib, OF_ROOT)


def mark(size_gib: float, identity: FileSystemIdentity | None = OF_STORE, **changes: Any) -> StoreMark:
    """Return the remembered mark of a file system."""
    plain = StoreMark(
        source=FILESYSTEM,
        name=INSTANCES,
        size_bytes=int(size_gib * GIB),
        uuid=identity.uuid if identity else None,
        filesystem=identity,
    )
    return dataclasses.replace(plain, **changes)


def vg_mark(size_gib: float, **changes: Any) -> StoreMark:
    """Return the remembered mark of volume group vg0 as ``facts.group`` makes it."""
    plain = StoreMark(source=LVM, name="vg0", size_bytes=int(size_gib * GIB), uuid="uuid-of-vg0")
    return dataclasses.replace(plain, **changes)


def guest(*disks: str, kind: str = "file") -> Domain:
    """Return guest i1 with disks of these sources; DISK if no source is given."""
    named = tuple(Disk(target=f"vd{n}", kind=kind, source=source) for n, source in enumerate(disks or (DISK,)))
    return domain("i1", disks=named)


def store(
    world: Snapshot,
    found: FileSystem,
    *,
    before: StoreMark | None,
    present: tuple[str, ...] = (),
    missing: tuple[str, ...] = (),
) -> Snapshot:
    """Return the world with that store, the measured disk files of its guests, and that remembered mark."""
    files = [
        *(DiskFile(path=path, format="raw", virtual_bytes=GIB, allocated_bytes=GIB) for path in present),
        *(_missing(path) for path in missing),
    ]
    kept = tuple(reading for reading in world.storage if reading.source != FILESYSTEM)
    read = (
        good(FILESYSTEM, StorageFacts(filesystems=(found,))),
        good(IMAGES, StorageFacts(disk_files=tuple(sorted(files, key=lambda file: file.path)))),
    )
    return dataclasses.replace(world, storage=(*kept, *read), store=before)


def _missing(path: str) -> DiskFile:
    problem = "ENOENT: No such file or directory"
    return DiskFile(
        path=path, format="raw", virtual_bytes=None, allocated_bytes=None, problem=problem, error_name="ENOENT"
    )
