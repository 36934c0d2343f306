"""How the parsers' devices are combined: their kinds, and which device takes a fact from which."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.model.host.devices import MdevParent, MdevType, OddDevice, PciKind
from agent.sources.libvirt.node_device_xml import parse_node_device
from agent.sources.libvirt.node_devices import devices_from
from tests.rigs.libvirt_documents import documents

NODES = [parse_node_device(text) for text in documents("node_devices").values()]
BY_NAME = {node.name: node for node in NODES}


def found(name, nodes=NODES):
    (device,) = [device for device in devices_from(nodes, ()).pci if device.name == name]
    return device


def without(*names):
    return [node for node in NODES if node.name not in names]


def test_each_pci_device_gets_its_kind():
    """The agent classifies each PCI device as PCI, physical function (PF), virtual function (VF) or vDPA."""
    assert {device.name: device.kind for device in devices_from(NODES, ()).pci} == {
        "pci_0000_00_00_0": PciKind.PCI,
        "pci_0000_00_03_0": PciKind.PCI,
        "pci_0000_06_00_0": PciKind.PCI,
        "pci_0000_81_00_0": PciKind.PF,
        "pci_0000_81_00_2": PciKind.VF,
        "pci_0000_81_00_3": PciKind.VF,
        "pci_0000_81_00_4": PciKind.VDPA,
        "pci_10000_e1_00_0": PciKind.PCI,
    }


def test_a_physical_function_has_its_own_network_interface():
    """A physical function is read with its own interface, not with those that represent its virtual functions."""
    device = found("pci_0000_81_00_0")
    assert (device.interface, device.mac_address) == ("enp129s0f0np0", "0c:42:a1:00:00:10")
    assert (device.parent_address, device.pf_mac_address, device.vf_number) == (None, None, None)


def test_a_vf_is_read_with_the_mac_of_its_physical_function():
    """The agent reads a virtual function (VF) with the MAC of its physical function, not with the VF's own MAC."""
    device = found("pci_0000_81_00_2")
    assert (device.interface, device.parent_interface) == ("enp129s0f0v0", "enp129s0f0np0")
    assert (device.parent_address, device.vf_number) == ("0000:81:00.0", 0)
    # The agent does not report the function's own address, because any guest may set it.
    assert (device.mac_address, device.pf_mac_address) == (None, "0c:42:a1:00:00:10")
    assert device.network_features == ("rx", "tso", "switchdev")
    assert device.card_serial == "MT2108X12345"


def test_a_vf_without_an_interface_has_the_mac_of_its_pf():
    """A virtual function (VF) without a network interface still gets the MAC address of its physical function (PF)."""
    device = found("pci_0000_81_00_3")
    assert (device.interface, device.parent_interface, device.network_features) == (None, None, ())
    assert (device.pf_mac_address, device.vf_number) == ("0c:42:a1:00:00:10", 1)
    assert device.card_serial == "VF3-OWN"


def test_a_vdpa_function_has_the_pci_address_of_its_pf():
    """A vDPA function is read with the PCI address of its physical function (PF), but without the PF's MAC."""
    device = found("pci_0000_81_00_4")
    assert device.parent_address == "0000:81:00.0"
    assert (device.pf_mac_address, device.vf_number, device.card_serial) == (None, None, None)
    assert found("pci_0000_81_00_4", without("vdpa_vdpa0")).kind is PciKind.VF


def test_the_vf_number_is_unknown_if_the_pf_has_no_interface():
    """A virtual function's number and MAC address are unknown if its physical function has no network interface."""
    nodes = [node for node in NODES if node.network is None or node.parent != "pci_0000_81_00_0"]
    device = found("pci_0000_81_00_2", nodes)
    assert (device.parent_interface, device.pf_mac_address, device.vf_number) == (None, None, None)
    assert device.parent_address == "0000:81:00.0"


def test_a_vf_of_an_unlisted_pf_keeps_its_parent_address():
    """libvirt lists a virtual function (VF) and not its physical function (PF). The VF keeps its parent's address."""
    device = found("pci_0000_81_00_2", without("pci_0000_81_00_0"))
    assert (device.kind, device.parent_address, device.card_serial) == (PciKind.VF, "0000:81:00.0", None)


def test_mediated_devices_and_their_parents_are_listed():
    """The agent lists the mediated devices and every device that can have mediated devices."""
    devices = devices_from(NODES, ())
    assert devices.mdev_parents == (
        MdevParent(name="css_0_0_0023", address=None, types=(MdevType(type_id="vfio_ccw-io", available_instances=1),)),
        MdevParent(name="mtty_mtty", address=None, types=(MdevType(type_id="mtty-2", available_instances=12),)),
        MdevParent(
            name="pci_0000_06_00_0",
            address="0000:06:00.0",
            types=(
                MdevType(type_id="nvidia-11", available_instances=15),
                MdevType(type_id="nvidia-12", available_instances=0),
            ),
        ),
    )
    (mdev,) = devices.mdevs
    assert mdev.parent == "pci_0000_06_00_0"


@given(st.permutations(NODES))
def test_the_order_of_node_devices_does_not_matter(nodes):
    """The agent builds the same list of devices in whatever order libvirt returns them."""
    odd = [OddDevice(name="b", reason="?"), OddDevice(name="a", reason="?")]
    assert devices_from(nodes, odd) == devices_from(NODES, odd[::-1])


@given(st.sets(st.sampled_from([node.name for node in NODES])))
def test_devices_are_read_from_an_incomplete_list(names):
    """The agent reads every PCI device that libvirt lists, even if related devices are missing from the list."""
    listed = devices_from([BY_NAME[name] for name in names], ())
    assert [device.name for device in listed.pci] == sorted(name for name in names if name.startswith("pci_"))
    assert all(device.vf_number is None or device.pf_mac_address for device in listed.pci)


@pytest.mark.parametrize("address", ["0000:81:00.2", "0000:81:00.0"])
def test_a_vf_keeps_the_parent_address_from_libvirt(address):
    """A virtual function (VF) keeps the parent address from libvirt, even if this is the VF's own address."""
    vf = BY_NAME["pci_0000_81_00_2"]
    odd = replace(vf, pci=replace(vf.pci, physical_function=address))
    device = found(vf.name, [*without(vf.name), odd])
    assert (device.kind, device.parent_address) == (PciKind.VF, address)
