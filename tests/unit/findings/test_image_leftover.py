"""image-leftover: the folder of an instance that is not here any more. Who owns a folder: test_image_ledger.py."""

from __future__ import annotations

import dataclasses

import pytest

from agent.model.finding import Severity
from agent.model.host.storage import FileSystem, ImageStore, StorageFacts, StoredFile
from agent.model.nova import StateKind
from agent.model.snapshot import IMAGES, LIBVIRT, STATE
from agent.model.units import GIB
from tests.rigs.facts import (
    INCOMING,
    INSTANCES,
    ROOT_UUID,
    decided,
    domain,
    failed,
    findings,
    good,
    host,
    instance,
    migration,
    reserves,
    snapshot,
    state,
    uuid,
    without,
)

CODE = "image-leftover"
I1 = uuid("i1")
FOLDER = f"{INSTANCES}/{I1}"


def world(path=FOLDER, shared="", **changes):
    """Return a host with that folder of 5368709120 bytes."""
    store = ImageStore(
        path=INSTANCES,
        files=(StoredFile(path=path, allocated_bytes=5368709120),),
        cache_path=f"{INSTANCES}/_base",
        cache_bytes=0,
        filesystem=FileSystem(path=INSTANCES, size_bytes=99 * GIB, free_bytes=9 * GIB, available_bytes=9 * GIB),
        shared_because=shared,
    )
    read = snapshot(**changes)
    return dataclasses.replace(read, storage=(*read.storage, good(IMAGES, StorageFacts(image_stores=(store,)))))


GONE = f"instance {I1} is not on this host"
TOLD = {
    "no row": (world(), GONE),
    "deleted": (world(nova=state(instance(deleted=True))), f"instance {I1} is deleted"),
    "lives elsewhere": (world(nova=state(instance(host="cmp2", node="x"))), f"instance {I1} lives on cmp2"),
    "shelved": (world(nova=state(instance(host=None, node=None))), f"instance {I1} lives on no host"),
    "of before a resize that is over": (
        world(f"{FOLDER}_resize", nova=state(instance())),
        f"instance {I1} is on this host and is not being resized",
    ),
    "nova could not remove it": (world(f"{FOLDER}_del"), GONE),
}


@pytest.mark.parametrize(("read", "whereabouts"), TOLD.values(), ids=TOLD.keys())
def test_the_finding_shows_path_and_size_of_the_folder(read, whereabouts):
    """If an instance has left this host and its image folder remains, the finding shows the folder's path and size."""
    (found,) = findings(read, CODE)
    assert (found.provider_uuid, found.consumer_uuid, found.resource_class) == (ROOT_UUID, I1, None)
    assert found.subject.startswith(FOLDER)
    assert found.expected == "every folder named after an instance belongs to an instance of this host"
    assert found.actual == f"folder {found.subject} takes 5 GiB (5368709120 bytes); {whereabouts}"
    assert dict(found.facts) == {"path": found.subject, "size_bytes": 5368709120}
    assert found.severity is Severity.WARNING
    assert "backing file" in found.remedy


def test_a_leftover_folder_is_not_added_to_reserved_disk_gb():
    assert reserves(decided(world()))["DISK_GB"] == 0


QUIET = {
    "an instance of this host": world(nova=state(instance())),
    "soft-deleted": world(nova=state(instance(vm_state="soft-delete"))),
    "being deleted": world(f"{FOLDER}_del", nova=state(instance(task_state="deleting"))),
    "left, room kept for a revert": world(
        f"{FOLDER}_resize",
        nova=state(instance(host="cmp2", node="x"), migrations=(migration(status="finished"),)),
    ),
    "coming": world(nova=state(instance(host="cmp2", node="x"), migrations=(migration(**INCOMING),))),
    "its guest is still defined": world(libvirt=host(domain("i1"))),
    "made by hand": world(f"{INSTANCES}/backup"),
    "no cloud": world(nova=state(kind=StateKind.NONE)),
    "other hosts keep theirs there too": world(shared="the folder's file system is nfs4"),
    "a row that does not parse": world(nova=state(unreadable=("instance 7",))),
    "state not read": without(world(), STATE),
    "libvirt not read": without(world(), LIBVIRT),
}


@pytest.mark.parametrize("read", QUIET.values(), ids=QUIET.keys())
def test_a_possibly_needed_image_folder_is_not_reported(read):
    """The agent reports no image folder that an instance may still need or that an operator made."""
    assert findings(read, CODE) == ()


def test_an_unread_image_folder_causes_no_finding():
    """If the folder with the disk images could not be read, the agent reports no leftover in it."""
    read = world()
    assert findings(dataclasses.replace(read, storage=(*read.storage[:-1], failed(IMAGES))), CODE) == ()
