"""Over-commit of guests' disks and the least free space. Numbers in names are scenarios."""

import dataclasses

import pytest

from agent.model.host.facts import Disk, OddDomain
from agent.model.host.storage import CephPool, DiskFile, FileSystem, GuestFile, StorageFacts
from agent.model.snapshot import CEPH, FILESYSTEM, IMAGES, LIBVIRT, LVM
from agent.model.units import GIB, MIB
from agent.node_record.overcommit import LeastDisk, disk_available_least, guest_files, over_commit
from tests.rigs.facts import INSTANCES, domain, failed, good, group, host, lvm_settings, settings, snapshot, uuid

QCOW2, RAW = "/i/1/disk", "/i/2/disk"


def disk(source, target="vda", kind="file", form="qcow2"):
    return Disk(target=target, kind=kind, source=source, format=form)


def file(path, virtual, allocated, form="qcow2"):
    return DiskFile(path=path, format=form, virtual_bytes=virtual, allocated_bytes=allocated)


def hidden(path, problem, form="qcow2"):
    return DiskFile(path=path, format=form, virtual_bytes=None, allocated_bytes=None, problem=problem)


def guest(name, *disks):
    return domain(name, disks=disks)


def world(*guests, files=(), free=100 * GIB, **changes):
    """Return a host whose file system has ``free`` bytes available."""
    place = FileSystem(path=INSTANCES, size_bytes=200 * GIB, free_bytes=free + GIB, available_bytes=free)
    read = snapshot(libvirt=host(*guests), files=StorageFacts(filesystems=(place,)), **changes)
    return dataclasses.replace(read, storage=(*read.storage, good(IMAGES, StorageFacts(disk_files=tuple(files)))))


def test_s88_disk_over_commit_is_virtual_size_minus_used_size():
    """A guest disk of 10 GiB that takes 4 GiB of the host so far adds 6 GiB to the host's disk over-commit."""
    guests = (guest("a", disk(QCOW2)), guest("b", disk(RAW, form="raw")))
    # A requested size of 5350000000 bytes takes 5350031360 bytes in blocks.
    files = [file(QCOW2, 10 * GIB, 80 * MIB), file(RAW, 10 * GIB, 10 * GIB - 5387418240, "raw")]
    assert over_commit(host(guests[0]), files).total_bytes == 10653532160
    assert over_commit(host(guests[1]), files).total_bytes == 5387418240
    assert over_commit(host(*guests), files).total_bytes == 16040950400


def test_s89_over_commit_omits_a_guest_with_an_unreadable_disk():
    """If one disk file of a guest is unreadable, the agent leaves the guest out of the disk over-commit."""
    problems = {"1": "ENOENT: No such file", "2": "ESTALE: Stale file handle", "3": "EACCES: denied", "5": "EIO: error"}
    guests = [
        guest(name, disk(f"/i/{name}/disk"), disk(f"/i/{name}/swap", "vdb")) for name in ("1", "2", "3", "4", "5")
    ]
    files = [hidden(f"/i/{name}/disk", problem) for name, problem in problems.items()]
    files += [file(f"/i/{name}/swap", GIB, 0) for name in problems]
    files += [file("/i/4/disk", 42949672960, 0), file("/i/4/swap", 0, 0)]
    found = over_commit(host(*guests), files)
    assert found.total_bytes == 42949672960
    assert {unknown.name: unknown.reason for unknown in found.unknown} == {
        name: f"/i/{name}/disk: {problem}" for name, problem in problems.items()
    }
    least = disk_available_least(world(*guests, files=files), settings())
    assert (least.gib, least.unknown) == (60, found.unknown)


VOLUME = f"volume-{uuid('v')}"
ATTACHED = {
    "over the network": disk(f"pool/{VOLUME}", "vdb", "network", "raw"),
    "a block device": disk("/dev/disk/by-path/lun-1", "vdb", "block", "raw"),
    "of a storage pool": disk("default/b.img", "vdb", "volume", "raw"),
    "a file on NFS": disk(f"/var/lib/nova/mnt/8f0a/{VOLUME}", "vdb", "file", "raw"),
    "a file on NFS with a snapshot": disk(f"/mnt/8f0a/{VOLUME}.{uuid('s')}", "vdb"),
    "an empty drive": disk(None, "vdb", "file", "raw"),
}


@pytest.mark.parametrize("attached", ATTACHED.values(), ids=ATTACHED.keys())
def test_s90_disk_over_commit_omits_attached_cinder_volumes(attached):
    """A Cinder volume that is attached to a guest adds nothing to the host's disk over-commit."""
    guests = host(guest("a", disk(QCOW2), attached))
    assert guest_files(guests) == {GuestFile(path=QCOW2, format="qcow2")}
    measured = file(attached.source or "", 10 * GIB, 0, attached.format)
    assert over_commit(guests, [file(QCOW2, 2 * GIB, GIB), measured]).total_bytes == GIB


