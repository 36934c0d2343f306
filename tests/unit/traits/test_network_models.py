"""Which network cards the host offers."""

from __future__ import annotations

import pytest

from agent.model.snapshot import LIBVIRT
from agent.traits import network_models
from tests.rigs.capabilities import capable, world
from tests.rigs.facts import settings, snapshot

PREFIX = "COMPUTE_NET_VIF_MODEL_"
PACKED = "COMPUTE_NET_VIRTIO_PACKED"
KVM = {"VIRTIO", "NE2K_PCI", "PCNET", "RTL8139", "E1000", "E1000E", "SPAPR_VLAN", "VMXNET3"}
ALL = KVM | {"LAN9118", "IGB"}


def models(virt_type, *, capabilities=None, libvirt=9003000, qemu=8000000):
    facts = world(capabilities, libvirt_version=libvirt, hypervisor_version=qemu)
    told = network_models.wish(facts, settings(virt_type=virt_type))
    assert PACKED in told.wanted
    return (
        {name.removeprefix(PREFIX) for name in told.wanted if name != PACKED},
        {name.removeprefix(PREFIX) for name in told.unwanted},
    )


TYPES = {
    "kvm": ("kvm", KVM | {"IGB"}),
    "qemu emulates an Arm board's too": ("qemu", KVM | {"IGB", "LAN9118"}),
    "parallels": ("parallels", {"VIRTIO", "RTL8139", "E1000"}),
    "lxc": ("lxc", set()),
}


@pytest.mark.parametrize(("virt_type", "expected"), TYPES.values(), ids=TYPES.keys())
def test_the_network_model_traits_depend_on_the_virt_type(virt_type, expected):
    """nova's option virt_type decides which traits of network card models the agent sets. With lxc it sets none."""
    assert models(virt_type, capabilities=capable()) == (expected, ALL - expected)


@pytest.mark.parametrize(
    ("libvirt", "qemu", "there"),
    [(9003000, 8000000, True), (9002999, 8000000, False), (9003000, 7002022, False), (11000000, 10000000, True)],
)
def test_the_igb_network_trait_needs_libvirt_9_3_and_qemu_8(libvirt, qemu, there):
    """The agent sets the trait of the network card igb only with libvirt 9.3 or later and QEMU 8 or later."""
    wanted, unwanted = models("kvm", capabilities=capable(), libvirt=libvirt, qemu=qemu)
    assert ("IGB" in wanted, "IGB" in unwanted) == (there, not there)


def test_the_igb_trait_stays_on_kvm_if_versions_are_unknown():
    """With virt_type kvm, the agent leaves the igb trait unchanged while it does not know QEMU's version."""
    assert models("kvm") == (KVM, {"LAN9118"})
    assert models("kvm", capabilities=capable(), qemu=0) == (KVM, {"LAN9118"})
    assert models("lxc") == (set(), ALL)


def test_the_igb_trait_stays_if_libvirt_cannot_be_read():
    """The agent leaves the trait for guests' network cards of model igb unchanged if it cannot read libvirt."""
    told = network_models.wish(snapshot(lost=[LIBVIRT]), settings())
    assert told.wanted == {PREFIX + name for name in KVM} | {PACKED}
    assert told.unwanted == {PREFIX + "LAN9118"}
