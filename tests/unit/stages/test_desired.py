"""The tree as it should be: which classes are frozen and why, and when ``reserved`` may fall."""

from __future__ import annotations

import dataclasses

import pytest

from agent.model.books import ReserveTerms
from agent.model.compared import Subject
from agent.model.host import OddDomain
from agent.model.nova import StateKind
from agent.model.placement import ROOT
from agent.model.settings import UnmanagedPolicy
from agent.model.snapshot import FILESYSTEM, LIBVIRT, LVM, STATE
from agent.model.storage import StorageFacts
from agent.stages.decide import decide
from tests.rigs.facts import (
    HOST,
    NODE,
    ROOT_UUID,
    allocations,
    decided,
    domain,
    group,
    host,
    instance,
    inventory,
    lvm_settings,
    reserves,
    root,
    settings,
    snapshot,
    state,
    uuid,
    view,
    volume,
    wanted_root,
)

STRANGER = domain("stranger", vcpus=8, memory_mib=100)
HELD = view(
    provider=root(
        inventory("DISK_GB", 6, reserved=4),
        inventory("MEMORY_MB", 512, reserved=200),
        inventory("VCPU", 4, reserved=3, allocation_ratio=4.0),
    )
)


def test_a_new_host_gets_its_whole_root():
    wanted = wanted_root(decided(snapshot(placement=view(providers=())), settings(reserved_host_memory_mib=128)))
    assert (wanted.key, wanted.uuid, wanted.name, wanted.parent_uuid) == (ROOT, ROOT_UUID, NODE, None)
    assert wanted.inventories == (
        inventory("DISK_GB", 6),
        inventory("MEMORY_MB", 512, reserved=128),
        inventory("VCPU", 4, allocation_ratio=4.0),
    )
    assert wanted.owned_classes == {"VCPU", "PCPU", "MEMORY_MB", "DISK_GB"}
    assert wanted.frozen == ()


FROZEN = {
    "libvirt": (
        snapshot(lost=[LIBVIRT]),
        settings(),
        {name: "libvirt could not be read" for name in ("VCPU", "PCPU", "MEMORY_MB")},
    ),
    "file system": (snapshot(lost=[FILESYSTEM]), settings(), {"DISK_GB": "filesystem could not be read"}),
    "lvm, and disks are files": (snapshot(lost=[LVM]), settings(), {}),
    "lvm, and disks are volumes": (snapshot(lost=[LVM]), lvm_settings(), {"DISK_GB": "lvm could not be read"}),
    "file system, and disks are volumes": (snapshot(lost=[FILESYSTEM]), lvm_settings(), {}),
    "lvm answered without the group": (
        snapshot(lvm=StorageFacts()),
        lvm_settings(),
        {"DISK_GB": "volume group vg0 is not in lvm2's report"},
    ),
    "s77 a set that is not there": (
        snapshot(),
        settings(cpu_shared_set=(0, 9)),
        {name: "[compute] cpu_shared_set names CPUs that are not online: 9" for name in ("VCPU", "PCPU")},
    ),
    "state": (snapshot(lost=[STATE]), settings(), {}),
}


@pytest.mark.parametrize(("world", "chosen", "expected"), FROZEN.values(), ids=FROZEN.keys())
def test_a_class_is_frozen_with_its_reason(world, chosen, expected):
    wanted = wanted_root(decided(world, chosen))
    assert {f.resource_class: f.why for f in wanted.frozen} == expected
    assert {i.resource_class for i in wanted.inventories}.isdisjoint(expected)


