"""Measure file systems, guests' disk files and nova's image folder through stocktake-probe.

A request to the probe must not contain a path, so the probe itself asks libvirt for the guests' disks. If the probe did
not measure a disk that libvirt named to the agent, the read fails, and the next audit asks again.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable
from dataclasses import dataclass

from agent.errors import SourceUnavailable
from agent.model.host.storage import DiskFile, FileSystem, GuestFile, StorageFacts
from agent.model.snapshot import IMAGES
from agent.ports import Deadline
from agent.sources.probe.client import ask_facts
from agent.sources.probe.facts_json import Measured, measured_of
from agent.sources.probe.protocol import LONGEST_DEADLINE_S, BadMessage, Verb
from agent.sources.storage.filesystem import SOURCE as FILE_SYSTEMS


@dataclass(frozen=True, slots=True)
class ProbeMeter:
    """Measures guests' disk files and nova's image folder by asking stocktake-probe. ``path`` is the probe's socket."""

    path: str

    def measure(self, disks: frozenset[GuestFile], _go_to: Callable[[str], None], /) -> StorageFacts:
        """Return what the probe measured, without guests' disks that are not in ``disks``. Raises SourceUnavailable."""
        # The probe may take the longest time that its protocol allows. If the probe answers only after this read's
        # deadline, the measurement is not lost: the next read uses it.
        measured = _ask(self.path, IMAGES, Verb.IMAGES, Deadline.after(LONGEST_DEADLINE_S))
        found = {GuestFile(path=file.path, format=file.format): file for file in measured.facts.disk_files}
        lacking = sorted(disks - found.keys())
        if lacking:
            why = measured.guests_unread or "libvirt did not name this disk to the probe"
            raise SourceUnavailable(IMAGES, f"stocktake-probe did not measure {lacking[0].path}: {why}")
        files = tuple(file for disk, file in found.items() if disk in disks)
        return dataclasses.replace(measured.facts, disk_files=files)

    def still_fails(self, _file: DiskFile, _go_to: Callable[[str], None], /) -> bool:
        """Return False, so that the caller measures all disks again: the probe cannot measure one disk alone."""
        return False

    def changed_ns(self, path: str) -> object:
        """Return when the folder last changed, in ns; None if the folder does not exist.

        If the time cannot be read, return an object that equals no other object, so that the caller measures again.
        """
        try:
            return os.stat(path).st_mtime_ns
        except FileNotFoundError:
            return None
        except OSError:
            return object()


def measure_file_system(socket_path: str, path: str, deadline: Deadline) -> FileSystem:
    """Return the sizes and the identity of the file system at ``path``. Raises SourceUnavailable."""
    facts = _ask(socket_path, FILE_SYSTEMS, Verb.FILE_SYSTEMS, deadline).facts
    for found in facts.filesystems:
        if found.path == path:
            return found
    why = dict(facts.unread).get(path, f"stocktake-probe did not measure {path}: its configuration has another path")
    raise SourceUnavailable(FILE_SYSTEMS, why)


def _ask(path: str, source: str, verb: Verb, deadline: Deadline) -> Measured:
    document = ask_facts(path, source, verb, deadline)
    try:
        return measured_of(document)
    except BadMessage as error:
        raise SourceUnavailable(source, f"stocktake-probe ({path}) gave no usable answer: {error}") from error
