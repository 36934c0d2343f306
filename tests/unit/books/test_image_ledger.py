"""The owners of every byte in the instances file system and in a Ceph pool, in rows that add up to the store's size."""

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.books.image_ledger import StoreOwner, image_store_rows, leftovers
from agent.model.host.facts import Disk, OddDomain
from agent.model.host.storage import CephPool, FileSystem, ImageStore, StorageFacts, StoredFile
from agent.model.nova import StateKind
from agent.model.snapshot import CEPH, IMAGES, LIBVIRT, STATE
from agent.model.units import GIB, MIB
from tests.rigs.facts import domain, good, host, instance, migration, snapshot, state, uuid, without

ROOT = "/i"
I1 = uuid("i1")
FOLDER = f"{ROOT}/{I1}"


def store(*files, size=100 * GIB, free=60 * GIB, available=55 * GIB, **changes):
    place = FileSystem(path=ROOT, size_bytes=size, free_bytes=free, available_bytes=available)
    plain = ImageStore(
        path=ROOT,
        files=tuple(StoredFile(path=path, allocated_bytes=taken) for path, taken in files),
        cache_path=f"{ROOT}/_base",
        cache_bytes=0,
        filesystem=place,
    )
    return dataclasses.replace(plain, **changes)


def world(found, **changes):
    read = snapshot(**changes)
    return dataclasses.replace(read, storage=(*read.storage, good(IMAGES, StorageFacts(image_stores=(found,)))))


def by_path(rows):
    return {row.source.partition(" ")[2]: (row.owner_kind, row.owner, row.size_bytes) for row in rows}


def test_the_storage_report_names_an_owner_for_every_byte():
    """The agent's report divides the file system of nova's instances folder into rows.

    Each row has an owner. The sizes of the rows add up to the size of the file system.
    """
    found = store(
        (ROOT, 4096),
        (f"{ROOT}/_base", 4096),
        (f"{ROOT}/_base/89ab", 2 * GIB),
        (FOLDER, 10 * GIB),
        (f"{ROOT}/{uuid('gone')}", GIB),
        (f"{ROOT}/by-hand.qcow2", 3 * GIB),
        (f"{ROOT}/locks", 4096),
        (f"{ROOT}/empty", 0),
    )
    hand = Disk(target="vda", kind="file", source=f"{ROOT}/by-hand.qcow2", format="qcow2")
    read = world(found, nova=state(instance()), libvirt=host(domain("i1"), domain("hand", disks=(hand,))))
    seen = 10 * GIB + 3 * GIB + 2 * GIB + GIB + 3 * 4096
    assert [(r.owner_kind, r.owner, r.size_bytes) for r in image_store_rows(read)] == [
        ("domain", uuid("hand"), 3 * GIB),
        ("image-cache", f"{ROOT}/_base", 4096),
        ("image-cache", f"{ROOT}/_base/89ab", 2 * GIB),
        ("instance", I1, 10 * GIB),
        ("leftover", uuid("gone"), GIB),
        ("other", ROOT, 4096),
        ("other", f"{ROOT}/locks", 4096),
        ("elsewhere", ROOT, 40 * GIB - seen),
        ("root-reserve", ROOT, 5 * GIB),
        ("free", "", 55 * GIB),
    ]
    assert {(r.store, r.store_bytes) for r in image_store_rows(read)} == {(ROOT, 100 * GIB)}
    assert sum(r.size_bytes for r in image_store_rows(read)) == 100 * GIB


