"""An audit reads the guests' files that libvirt names; a manual command forces a new measurement."""

import dataclasses
from types import SimpleNamespace

import pytest

from agent.audit.parts import AuditTask, Parts
from agent.audit.read import read
from agent.deadlines.reader_thread import ReaderThread
from agent.errors import SourceUnavailable
from agent.model.audit import AuditMemory, AuditRequest, Depth
from agent.model.host.facts import Disk
from agent.model.snapshot import IMAGES
from agent.sources.storage.images import Images
from tests.rigs.facts import domain, host, settings, state


class Answers:
    """A source that returns the answer it was constructed with."""

    def __init__(self, name, answer):
        self.name = name
        self.answer = answer

    def read(self, *_):
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


@pytest.fixture
def thread():
    made = ReaderThread(IMAGES)
    yield made
    made.stop()


@pytest.fixture
def images(tmp_path, thread):
    (tmp_path / "disk").write_bytes(b"x" * 1000)
    return Images(str(tmp_path), str(tmp_path / "_base"), thread)


@pytest.fixture
def guest(tmp_path):
    return domain("i1", disks=(Disk(target="vda", kind="file", source=str(tmp_path / "disk"), format="raw"),))


def task(images, libvirt, depth=Depth.ECONOMICAL):
    nothing = SimpleNamespace()
    parts = Parts(
        state=Answers("state", state()),
        host=Answers("libvirt", libvirt),
        storage=(),
        reader=nothing,
        reporter=nothing,
        identity_files=SimpleNamespace(may_be_elsewhere=False),
        history=nothing,
        lock=nothing,
        clock=SimpleNamespace(now=lambda: "2026-11-21T12:00:00.000Z", monotonic=lambda: 1.0, boot=str),
        images=images,
    )
    request = AuditRequest(reasons=("test",), depth=depth)
    return AuditTask(request=request, settings=settings(), parts=parts, cancelled=lambda: False)


def test_an_audit_measures_the_disk_files_libvirt_lists(images, guest):
    found = read(task(images, host(guest)), AuditMemory())
    assert [reading.source for reading in found.storage] == [IMAGES]
    assert [file.virtual_bytes for file in found.stored.disk_files] == [1000]


def test_only_a_full_audit_measures_disk_files_again(images, guest):
    """An ordinary audit uses the sizes of the guests' disk files that a recent audit measured."""
    first = read(task(images, host(guest)), AuditMemory()).storage[0].value
    assert read(task(images, host(guest)), AuditMemory()).storage[0].value is first
    assert read(task(images, host(guest), Depth.FULL), AuditMemory()).storage[0].value is not first


def test_the_instances_folder_is_measured_without_libvirt(images, tmp_path):
    """If libvirt cannot be read, the agent still measures nova's instances folder."""
    found = read(task(images, SourceUnavailable("libvirt", "gone")), AuditMemory())
    assert found.stored.disk_files == ()
    assert [store.path for store in found.stored.image_stores] == [str(tmp_path)]


def test_unreadable_guest_disks_do_not_stop_an_audit(images, thread, guest):
    """The agent cannot measure the guests' disk files, and still reads libvirt in the same audit."""
    thread.stop()
    found = read(task(images, host(guest)), AuditMemory())
    (reading,) = found.storage
    assert (reading.source, reading.ok) == (IMAGES, False)
    assert found.host.ok


def test_disk_files_are_not_measured_in_the_demo(images, guest):
    """The agent of the demo does not measure the guests' disk files."""
    asked = task(images, host(guest))
    without = dataclasses.replace(asked, parts=dataclasses.replace(asked.parts, images=None))
    assert read(without, AuditMemory()).storage == ()
