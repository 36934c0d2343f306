"""The host as a compute node record describes it: scenarios 74 to 79 and 91, and unknown values."""

from __future__ import annotations

import dataclasses

import pytest

from agent.model.host.capabilities import Capabilities, GuestKind, HostCpu
from agent.model.host.facts import Disk, DomainState
from agent.model.host.storage import CephPool, DiskFile, FileSystem, StorageFacts
from agent.model.units import GIB
from agent.node_record.resource_view import resource_view, supported_instances
from agent.resources.counted_store import counted_store
from tests.rigs.facts import (
    INSTANCES,
    NODE,
    domain,
    filesystem,
    good,
    group,
    host,
    lvm_settings,
    settings,
    snapshot,
    volume,
)

CAPABLE = Capabilities(host_cpu=HostCpu(arch="x86_64", model="EPYC", vendor="AMD"))


def seen(world, chosen=None):
    found = resource_view(world, chosen or settings(), NODE)
    assert found is not None
    return found


def disk_bytes(world, chosen):
    store = counted_store(world, chosen)
    return (store.size_bytes, store.used_bytes) if store else None


def test_s74_used_memory_comes_from_the_host():
    """If the host has 15814 MiB and uses 5574 MiB, the agent reports these two numbers as memory and used memory."""
    # 15814 - 10240. sources/libvirt/meminfo.py computes the difference; tests/unit/sources/libvirt/test_meminfo.py
    # tests its parts.
    found = seen(snapshot(libvirt=host(memory_mib=15814, memory_used_mib=5574)))
    assert (found.memory_mib, found.memory_used_mib) == (15814, 5574)


def test_s75_used_file_backed_memory_is_that_of_running_guests():
    """With file_backed_memory, the used memory is the sum of the current memory of all running guests."""
    guests = [domain(n, memory_mib=m) for n, m in enumerate((4096, 2048, 1024, 1024))]
    off = domain("off", memory_mib=9999, state=DomainState.SHUTOFF)
    ballooned = dataclasses.replace(guests[0], memory_mib=8192, current_memory_mib=4096)
    found = seen(snapshot(libvirt=host(ballooned, *guests[1:], off)), settings(file_backed_memory_mib=1048576))
    assert (found.memory_mib, found.memory_used_mib) == (1048576, 8192)


def test_used_vcpus_are_those_of_running_and_paused_guests():
    off = domain("off", vcpus=7, state=DomainState.SHUTOFF)
    paused = domain("paused", vcpus=2, state=DomainState.PAUSED)
    assert seen(snapshot(libvirt=host(domain("on", vcpus=3), paused, off))).vcpus_used == 5


def test_s76_s77_the_vcpu_count_needs_all_shared_cpus():
    """If cpu_shared_set contains a CPU that is not on the host, the agent reports the number of VCPU as unknown."""
    assert seen(snapshot()).vcpus == 4
    found = seen(snapshot(), settings(cpu_shared_set=(3, 4)))
    assert (found.vcpus, found.cells) == (None, None)
    assert any("[compute] cpu_shared_set names CPUs that are not on this host: 4" in reason for reason in found.unknown)


def test_s91_disk_size_with_lvm_is_that_of_the_volume_group():
    """If instances are on LVM, the host's disk size and used disk are those of the volume group."""
    world = snapshot(lvm=group(1, volume("half", 0.5)))
    found = seen(world, lvm_settings())
    assert (found.disk_total_bytes, found.disk_used_bytes) == (1073741824, 536870912)


def test_space_that_is_reserved_for_root_is_not_used_disk():
    """A file system may keep some space for the root user; the agent does not count this space as used."""
    files = StorageFacts(
        filesystems=(FileSystem(path=INSTANCES, size_bytes=100 * GIB, free_bytes=60 * GIB, available_bytes=55 * GIB),)
    )
    assert disk_bytes(snapshot(files=files), settings()) == (100 * GIB, 40 * GIB)