HERE = state(instance())
ELSEWHERE = instance(host="cmp2", node="x")
AS_BEFORE = {
    "its instance is here": ("", HERE, host(), ("instance", I1)),
    "soft-deleted": ("", state(instance(vm_state="soft-delete")), host(), ("instance", I1)),
    "it is coming": ("", state(ELSEWHERE, migrations=(migration(kind="evacuation"),)), host(), ("instance", I1)),
    "of before a resize that is not confirmed": (
        "_resize",
        state(ELSEWHERE, migrations=(migration(status="finished"),)),
        host(),
        ("instance", I1),
    ),
    "of before a resize on this host": ("_resize", state(instance(vm_state="resized")), host(), ("instance", I1)),
    "of before a resize that is being confirmed": (
        "_resize",
        state(instance(task_state="resize_confirming")),
        host(),
        ("instance", I1),
    ),
    "of before a resize that is over": ("_resize", HERE, host(domain("i1")), ("leftover", I1)),
    "being deleted": ("_del", state(instance(task_state="deleting")), host(), ("instance", I1)),
    "deleted, and the folder stayed": ("_del", state(instance(deleted=True)), host(), ("leftover", I1)),
    "deleted": ("", state(instance(deleted=True)), host(), ("leftover", I1)),
    "no row": ("", state(), host(), ("leftover", I1)),
    "elsewhere": ("", state(ELSEWHERE), host(), ("leftover", I1)),
    "its move is over": (
        "",
        state(ELSEWHERE, migrations=(migration(status="confirmed"),)),
        host(),
        ("leftover", I1),
    ),
    "its guest is still defined": ("", state(), host(domain("i1")), ("domain", I1)),
    "its guest cannot be understood": (
        "",
        state(),
        host(odd_domains=(OddDomain(uuid=I1, name="i1", reason="?"),)),
        ("domain", I1),
    ),
    "another guest has a disk in it": (
        "",
        state(),
        host(domain("other", disks=(Disk(target="vda", kind="file", source=f"{FOLDER}/disk"),))),
        ("domain", uuid("other")),
    ),
    "a suffix that nova does not know": ("_backup", HERE, host(), ("other", f"{FOLDER}_backup")),
    "no cloud, its guest is defined": ("", state(kind=StateKind.NONE), host(domain("i1")), ("instance", I1)),
    "no cloud, nobody's": ("", state(kind=StateKind.NONE), host(), ("unknown", I1)),
    "a row that does not parse could be its": ("", state(unreadable=("migration 7",)), host(), ("unknown", I1)),
}


@pytest.mark.parametrize(("suffix", "nova", "libvirt", "owner"), AS_BEFORE.values(), ids=AS_BEFORE.keys())
def test_only_a_folder_without_an_owner_is_leftover(suffix, nova, libvirt, owner):
    """The agent lists an instance folder as leftover only if no instance or guest of this host owns the folder."""
    read = world(store((f"{FOLDER}{suffix}", GIB)), nova=nova, libvirt=libvirt)
    assert by_path(image_store_rows(read))[f"{FOLDER}{suffix}"] == (*owner, GIB)
    assert [left.path for left in leftovers(read)] == ([f"{FOLDER}{suffix}"] if owner[0] == "leftover" else [])


@pytest.mark.parametrize("lost", [STATE, LIBVIRT])
def test_a_folder_is_no_leftover_if_nova_or_libvirt_is_unread(lost):
    """If nova or libvirt could not be read, the agent does not report an instance folder as leftover."""
    read = without(world(store((FOLDER, GIB))), lost)
    assert by_path(image_store_rows(read))[FOLDER] == ("unknown", I1, GIB)
    assert leftovers(read) == ()


def test_the_owner_of_a_folder_on_shared_storage_is_unknown():
    """An instance folder on NFS may belong to another host's instance, so the folder's owner is unknown."""
    read = world(store((FOLDER, GIB), shared_because="the folder's file system is nfs4"))
    assert by_path(image_store_rows(read))[FOLDER] == ("unknown", I1, GIB)
    assert leftovers(read) == ()


def test_an_empty_leftover_folder_is_reported():
    """The agent reports a folder without an instance as leftover, even if the folder has 0 bytes."""
    read = world(store((FOLDER, 0)))
    assert [left.size_bytes for left in leftovers(read)] == [0]
    assert FOLDER not in by_path(image_store_rows(read))


