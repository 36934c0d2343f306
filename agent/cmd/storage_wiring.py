"""Build the sources that read storage: volume groups, persistent memory, Ceph pools and file systems.

The sources that run commands (LVM, Ceph, ndctl) and the clients of stocktake-probe are imported late, to save
memory: few hosts use more than one of them. The casts are only for mypy: ``name`` is writable in the protocol, but
read-only in the sources, which are frozen dataclasses.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, cast

from agent.config import build
from agent.config.agent_options import probe_socket
from agent.config.loaded import Loaded
from agent.deadlines.reader_thread import ReaderThread
from agent.model.settings import Settings
from agent.model.snapshot import CEPH, LVM, PMEM
from agent.ports import StorageSource
from agent.sources.storage.filesystem import FileSystems

if TYPE_CHECKING:
    from agent.sources.storage.image_meter import ImageMeter
    from agent.sources.storage.lvm import Runner


def runner_for(loaded: Loaded, source: str) -> Runner:
    """Return the object that runs the source's commands: by stocktake-probe if configured, else as child processes."""
    from agent.sources.storage.lvm import SubprocessRunner

    path = probe_socket(loaded)
    if path is None:
        return SubprocessRunner()
    from agent.sources.probe.runner import ProbeRunner

    return ProbeRunner(path, source)


def image_meter(loaded: Loaded) -> ImageMeter | None:
    """Return the object that measures guests' disk files through stocktake-probe; None if no probe is configured."""
    path = probe_socket(loaded)
    if path is None:
        return None
    from agent.sources.probe.storage import ProbeMeter

    return ProbeMeter(path)


def storage_of(loaded: Loaded, settings: Settings, disk_reader: ReaderThread) -> tuple[StorageSource, ...]:
    """Return the configured storage sources. Raises ConfigError if a value is malformed."""
    commands = (*_groups(loaded, settings), *_pmem(loaded, settings))
    if settings.disk_group is not None:
        return commands
    return (*commands, *_pools(loaded), _file_systems(loaded, settings.instances_path, disk_reader))


def _groups(loaded: Loaded, settings: Settings) -> tuple[StorageSource, ...]:
    if not settings.volume_groups:
        return ()
    from agent.sources.storage.lvm import Lvm

    lvm = Lvm(settings.volume_groups, loaded.value("lvm", "deadline"), runner_for(loaded, LVM))
    return (cast(StorageSource, lvm),)


def _pmem(loaded: Loaded, settings: Settings) -> tuple[StorageSource, ...]:
    if not settings.pmem_labels:
        return ()
    from agent.sources.storage.ndctl import Ndctl

    return (cast(StorageSource, Ndctl(settings.source_deadline_s, runner_for(loaded, PMEM))),)


def _pools(loaded: Loaded) -> tuple[StorageSource, ...]:
    ceph = build.ceph_access(loaded)
    if ceph is None:
        return ()
    from agent.sources.storage.ceph import Ceph

    return (cast(StorageSource, Ceph(ceph, runner_for(loaded, CEPH))),)


def _file_systems(loaded: Loaded, path: str, reader: ReaderThread) -> FileSystems:
    probe = probe_socket(loaded)
    if probe is None:
        return FileSystems((path,), reader)
    from agent.sources.probe.storage import measure_file_system

    return FileSystems((path,), reader, functools.partial(measure_file_system, probe))