UNMANAGED = {
    "a stranger at ratio 4": (
        snapshot(libvirt=host(STRANGER)),
        settings(),
        {"VCPU": 2, "MEMORY_MB": 100, "DISK_GB": 0},
    ),
    "on top of the operator's own": (
        snapshot(libvirt=host(STRANGER)),
        settings(reserved_host_cpus=1, reserved_host_memory_mib=50, reserved_host_disk_mib=1024),
        {"VCPU": 3, "MEMORY_MB": 150, "DISK_GB": 1},
    ),
    "a volume by hand": (
        snapshot(lvm=group(20, volume("x", 2.5))),
        lvm_settings(),
        {"VCPU": 0, "MEMORY_MB": 0, "DISK_GB": 3},
    ),
    "only reported": (
        snapshot(libvirt=host(STRANGER), lvm=group(20, volume("x", 2.5))),
        lvm_settings(unknown_guests=UnmanagedPolicy.REPORT, foreign_volumes=UnmanagedPolicy.REPORT),
        {"VCPU": 0, "MEMORY_MB": 0, "DISK_GB": 0},
    ),
    "no cloud, so nobody is a stranger": (
        snapshot(libvirt=host(STRANGER), nova=state(kind=StateKind.NONE)),
        settings(),
        {"VCPU": 0, "MEMORY_MB": 0, "DISK_GB": 0},
    ),
    "counted by placement already": (
        snapshot(libvirt=host(STRANGER), placement=view(allocations(uuid("stranger"), VCPU=8, MEMORY_MB=100))),
        settings(),
        {"VCPU": 0, "MEMORY_MB": 0, "DISK_GB": 0},
    ),
}


@pytest.mark.parametrize(("world", "chosen", "expected"), UNMANAGED.values(), ids=UNMANAGED.keys())
def test_unmanaged_use_is_reserved(world, chosen, expected):
    assert reserves(decided(world, chosen)) == expected


ODD = dataclasses.replace(host(), odd_domains=(OddDomain(uuid=uuid("odd"), name="odd", reason="no <vcpu>"),))
DOUBTS = {
    "state not read": (snapshot(placement=HELD, lost=[STATE]), settings(), {"VCPU": 3, "MEMORY_MB": 200, "DISK_GB": 4}),
    "libvirt not read": (snapshot(placement=HELD, lost=[LIBVIRT]), settings(), {"DISK_GB": 4}),
    "a domain that is not understood": (
        snapshot(placement=HELD, libvirt=ODD),
        settings(),
        {"VCPU": 3, "MEMORY_MB": 200, "DISK_GB": 4},
    ),
    "a row that does not parse": (
        snapshot(placement=HELD, nova=state(unreadable=("instance 7",))),
        settings(),
        {"VCPU": 3, "MEMORY_MB": 200, "DISK_GB": 4},
    ),
    "all read: it falls": (snapshot(placement=HELD), settings(), {"VCPU": 0, "MEMORY_MB": 0, "DISK_GB": 0}),
    "a source that it does not rest on": (
        snapshot(placement=HELD, lost=[LVM]),
        settings(),
        {"VCPU": 0, "MEMORY_MB": 0, "DISK_GB": 0},
    ),
    "the operator's own may still rise": (
        snapshot(placement=HELD, lost=[STATE]),
        settings(reserved_host_cpus=4),
        {"VCPU": 4, "MEMORY_MB": 200, "DISK_GB": 4},
    ),
}


@pytest.mark.parametrize(("world", "chosen", "expected"), DOUBTS.values(), ids=DOUBTS.keys())
def test_on_doubt_reserved_does_not_fall(world, chosen, expected):
    assert reserves(decided(world, chosen)) == expected


def test_what_is_kept_on_doubt_is_a_term_of_its_own():
    wanted = wanted_root(decided(snapshot(placement=HELD, lost=[STATE]), settings(reserved_host_cpus=1)))
    assert wanted.reserves[-1] == ReserveTerms(
        resource_class="VCPU", terms=(("reserved_host_cpus", 1), ("kept-from-placement", 2))
    )


def test_a_host_that_was_never_read_can_be_compared_but_not_named():
    decision = decide(snapshot(lost=[LIBVIRT]), settings(), Subject(root_uuid=ROOT_UUID, node=None), None)
    assert wanted_root(decision).name == ""
    assert {i.resource_class for i in wanted_root(decision).inventories} == {"DISK_GB"}


def test_without_an_identity_there_is_no_tree_and_no_plan():
    decision = decide(snapshot(nova=state(instance())), settings(), Subject(root_uuid=None, node=NODE), None)
    assert decision.tree is None
    assert decision.plan.writes == ()
    assert decision.books.promised.total("VCPU") == 1


def test_an_instance_that_is_expected_here_is_no_stranger_whatever_its_size():
    world = snapshot(nova=state(instance(host=HOST)), libvirt=host(domain(vcpus=40)))
    assert reserves(decided(world))["VCPU"] == 0