def test_a_guest_disk_in_the_image_cache_belongs_to_the_guest():
    """A guest has a file in nova's _base folder as a disk; the agent lists this file under the guest."""
    used = f"{ROOT}/_base/89ab"
    disks = (Disk(target="vda", kind="file", source=used),)
    read = world(store((used, GIB)), nova=state(instance()), libvirt=host(domain("i1", disks=disks)))
    assert by_path(image_store_rows(read))[used] == ("instance", I1, GIB)


def test_a_shared_disk_file_is_listed_under_one_guest():
    """If guests share a disk file, the agent lists the file once, under the guest with the lowest uuid."""
    used = f"{ROOT}/shared.img"
    disks = (Disk(target="vda", kind="file", source=used),)
    read = world(store((used, GIB)), libvirt=host(*(domain(name, disks=disks) for name in "abc")))
    assert by_path(image_store_rows(read))[used][1] == min(map(uuid, "abc"))


def test_a_base_image_is_shown_smaller_to_fit_the_used_space():
    """The measured files together exceed the used space, so the agent shows a base image as smaller."""
    read = world(
        store(
            (f"{ROOT}/_base/a", 2 * GIB),
            (f"{ROOT}/_base/b", 3 * GIB),
            (FOLDER, 4 * GIB),
            size=8 * GIB,
            free=0,
            available=0,
        ),
        nova=state(instance()),
    )
    rows = by_path(image_store_rows(read))
    assert rows[f"{ROOT}/_base/b"] == ("image-cache", f"{ROOT}/_base/b", 2 * GIB)
    assert rows[FOLDER] == ("instance", I1, 4 * GIB)
    (cut,) = (row.what for row in image_store_rows(read) if "minus" in row.what)
    assert cut == f"base image b (minus {GIB} bytes: shared with other files, or freed while the agent read the sizes)"


KINDS = st.sampled_from([FOLDER, f"{FOLDER}_resize", f"{ROOT}/_base/a", f"{ROOT}/_base/b", f"{ROOT}/x", ROOT])
BYTES = st.integers(0, 20 * MIB)


@given(st.dictionaries(KINDS, BYTES), BYTES, BYTES, BYTES)
def test_the_storage_rows_add_up_to_the_file_systems_size(files, size, free, available):
    """The rows for nova's instances folder add up to the file system's size, and no row is negative."""
    rows = image_store_rows(world(store(*files.items(), size=size, free=free, available=available)))
    assert sum(row.size_bytes for row in rows) == size
    assert all(row.size_bytes >= 0 for row in rows)
    assert rows[-1].owner_kind == StoreOwner.FREE.value


def pooled(**changes):
    pool = dataclasses.replace(
        CephPool(name="vms", cluster_bytes=90 * GIB, available_bytes=20 * GIB, used_bytes=30 * GIB), **changes
    )
    read = snapshot()
    return dataclasses.replace(read, storage=(*read.storage, good(CEPH, StorageFacts(ceph_pools=(pool,)))))


def test_ceph_rows_show_the_pool_other_data_and_free_space():
    """The agent lists nova's Ceph pool, the other data in the cluster, and the cluster's free space."""
    assert [(r.store, r.owner_kind, r.owner, r.size_bytes, r.store_bytes) for r in image_store_rows(pooled())] == [
        ("ceph vms", "pool", "vms", 30 * GIB, 90 * GIB),
        ("ceph vms", "elsewhere", "", 40 * GIB, 90 * GIB),
        ("ceph vms", "free", "", 20 * GIB, 90 * GIB),
    ]


@given(BYTES, BYTES, BYTES)
def test_the_ceph_rows_add_up_to_the_cluster_size(size, available, used):
    """The rows for a Ceph cluster add up to the cluster's size, and no row is negative."""
    rows = image_store_rows(pooled(cluster_bytes=size, available_bytes=available, used_bytes=used))
    assert sum(row.size_bytes for row in rows) == size
    assert all(row.size_bytes >= 0 for row in rows)


def test_the_storage_ledger_omits_an_unread_disk_store():
    assert image_store_rows(snapshot()) == ()
