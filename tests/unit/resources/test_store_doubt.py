"""Whether the store is the one that DISK_GB counted before: each row of the decision, and laws over all rows."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.model.host.storage import DiskFile, FileSystemIdentity, GuestFile, StorageFacts
from agent.model.snapshot import IMAGES, LIBVIRT, Snapshot
from agent.model.units import GIB
from agent.resources.store_doubt import Likeness, guest_disks, likeness, store_doubt, to_remember
from agent.sources.storage.disk_files import measure_disk
from tests.rigs.facts import (
    INSTANCES,
    decided,
    good,
    group,
    host,
    inventory,
    lvm_settings,
    root,
    settings,
    snapshot,
    view,
    volume,
    without,
)
from tests.rigs.stores import DISK, OF_ROOT, OF_STORE, guest, mark, on_disk, on_root, store, vg_mark

OTHER = f"{INSTANCES}/i2/disk"
HELD = view(provider=root(inventory("DISK_GB", 300)))
NOVAS = view(provider=root(inventory("DISK_GB", 300), traits=frozenset({"OWNER_NOVA"})))
EMPTY = snapshot(placement=HELD)
ONE = snapshot(placement=HELD, libvirt=host(guest()))
TWO = snapshot(placement=HELD, libvirt=host(guest(DISK, OTHER)))


def nfs(device: str = "nas:/export", kind: str = "nfs4", inner: str = "/") -> FileSystemIdentity:
    return FileSystemIdentity(mount_point=INSTANCES, kind=kind, device=device, inner=inner)


def with_disk_files(world: Snapshot, *files: DiskFile) -> Snapshot:
    return dataclasses.replace(world, storage=(good(IMAGES, StorageFacts(disk_files=files)),))


def without_uuid(identity: FileSystemIdentity) -> FileSystemIdentity:
    return dataclasses.replace(identity, uuid=None)


ALIKE = {
    "the same UUID on another device and mount point": (
        OF_STORE,
        dataclasses.replace(OF_STORE, device="/dev/dm-4", mount_point="/srv", inner="/nova"),
        Likeness.SAME,
    ),
    "another UUID at the same place": (OF_STORE, dataclasses.replace(OF_STORE, uuid="u2"), Likeness.ANOTHER),
    "a UUID that udev does not say yet": (OF_STORE, without_uuid(OF_STORE), Likeness.SAME),
    "no UUID on either, another device name": (
        without_uuid(OF_STORE),
        dataclasses.replace(OF_STORE, uuid=None, device="/dev/dm-4"),
        Likeness.SAME,
    ),
    "no UUID, the folder below": (without_uuid(OF_STORE), without_uuid(OF_ROOT), Likeness.MOVED),
    "a bind mount of itself, as ReadWritePaths= makes": (
        without_uuid(OF_ROOT),
        dataclasses.replace(OF_ROOT, uuid=None, mount_point=INSTANCES),
        Likeness.SAME,
    ),
    "NFS 3 becomes NFS 4": (nfs(kind="nfs"), nfs(), Likeness.SAME),
    "an export with a slash": (nfs(), nfs("nas:/export/"), Likeness.SAME),
    "another export": (nfs(), nfs("nas:/other"), Likeness.MOVED),
    "the folder below an export": (nfs(), OF_ROOT, Likeness.MOVED),
    "ext3 mounted by the driver of ext4": (nfs("/dev/vdb", "ext3"), nfs("/dev/vdc", "ext4"), Likeness.SAME),
    "a ZFS data set that is another": (nfs("tank/a", "zfs"), nfs("tank/b", "zfs"), Likeness.MOVED),
    "tmpfs under another name": (nfs("tmpfs", "tmpfs"), nfs("none", "tmpfs"), Likeness.SAME),
    "mounts that cannot be listed": (OF_STORE, None, Likeness.SAME),
}


@pytest.mark.parametrize(("before", "now", "expected"), ALIKE.values(), ids=ALIKE.keys())
def test_the_agent_recognises_the_file_system_of_guest_disks(before, now, expected):
    """The agent recognises the guest disks' file system by its UUID, or by its device if it has no UUID."""
    assert likeness(mark(300, before), mark(300, now)) is expected


