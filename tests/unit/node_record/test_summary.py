"""The figures in nova-compute's three log lines: scenarios 1, 2, 4, 12, 16, 74, 75 and 91."""

from __future__ import annotations

import dataclasses

import pytest

from agent.model.host.facts import DomainState
from agent.model.host.storage import StorageFacts, VolumeGroup
from agent.model.report import HostSummary
from agent.model.snapshot import FILESYSTEM
from agent.node_record.resource_view import resource_view
from agent.node_record.summary import summary
from agent.node_record.usage import usage
from tests.rigs.facts import (
    FLAVOR_A,
    NODE,
    decided,
    domain,
    filesystem,
    host,
    instance,
    lvm_settings,
    settings,
    settled_world,
    snapshot,
    state,
)

PINNED = dataclasses.replace(FLAVOR_A, extra_specs=(("hw:cpu_policy", "dedicated"),))


def summed(world, chosen=None):
    chosen = chosen or settings()
    view = resource_view(world, chosen, NODE)
    return summary(view, usage(decided(world, chosen).books.occupied, view, chosen))


def kept_for_root(size_gib, free_gib, available_gib):
    (plain,) = filesystem(size_gib).filesystems
    changed = dataclasses.replace(plain, free_bytes=free_gib << 30, available_bytes=available_gib << 30)
    return StorageFacts(filesystems=(changed,))


EMPTY = HostSummary(
    node=NODE,
    free_ram_mib=412,
    free_disk_gib=6,
    free_vcpus=4,
    total_vcpus=4,
    used_vcpus=0,
    phys_ram_mib=512,
    used_ram_mib=0,
    phys_disk_gib=6,
    used_disk_gib=0,
)
VG = StorageFacts(
    groups=(VolumeGroup(name="vg0", uuid="u", size_bytes=1073741824, free_bytes=536870912, extent_bytes=4194304),)
)
SUMMARY = {
    "s1 nothing": (snapshot(), settings(), {}),
    "s2 reserves": (
        snapshot(),
        settings(reserved_host_cpus=1, reserved_host_memory_mib=512, reserved_host_disk_mib=1024),
        {"used_vcpus": 1, "used_ram_mib": 512, "used_disk_gib": 1},
    ),
    "s4 one instance": (
        snapshot(**settled_world(nova=state(instance(), instance("i2", vm_state="deleted")))),
        settings(),
        {"free_vcpus": 3, "used_vcpus": 1, "used_ram_mib": 128, "used_disk_gib": 1},
    ),
    "s12 half a GiB of reserve is truncated here": (
        snapshot(),
        settings(reserved_host_disk_mib=512),
        {"used_disk_gib": 0},
    ),
    "s16 truncated": (snapshot(files=filesystem(99.7)), settings(), {"free_disk_gib": 99, "phys_disk_gib": 99}),
    "s74 memory used": (
        snapshot(libvirt=host(memory_mib=15814, memory_used_mib=5574)),
        settings(),
        {"free_ram_mib": 10240, "phys_ram_mib": 15814},
    ),
    "s75 file-backed": (
        snapshot(),
        settings(file_backed_memory_mib=1048576),
        {"phys_ram_mib": 1048576, "free_ram_mib": 1048576},
    ),
    "s91 never below what the storage says is used": (
        snapshot(lvm=VG),
        lvm_settings(),
        {"phys_disk_gib": 1, "free_disk_gib": 0, "used_disk_gib": 1},
    ),
    "a guest that is off takes no CPU time": (
        snapshot(**settled_world(libvirt=host(domain(state=DomainState.SHUTOFF)))),
        settings(),
        {"free_vcpus": 4, "used_vcpus": 1, "used_ram_mib": 128, "used_disk_gib": 1},
    ),
    "dedicated CPUs are not usable vcpus": (
        snapshot(),
        settings(cpu_shared_set=(0, 1), cpu_dedicated_set=(2,)),
        {"free_vcpus": 2, "total_vcpus": 2},
    ),
    "promised dedicated CPUs count as used": (
        snapshot(**settled_world(nova=state(instance(flavor=PINNED)))),
        settings(cpu_shared_set=(0, 1), cpu_dedicated_set=(2, 3)),
        {"free_vcpus": 1, "total_vcpus": 2, "used_vcpus": 1, "used_ram_mib": 128, "used_disk_gib": 1},
    ),
    "all of them dedicated: nova-compute says 0, 0 and unknown": (
        snapshot(**settled_world()),
        settings(cpu_dedicated_set=(0, 1, 2, 3)),
        {"free_vcpus": None, "total_vcpus": 0, "used_ram_mib": 128, "used_disk_gib": 1},
    ),
    "free is what nova-compute calls so: with what the file system keeps for root": (
        snapshot(files=kept_for_root(size_gib=6, free_gib=5, available_gib=3)),
        settings(),
        {"free_disk_gib": 5},
    ),
    "meminfo not readable": (
        snapshot(libvirt=dataclasses.replace(host(), memory_used_mib=None)),
        settings(),
        {"free_ram_mib": None},
    ),
    "file system not read": (
        snapshot(lost=[FILESYSTEM]),
        settings(),
        {"free_disk_gib": None, "phys_disk_gib": None},
    ),
}


@pytest.mark.parametrize(("world", "chosen", "expected"), SUMMARY.values(), ids=SUMMARY.keys())
def test_the_host_summary_agrees_with_the_log_of_nova_compute(world, chosen, expected):
    """The agent's host summary shows the same memory, disk and VCPU as nova-compute would log for this host."""
    assert summed(world, chosen) == dataclasses.replace(EMPTY, **expected)


def test_used_amounts_are_unknown_if_nova_is_unreadable():
    """If nova's database is unreadable, the host summary shows the used amounts as unknown."""
    world, chosen = snapshot(**settled_world()), settings()
    told = summary(resource_view(world, chosen, NODE), None)
    assert (told.used_vcpus, told.used_ram_mib, told.used_disk_gib) == (None, None, None)
    assert (told.total_vcpus, told.phys_ram_mib) == (EMPTY.total_vcpus, EMPTY.phys_ram_mib)