def test_disk_size_with_ceph_is_that_of_the_ceph_cluster():
    """If instances are in a Ceph pool, the host's disk size is the size of the whole Ceph cluster."""
    pool = CephPool(name="vms", cluster_bytes=900 * GIB, available_bytes=250 * GIB, used_bytes=10 * GIB)
    world = snapshot()
    ceph = dataclasses.replace(world, storage=(*world.storage, good("ceph", StorageFacts(ceph_pools=(pool,)))))
    assert disk_bytes(ceph, settings(images_type="rbd", images_rbd_pool="vms")) == (900 * GIB, 10 * GIB)
    assert disk_bytes(ceph, settings(images_type="rbd", images_rbd_pool="other")) is None


def test_a_value_from_an_unread_source_is_unknown_with_a_reason():
    """If the file system was not read, for example, the agent reports local_gb as unknown and gives the reason."""
    found = seen(snapshot(files=StorageFacts(), libvirt=host(devices_unknown_because="no such call")))
    assert (found.cpu, found.cells, found.pci_pools, found.hypervisor_version) == (None, None, None, None)
    assert (found.disk_total_bytes, found.disk_used_bytes) == (None, None)
    assert [reason.partition(":")[0] for reason in found.unknown] == [
        "cpu_info, numa_topology, supported_instances",
        "pci_stats",
        "local_gb, local_gb_used",
        "disk_available_least",
    ]
    assert resource_view(snapshot(lost=("libvirt",)), settings(), NODE) is None


def test_disk_available_least_omits_an_unreadable_guest():
    """If a guest's disk file is unreadable, the agent computes disk_available_least without this guest."""
    disks = [Disk(target="vda", kind="file", source=f"/i/{name}", format="qcow2") for name in ("good", "gone")]
    guests = [domain(disk.source, disks=(disk,)) for disk in disks]
    files = (
        DiskFile(path="/i/good", format="qcow2", virtual_bytes=30 * GIB, allocated_bytes=10 * GIB),
        DiskFile(path="/i/gone", format="qcow2", virtual_bytes=None, allocated_bytes=None, problem="ENOENT: gone"),
    )
    world = snapshot(libvirt=host(*guests), files=filesystem(100))
    world = dataclasses.replace(world, storage=(*world.storage, good("images", StorageFacts(disk_files=files))))
    found = seen(world)
    assert found.disk_available_least_gib == 80
    assert f"disk_available_least: domain {guests[1].uuid} (/i/gone): /i/gone: ENOENT: gone" in found.unknown


def test_cpu_and_hypervisor_data_come_from_libvirt():
    """The compute node record contains the host's CPU and the hypervisor's type and version.

    The agent takes these values from libvirt.
    """
    found = seen(snapshot(libvirt=host(capabilities=CAPABLE), files=filesystem(99.7)))
    assert (found.cpu, found.hypervisor_type, found.hypervisor_version) == (CAPABLE.host_cpu, "QEMU", 7002000)
    assert found.hypervisor_hostname == NODE


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (
            GuestKind(arch="i686", os_type="hvm", domain_types=("qemu", "kvm")),
            [("i686", "qemu", "hvm"), ("i686", "kvm", "hvm")],
        ),
        (GuestKind(arch="amd64", os_type="HVM", domain_types=("KVM",)), [("x86_64", "kvm", "hvm")]),
        (GuestKind(arch="x86_32p", os_type="xen", domain_types=("xen",)), [("i686", "xen", "xen")]),
        (GuestKind(arch="x86_64", os_type="exe", domain_types=("lxc",)), [("x86_64", "lxc", "exe")]),
        (GuestKind(arch="z80", os_type="hvm", domain_types=("qemu",)), []),
        (GuestKind(arch="x86_64", os_type="hvm", domain_types=("hvf",)), []),
    ],
    ids=["two types", "canonical", "xen of old", "container", "an architecture nova does not know", "a type neither"],
)
def test_supported_instances_contain_only_names_known_to_nova(kind, expected):
    """In supported_instances, libvirt's "amd64" becomes nova's "x86_64". What nova does not know is left out."""
    assert list(supported_instances((kind, kind))) == expected