MOVED = nfs("nas2:/export")
KNOWN, OF_NFS = mark(300), mark(300, nfs())
# World, and whether DISK_GB is in doubt there.
ROWS = {
    "the same store": (store(EMPTY, on_disk(300), before=KNOWN), False),
    "it has grown": (store(EMPTY, on_disk(900), before=KNOWN), False),
    "it has shrunk, and no guest has a disk": (store(EMPTY, on_disk(200), before=KNOWN), False),
    "it has shrunk with its guests' disks": (store(ONE, on_disk(200), before=KNOWN, present=(DISK,)), False),
    "it has shrunk by 1 % without them": (store(ONE, on_disk(297), before=KNOWN, missing=(DISK,)), False),
    "it has shrunk by more without them": (store(ONE, on_disk(296), before=KNOWN, missing=(DISK,)), True),
    "it has shrunk without one of them": (
        store(TWO, on_disk(200), before=KNOWN, present=(DISK,), missing=(OTHER,)),
        True,
    ),
    "it has shrunk, libvirt is unread": (without(store(ONE, on_disk(200), before=KNOWN), LIBVIRT), True),
    "it has shrunk, files are unread": (without(store(ONE, on_disk(200), before=KNOWN), IMAGES), True),
    "another UUID, smaller": (store(EMPTY, on_root(251), before=KNOWN), True),
    "another UUID, larger": (store(EMPTY, on_root(900), before=KNOWN), True),
    "another UUID with guests' disks": (store(ONE, on_root(300), before=KNOWN, present=(DISK,)), True),
    "another export with guests' disks": (store(ONE, on_disk(300, MOVED), before=OF_NFS, present=(DISK,)), False),
    "another export without guests": (store(EMPTY, on_disk(300, MOVED), before=OF_NFS), True),
    "another export without a disk": (
        store(TWO, on_disk(300, MOVED), before=OF_NFS, present=(DISK,), missing=(OTHER,)),
        True,
    ),
    "another export, libvirt unread": (without(store(EMPTY, on_disk(300, MOVED), before=OF_NFS), LIBVIRT), True),
    "no memory, what Placement has": (store(ONE, on_disk(300), before=None, missing=(DISK,)), False),
    "no memory, guests' disks missing": (store(ONE, on_root(251), before=None, missing=(DISK,)), True),
    "no memory, more room, disks missing": (store(ONE, on_root(900), before=None, missing=(DISK,)), True),
    "no memory, guests' disks there": (store(ONE, on_disk(251), before=None, present=(DISK,)), False),
    "no memory, we published more": (store(EMPTY, on_root(251), before=None), True),
    "no memory, we published less": (store(EMPTY, on_disk(400), before=None), False),
    "no memory, nova published": (store(snapshot(placement=NOVAS), on_root(251), before=None), False),
    "no memory, nothing published": (
        store(snapshot(libvirt=host(guest())), on_root(251), before=None, missing=(DISK,)),
        False,
    ),
}


@pytest.mark.parametrize(("world", "expected"), ROWS.values(), ids=ROWS.keys())
def test_a_lost_or_replaced_file_system_is_noticed(world, expected):
    """The agent notices, for example by the UUID, that the guest disks' file system is lost or replaced."""
    assert (store_doubt(world, settings()) is not None) is expected
    if expected:
        assert to_remember(world, settings()) is None


LVM_GUEST = guest("/dev/vg0/u_disk", "/dev/mapper/vg0-v_disk", "/dev/vg1/w", "/dev/mapper/vg0--x-w", kind="block")
GROUPS = {
    "the same group": (group(20), vg_mark(20), False),
    "the same group, larger": (group(40), vg_mark(20), False),
    "the same group, smaller, volumes gone": (group(10), vg_mark(20), True),
    "the same group, smaller, volumes there": (group(10, volume("u_disk", 1), volume("v_disk", 1)), vg_mark(20), False),
    "another group of that name": (group(20), vg_mark(20, uuid="older"), True),
    "no memory, volumes gone": (group(20), None, True),
    "no memory, volumes there": (group(20, volume("u_disk", 1), volume("v_disk", 1)), None, False),
}


@pytest.mark.parametrize(("found", "before", "expected"), GROUPS.values(), ids=GROUPS.keys())
def test_the_agent_notices_a_replaced_volume_group(found, before, expected):
    """The agent notices that a volume group was replaced, for example if the group has a new UUID."""
    world = snapshot(placement=HELD, libvirt=host(LVM_GUEST), lvm=found)
    world = dataclasses.replace(world, store=before)
    assert (store_doubt(world, lvm_settings()) is not None) is expected


def test_only_disks_in_the_instances_folder_can_be_missing():
    """The agent looks for missing guest disks only in nova's instances folder."""
    sources = (DISK, "/srv/other", f"{INSTANCES}-old/disk", f"{INSTANCES}/volume-{OF_VOLUME}")
    world = store(snapshot(libvirt=host(guest(*sources))), on_disk(300), before=None, missing=sources)
    assert guest_disks(world, settings()).missing == (DISK,)


OF_VOLUME = "3a0e5f5c-0000-4000-8000-000000000001"

