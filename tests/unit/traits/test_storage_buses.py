"""Which buses can attach a disk."""

from __future__ import annotations

import pytest

from agent.model.snapshot import LIBVIRT
from agent.traits import storage_buses
from agent.traits.base import Wish
from tests.rigs.capabilities import UNREADABLE, capable, emulator, world
from tests.rigs.facts import settings, snapshot

ALL = frozenset({"FDC", "IDE", "LXC", "SATA", "SCSI", "UML", "USB", "VIRTIO", "XEN"})


def traits(names):
    return frozenset(f"COMPUTE_STORAGE_BUS_{name}" for name in names)


def buses(*names, arch="x86_64", machine="pc"):
    return emulator(arch, machine, buses=frozenset(names))


TOLD = {
    "one machine type": ("kvm", capable(buses("fdc", "ide", "virtio")), {"FDC", "IDE", "VIRTIO"}),
    "any machine type of any architecture": (
        "qemu",
        capable(buses("ide"), buses("sata", machine="q35"), buses("scsi", arch="aarch64", machine="virt")),
        {"IDE", "SATA", "SCSI"},
    ),
    "the bus of a USB redirection counts: it is in the document": ("kvm", capable(buses("usb")), {"USB"}),
    "a bus without a trait": ("kvm", capable(buses("sd", "virtio")), {"VIRTIO"}),
    "no emulator runs": ("kvm", capable(), set()),
    "containers are not asked": ("lxc", capable(buses("virtio")), {"LXC"}),
    "containers, capabilities unknown": ("lxc", None, {"LXC"}),
    "parallels": ("parallels", None, {"IDE", "SCSI"}),
}


@pytest.mark.parametrize(("virt_type", "capabilities", "expected"), TOLD.values(), ids=TOLD.keys())
def test_storage_bus_traits_match_the_available_buses(virt_type, capabilities, expected):
    """The agent sets the trait of each available disk bus, and removes the traits of the others."""
    told = storage_buses.wish(world(capabilities), settings(virt_type=virt_type))
    assert told == Wish(wanted=traits(expected), unwanted=traits(ALL - expected))


@pytest.mark.parametrize("facts", [world(None), world(capable(domain=None)), snapshot(lost=[LIBVIRT])])
@pytest.mark.parametrize("virt_type", ["kvm", "qemu"])
def test_storage_bus_traits_stay_if_capabilities_are_unknown(facts, virt_type):
    """The agent leaves the traits of disk buses unchanged if libvirt's capabilities could not be read."""
    assert storage_buses.wish(facts, settings(virt_type=virt_type)) == Wish()


def test_no_storage_bus_trait_is_removed_after_a_partial_answer():
    """The agent removes no trait of a disk bus if a part of libvirt's capabilities could not be read."""
    told = storage_buses.wish(world(capable(buses("ide"), missing=(UNREADABLE,))), settings())
    assert told == Wish(wanted=traits({"IDE"}))
