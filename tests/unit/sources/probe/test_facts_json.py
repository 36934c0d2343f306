"""Values that the probe read, as JSON and back; an answer of another shape is unusable."""

import copy
import json

import pytest

from agent.model.host.storage import DiskFile, FileSystem, FileSystemIdentity, ImageStore, StorageFacts, StoredFile
from agent.sources.libvirt.capability_questions import DomainAnswer, MachineQuestion
from agent.sources.probe.facts_json import Measured, answers_object, answers_of, measured_object, measured_of
from agent.sources.probe.protocol import BadMessage

IDENTITY = FileSystemIdentity(mount_point="/srv", kind="xfs", device="/dev/vdb", inner="/", uuid="0-1")
STORE = ImageStore(
    path="/srv/i",
    files=(StoredFile(path="/srv/i/u", allocated_bytes=4096),),
    cache_path="/srv/i/_base",
    cache_bytes=None,
    filesystem=FileSystem(path="/srv/i", size_bytes=9, free_bytes=8, available_bytes=7),
)
MEASURED = Measured(
    facts=StorageFacts(
        filesystems=(FileSystem(path="/srv", size_bytes=3, free_bytes=2, available_bytes=1, identity=IDENTITY),),
        disk_files=(
            DiskFile(path="/srv/i/u/disk", format="qcow2", virtual_bytes=5, allocated_bytes=1),
            DiskFile(
                path="/d\ud800", format="raw", virtual_bytes=None, allocated_bytes=None, problem="?", error_name="EIO"
            ),
        ),
        image_stores=(STORE,),
        unread=(("/srv/i/_base", "EACCES"),),
    ),
    guests_unread="no libvirt",
)
PC = MachineQuestion(emulator="/usr/bin/qemu", arch="x86_64", machine="pc", names=("pc", "pc-i440fx-7.2"))
Q35 = MachineQuestion(emulator="/usr/bin/qemu", arch="x86_64", machine=None, names=())
ANSWERS = (DomainAnswer(question=PC, xml="<d/>"), DomainAnswer(question=Q35, code=8, why="no such machine"))


def through_json(document):
    return json.loads(json.dumps(document))


def test_a_measurement_converted_to_json_and_back_is_unchanged():
    """The probe sends its measurements of disks and file systems as JSON, and the agent reads them without a change."""
    assert measured_of(through_json(measured_object(MEASURED))) == MEASURED


def test_libvirt_answers_come_in_the_order_of_the_queries():
    """The agent sends several libvirt queries to stocktake-probe and gets the answers in the order of the queries."""
    document = through_json(answers_object("kvm", ANSWERS))
    assert answers_of(document, (Q35, PC), "kvm") == (ANSWERS[1], ANSWERS[0])


def test_libvirt_queries_without_an_answer_are_left_out():
    """The probe answers one of the agent's two libvirt queries, and the agent gets only this answer."""
    assert answers_of(through_json(answers_object("kvm", ANSWERS[:1])), (PC, Q35), "kvm") == ANSWERS[:1]


def test_libvirt_data_for_another_virt_type_are_rejected():
    """The agent rejects libvirt data from stocktake-probe if the probe has another virt_type than the agent."""
    with pytest.raises(BadMessage, match="virt_type is 'qemu' in the probe's configuration"):
        answers_of(through_json(answers_object("qemu", ANSWERS)), (PC, Q35), "kvm")


BROKEN = {
    "no-object": lambda document: document.update(facts=7),
    "a-key-is-missing": lambda document: document["facts"].pop("unread"),
    "another-key": lambda document: document.update(extra=1),
    "text-for-a-number": lambda document: document["facts"]["disk_files"][0].update(virtual_bytes="5"),
    "a-truth-value-for-a-number": lambda document: document["facts"]["disk_files"][0].update(virtual_bytes=True),
    "null-for-a-number": lambda document: document["facts"]["filesystems"][0].update(size_bytes=None),
    "no-list": lambda document: document["facts"].update(filesystems={}),
    "half-a-pair": lambda document: document["facts"]["unread"][0].pop(),
}


@pytest.mark.parametrize("breaks", BROKEN.values(), ids=BROKEN)
def test_probe_json_with_an_unexpected_structure_is_rejected(breaks):
    """The agent rejects JSON from the probe with a missing or unknown key or with a value of the wrong type."""
    document = copy.deepcopy(through_json(measured_object(MEASURED)))
    breaks(document)
    with pytest.raises(BadMessage):
        measured_of(document)