REMEMBERED = {
    "the first store": (store(EMPTY, on_disk(300), before=None), mark(300)),
    "nothing new": (store(EMPTY, on_disk(300), before=KNOWN), None),
    "a little smaller: small steps add up": (store(EMPTY, on_disk(299), before=KNOWN), None),
    "larger": (store(EMPTY, on_disk(900), before=KNOWN), mark(900)),
    "a UUID that was not known": (store(EMPTY, on_disk(300), before=mark(300, without_uuid(OF_STORE))), mark(300)),
    "a UUID that is not told now is kept": (
        store(EMPTY, on_disk(900, without_uuid(OF_STORE)), before=KNOWN),
        mark(900, without_uuid(OF_STORE), uuid="store-uuid"),
    ),
    "an empty folder while disks are missing": (store(ONE, on_root(300), before=None, missing=(DISK,)), None),
    "a store with some of the disks": (
        store(TWO, on_disk(300), before=None, present=(DISK,), missing=(OTHER,)),
        mark(300),
    ),
    "libvirt is unread": (without(store(EMPTY, on_disk(300), before=None), LIBVIRT), None),
}


@pytest.mark.parametrize(("world", "expected"), REMEMBERED.values(), ids=REMEMBERED.keys())
def test_the_agent_remembers_a_new_or_larger_file_system(world, expected):
    """The agent remembers the file system of the guest disks if it is new or larger than before."""
    assert to_remember(world, settings()) == expected


def published(world) -> list[int]:
    """Return the totals of DISK_GB that the plan writes, or Placement's own total if the plan writes none."""
    writes = decided(world).plan.writes
    totals = [i.total for w in writes for i in getattr(w, "inventories", ()) if i.resource_class == "DISK_GB"]
    return totals or [300]


identities = st.sampled_from([OF_ROOT, without_uuid(OF_ROOT), nfs("nas2:/export"), nfs("tmpfs", "tmpfs")])
sizes = st.integers(1, 2000)


@given(identity=identities, size=sizes, remembered=st.sampled_from([OF_STORE, nfs()]), guests=st.booleans())
def test_disk_gb_stays_the_same_after_a_lost_mount(identity, size, remembered, guests):
    """If the guest disks' file system is not mounted, DISK_GB in Placement stays unchanged."""
    world, missing = (ONE, (DISK,)) if guests else (EMPTY, ())
    assert published(store(world, on_disk(size, identity), before=mark(300, remembered), missing=missing)) == [300]
    if guests:
        forgotten = store(world, on_disk(size, identity), before=None, missing=missing)
        assert all(abs(total - 300) <= 3 for total in published(forgotten))


@given(sizes=st.lists(sizes, min_size=1, max_size=8))
def test_the_agent_remembers_an_unmounted_file_system(sizes):
    """If the guest disks' file system is not mounted, the agent still remembers its UUID and size."""
    before = mark(300)
    for size in sizes:
        before = to_remember(store(EMPTY, on_root(size), before=before), settings()) or before
    assert before == mark(300)
    assert store_doubt(store(EMPTY, on_disk(300), before=before), settings()) is None


@given(sizes=st.lists(st.integers(10, 2000), min_size=1, max_size=8))
def test_disk_gb_follows_file_system_size_if_no_disk_is_missing(sizes):
    """If no guest disk is missing, DISK_GB follows the size of the file system that contains the disks."""
    before = mark(300)
    for size in sizes:
        world = store(ONE, on_disk(size), before=before, present=(DISK,))
        before = to_remember(world, settings()) or before
        assert published(world) == [size]
    assert before.size_bytes >= 10 * GIB


@pytest.mark.parametrize("words", ["ENOENT: gone", "the file is gone", "cannot be read (ENOENT)"])
def test_a_disk_with_error_enoent_is_missing(words):
    """If reading a guest disk fails with ENOENT, the disk counts as missing, whatever the error message says."""
    file = DiskFile(
        path=DISK, format="raw", virtual_bytes=None, allocated_bytes=None, problem=words, error_name="ENOENT"
    )
    assert guest_disks(with_disk_files(ONE, file), settings()).missing == (DISK,)


def test_a_disk_with_error_eacces_is_present():
    """A guest disk that the agent has no right to read (EACCES) still exists, so it counts as present."""
    file = DiskFile(
        path=DISK, format="raw", virtual_bytes=None, allocated_bytes=None, problem="ENOENT", error_name="EACCES"
    )
    assert guest_disks(with_disk_files(ONE, file), settings()).present == 1


@pytest.mark.parametrize("form", ["raw", "qcow2", "ploop"])
def test_a_disk_path_that_does_not_exist_is_missing(tmp_path, form):
    """The agent counts a guest disk as missing if its path does not exist, for raw, qcow2 and ploop disks."""
    (tmp_path / "file").write_text("")
    paths = (str(tmp_path / "disk"), str(tmp_path / "file" / "disk"))
    files = [measure_disk(GuestFile(path=path, format=form)) for path in paths]
    world = with_disk_files(snapshot(libvirt=host(guest(*paths))), *files)
    assert guest_disks(world, settings(instances_path=str(tmp_path))).missing == paths