def test_a_file_with_a_suffixed_volume_name_is_a_local_disk():
    """A disk file named like a Cinder volume plus a suffix counts as a local disk of the guest."""
    odd = f"/i/{VOLUME}-of-mine"
    assert guest_files(host(guest("a", disk(odd, form="raw")))) == {GuestFile(path=odd, format="raw")}


@pytest.mark.parametrize(("form", "asked"), [("ploop", "ploop"), ("vmdk", "raw"), (None, "raw"), ("raw", "raw")])
def test_disk_files_except_qcow2_and_ploop_are_measured_as_raw(form, asked):
    """A guest's disk file is measured as raw if its format in libvirt is neither qcow2 nor ploop."""
    assert guest_files(host(guest("a", disk("/a", form=form)))) == {GuestFile(path="/a", format=asked)}


@pytest.mark.parametrize(("form", "still_to_come"), [("qcow2", 0), ("raw", -4096), ("ploop", -4096)])
def test_only_raw_and_ploop_files_have_negative_over_commit(form, still_to_come):
    """If a raw or ploop file is larger than its virtual size, the disk over-commit is negative."""
    assert (
        over_commit(host(guest("a", disk("/a", form=form))), [file("/a", 0, 4096, form)]).total_bytes == still_to_come
    )


def test_a_file_with_two_formats_is_measured_once_for_each():
    """If one guest uses a file as raw and another guest uses it as qcow2, the agent measures the file twice."""
    guests = host(guest("a", disk("/a", form="raw")), guest("b", disk("/a")))
    files = [file("/a", GIB, 0, "raw"), hidden("/a", "not a qcow2 image")]
    found = over_commit(guests, files)
    assert (found.total_bytes, [unknown.name for unknown in found.unknown]) == (GIB, ["b"])


def test_disk_over_commit_is_unknown_for_an_unmeasured_guest():
    """If a guest's disk file was not measured, the disk over-commit of this guest is unknown."""
    odd = OddDomain(uuid=uuid("odd"), name="odd", reason="no <name>")
    found = over_commit(host(guest("a", disk("/a")), odd_domains=(odd,)), [])
    assert {(unknown.name, unknown.reason) for unknown in found.unknown} == {
        ("a", "/a: was not measured"),
        ("odd", "no <name>"),
    }


@pytest.mark.parametrize(("over_gib", "gib"), [(99.5, 0), (100, 0), (100.5, 0), (103.7, -3), (104, -4), (10, 90)])
def test_disk_available_least_is_truncated_to_whole_gib(over_gib, gib):
    """The record's disk_available_least is rounded towards zero, so -3.7 GiB becomes -3."""
    read = world(guest("a", disk("/a")), files=[file("/a", int(over_gib * GIB), 0)])
    assert disk_available_least(read, settings()).gib == gib


@pytest.mark.parametrize("lost", [FILESYSTEM, LIBVIRT])
def test_disk_available_least_needs_filesystem_and_libvirt(lost):
    """If the file system or libvirt is unreadable, the agent reports disk_available_least as unknown."""
    assert disk_available_least(world(lost=[lost]), settings()) == LeastDisk(size_bytes=None)


def test_disk_available_least_needs_the_disk_files():
    """If the guests' disk files cannot be read, the agent reports disk_available_least as unknown."""
    read = world()
    unread = dataclasses.replace(read, storage=(*read.storage[:-1], failed(IMAGES)))
    assert disk_available_least(unread, settings()).gib is None


def test_disk_available_least_with_lvm_uses_the_volume_group():
    """If instances are on LVM, disk_available_least is the volume group's free space minus the disk over-commit."""
    read = world(guest("a", disk("/a", form="raw")), files=[file("/a", GIB, 0, "raw")], lvm=group(20))
    assert disk_available_least(read, lvm_settings()).gib == 19
    assert disk_available_least(read, lvm_settings(images_volume_group="gone")).gib is None
    assert disk_available_least(world(lost=[LVM]), lvm_settings()).gib is None


def test_disk_available_least_with_rbd_uses_the_ceph_pool():
    """If images_type is rbd, the agent computes disk_available_least from the free space of the Ceph pool."""
    pool = CephPool(name="vms", cluster_bytes=90 * GIB, available_bytes=30 * GIB, used_bytes=GIB)
    read = world()
    chosen = settings(images_type="rbd", images_rbd_pool="vms")
    assert disk_available_least(read, chosen).gib is None
    read = dataclasses.replace(read, storage=(*read.storage, good(CEPH, StorageFacts(ceph_pools=(pool,)))))
    assert disk_available_least(read, chosen).gib == 30
    assert disk_available_least(read, settings(images_type="rbd", images_rbd_pool="other")).gib is None
