"""The wanted tree: which classes are frozen and why, and when ``reserved`` may fall."""

from __future__ import annotations

import dataclasses

import pytest

from agent.audit.decide import decide
from agent.model.books import ReserveTerms
from agent.model.compared import Subject
from agent.model.host.capabilities import SevLimits
from agent.model.host.devices import Devices
from agent.model.host.facts import OddDomain
from agent.model.host.storage import StorageFacts
from agent.model.nova import StateKind
from agent.model.placement import ROOT
from agent.model.plan import PutTraits
from agent.model.settings import UnmanagedPolicy
from agent.model.snapshot import FILESYSTEM, LIBVIRT, LVM, STATE
from agent.resources import OWNED_CLASSES
from tests.rigs.facts import (
    HOST,
    NODE,
    ROOT_UUID,
    allocations,
    classes_from,
    decided,
    domain,
    filesystem,
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
from tests.rigs.nested import (
    CARDS,
    GPU_06,
    below,
    card,
    child,
    encrypting,
    machine,
    mdev_type,
    standing,
    tree_of,
    x86,
)

STRANGER = domain("stranger", vcpus=8, memory_mib=100)
HELD = view(
    provider=root(
        inventory("DISK_GB", 6, reserved=4),
        inventory("MEMORY_MB", 512, reserved=200),
        inventory("VCPU", 4, reserved=3, allocation_ratio=4.0),
    )
)


def test_a_new_host_gets_a_provider_with_cpu_memory_and_disk():
    """Placement has no provider for the host. The agent plans one with the classes VCPU, MEMORY_MB and DISK_GB."""
    wanted = wanted_root(decided(snapshot(placement=view(providers=())), settings(reserved_host_memory_mib=128)))
    assert (wanted.key, wanted.uuid, wanted.name, wanted.parent_uuid) == (ROOT, ROOT_UUID, NODE, None)
    assert wanted.inventories == (
        inventory("DISK_GB", 6),
        inventory("MEMORY_MB", 512, reserved=128),
        inventory("VCPU", 4, allocation_ratio=4.0),
    )
    assert wanted.owned_classes == {"VCPU", "PCPU", "MEMORY_MB", "DISK_GB"} | OWNED_CLASSES
    assert wanted.frozen == ()


def test_s93_inventories_have_the_defaults_of_nova():
    """The agent writes VCPU, PCPU, MEMORY_MB and DISK_GB with the same ratios and max_unit as nova-compute."""
    machine = snapshot(libvirt=host(cpus=36, memory_mib=1024), files=filesystem(200), placement=view(providers=()))
    shared, dedicated = tuple(range(24)), tuple(range(24, 36))
    chosen = settings(cpu_shared_set=shared, cpu_dedicated_set=dedicated, reserved_host_memory_mib=512)
    assert wanted_root(decided(machine, chosen)).inventories == (
        inventory("DISK_GB", 200, max_unit=200, allocation_ratio=1.0),
        inventory("MEMORY_MB", 1024, reserved=512, max_unit=1024, allocation_ratio=1.0),
        inventory("PCPU", 12, max_unit=12, allocation_ratio=1.0),
        inventory("VCPU", 24, max_unit=24, allocation_ratio=4.0),
    )


FROZEN = {
    "libvirt": (
        snapshot(lost=[LIBVIRT]),
        settings(),
        {name: "libvirt could not be read" for name in classes_from(LIBVIRT, "VCPU", "PCPU", "MEMORY_MB")},
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
        {
            name: "[compute] cpu_shared_set names CPUs that are not on this host: 9 (this host has CPUs 0-3)"
            for name in ("VCPU", "PCPU")
        },
    ),
    "state": (snapshot(lost=[STATE]), settings(), {}),
}


@pytest.mark.parametrize(("world", "chosen", "expected"), FROZEN.values(), ids=FROZEN.keys())
def test_an_inventory_stays_unchanged_if_its_source_is_unread(world, chosen, expected):
    """An inventory depends on a source that cannot be read, such as LVM. The agent leaves the inventory as it is."""
    wanted = wanted_root(decided(world, chosen))
    assert {f.name: f.why for f in wanted.frozen} == expected
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
def test_reserved_includes_guests_and_volumes_unknown_to_nova(world, chosen, expected):
    """In an inventory, `reserved` includes the amounts of guests and volumes that nova does not know."""
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
def test_reserved_is_not_lowered_if_a_source_is_unread(world, chosen, expected):
    """The agent does not lower a reserved amount if nova's database or libvirt could not be read."""
    assert reserves(decided(world, chosen)) == expected


def test_the_agent_lists_the_parts_of_a_reserved_amount():
    """Of the 3 VCPU reserved in Placement, the agent lists 1 as set in nova.conf and 2 as kept.

    It keeps the 2 because nova's database is unread.
    """
    wanted = wanted_root(decided(snapshot(placement=HELD, lost=[STATE]), settings(reserved_host_cpus=1)))
    assert wanted.reserves[-1] == ReserveTerms(
        resource_class="VCPU", terms=(("reserved_host_cpus", 1), ("kept-from-placement", 2))
    )


def test_the_root_provider_has_no_name_without_a_node_name():
    """libvirt cannot be read, and the node's name is unknown. The agent's planned root provider has no name."""
    decision = decide(snapshot(lost=[LIBVIRT]), settings(), Subject(root_uuid=ROOT_UUID, node=None), None)
    assert wanted_root(decision).name == ""
    assert {i.resource_class for i in wanted_root(decision).inventories} == {"DISK_GB"}


def test_no_write_is_planned_without_the_uuid_of_the_provider():
    """If the agent does not know the UUID of the host's provider, it plans no writes to Placement."""
    decision = decide(snapshot(nova=state(instance())), settings(), Subject(root_uuid=None, node=NODE), None)
    assert decision.tree is None
    assert decision.plan.writes == ()
    assert decision.books.promised.total("VCPU") == 1


def test_reserved_does_not_include_guests_known_to_nova():
    """If nova's database places a guest on this host, the reserved VCPU do not include the guest."""
    world = snapshot(nova=state(instance(host=HOST)), libvirt=host(domain(vcpus=40)))
    assert reserves(decided(world))["VCPU"] == 0


BOTH = settings(mdev_types=(mdev_type("nvidia-11"),))
CARDS_AND_SEV = dataclasses.replace(
    encrypting(sev="Y"), devices=CARDS.devices, hostname=NODE, domains=(domain("stranger", vcpus=8),)
)


def test_s94_a_host_without_resources_gets_an_empty_provider():
    """A host has no CPUs, memory, disk or devices.

    Its provider has no inventories, because Placement refuses totals of 0.
    """
    empty = encrypting(x86(machine(sev=SevLimits(max_guests=0, max_es_guests=0))), sev="Y", sev_es="Y")
    nothing = dataclasses.replace(
        empty, cpus=(), memory_mib=0, devices=Devices(mdev_parents=(card(GPU_06, nvidia_11=0),))
    )
    tree = tree_of(snapshot(libvirt=nothing, files=filesystem(0)), BOTH)
    assert [provider.key for provider in tree.providers] == [ROOT]
    assert tree.root.inventories == ()
    assert (tree.root.frozen, tree.frozen_families, tree.obsolete) == ((), (), ())


def test_the_tree_lists_the_root_first_and_then_its_children():
    """The planned tree lists the host's root provider first, and then the providers of AMD SEV and of two GPUs."""
    tree = tree_of(snapshot(libvirt=CARDS_AND_SEV), BOTH)
    assert [provider.name for provider in tree.providers] == [
        NODE,
        f"{NODE}_amd_sev",
        f"{NODE}_pci_0000_06_00_0",
        f"{NODE}_pci_0000_07_00_0",
    ]
    assert {provider.parent_uuid for provider in tree.providers[1:]} == {ROOT_UUID}
    assert len({provider.uuid for provider in tree.providers}) == 4
    assert all("OWNER_NOVA" in provider.traits_unwanted for provider in tree.providers)


def test_unknown_guests_are_reserved_only_on_the_root():
    """A guest is unknown to nova. The agent reserves its VCPU on the root provider, and nothing on the children."""
    tree = tree_of(snapshot(libvirt=CARDS_AND_SEV), BOTH)
    assert tree.root.inventory("VCPU").reserved == 2
    assert {i.reserved for provider in tree.providers[1:] for i in provider.inventories} == {0}


def test_the_sev_provider_is_planned_if_devices_are_unread():
    """If libvirt cannot list the host's devices, the agent still plans the provider for AMD SEV."""
    devices_lost = dataclasses.replace(CARDS_AND_SEV, devices=None, devices_unknown_because="a device vanished")
    tree = tree_of(snapshot(libvirt=devices_lost), BOTH)
    assert list(below(tree)) == ["amd_sev"]
    assert [(f.name, f.why) for f in tree.frozen_families] == [
        ("mdev", "libvirt could not list the devices: a device vanished")
    ]


def test_no_children_are_planned_without_the_node_name():
    """A child provider's name begins with the node's name. An agent that does not know the name plans no children."""
    decision = decide(
        snapshot(libvirt=CARDS_AND_SEV, placement=standing(child(GPU_06, inventory("VGPU", 2)))),
        BOTH,
        Subject(root_uuid=ROOT_UUID, node=None),
        None,
    )
    assert [provider.key for provider in decision.tree.providers] == [ROOT]
    assert decision.tree.obsolete == ()


def test_a_takeover_keeps_the_traits_of_operators():
    """The agent takes over a child provider from nova-compute, and keeps a trait that an operator has set."""
    theirs = child("amd_sev", traits=frozenset({"OWNER_NOVA", "CUSTOM_RACK_7", "HW_CPU_X86_AMD_SEV"}))
    decision = decided(snapshot(libvirt=CARDS_AND_SEV, placement=standing(theirs)))
    (put,) = [w for w in decision.plan.writes if isinstance(w, PutTraits) and w.provider_uuid == theirs.uuid]
    assert set(put.traits) == {"CUSTOM_OWNER_STOCKTAKE", "CUSTOM_RACK_7", "HW_CPU_X86_AMD_SEV"}
