"""Read file systems, guests' disk files, nova's image folder and domain capabilities as root, without other programs.

This code runs in stocktake-probe. An agent without stocktake-probe calls the functions of agent/sources itself.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from agent.errors import SourceUnavailable
from agent.model.host.storage import FileSystem, GuestFile, StorageFacts
from agent.sources.libvirt.capability_questions import GuestChoice
from agent.sources.libvirt.single_reads import domain_answers, guest_disks
from agent.sources.probe.facts_json import Measured, answers_object, measured_object
from agent.sources.probe.protocol import Answer, Kind
from agent.sources.storage.filesystem import measure_identified
from agent.sources.storage.image_meter import ImageFolders, measure_images


@dataclass(frozen=True, slots=True, kw_only=True)
class HostScope:
    """What the probe may use: libvirt's URI, the folders of disk images, and the [libvirt] options for guests."""

    libvirt_uri: str
    folders: ImageFolders
    guests: GuestChoice = field(default_factory=GuestChoice)


def file_systems(paths: tuple[str, ...]) -> Answer:
    """Return the file systems at these paths; ``unread`` has the paths that failed."""
    found: list[FileSystem] = []
    unread: list[tuple[str, str]] = []
    for path in paths:
        try:
            found.append(measure_identified(path))
        except OSError as error:
            unread.append((path, error.strerror or str(error)))
    return _facts(Measured(facts=StorageFacts(filesystems=tuple(found), unread=tuple(unread))))


def images(scope: HostScope) -> Answer:
    """Return the disk files of all guests, and nova's image folder.

    If libvirt does not answer, the guests' disk files are not known. The returned Answer then has only the folder, and
    says why the disk files are missing.
    """
    disks: frozenset[GuestFile] = frozenset()
    unread = ""
    try:
        disks = guest_disks(scope.libvirt_uri)
    except SourceUnavailable as error:
        unread = error.message
    return _facts(Measured(facts=measure_images(scope.folders, disks), guests_unread=unread))


def domain_capabilities(scope: HostScope) -> Answer:
    """Return what libvirt answers about each machine type that nova.conf may give to guests."""
    try:
        answers = domain_answers(scope.libvirt_uri, scope.guests)
    except SourceUnavailable as error:
        return Answer(kind=Kind.UNREAD, content=error.message)
    return Answer(kind=Kind.FACTS, content=answers_object(scope.guests.virt_type, answers))


def _facts(measured: Measured) -> Answer:
    return Answer(kind=Kind.FACTS, content=measured_object(measured))
