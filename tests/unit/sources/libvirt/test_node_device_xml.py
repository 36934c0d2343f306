"""One node device at a time: PCI functions, network, vDPA and mediated devices, and what the parser refuses."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.errors import SourceInconsistent
from agent.model.host.devices import Mdev, MdevType
from agent.sources.libvirt.node_device_xml import NetworkDevice, NodeDevice, PciFunction, parse_node_device, pci_name
from tests.rigs.libvirt_documents import document, documents
from tests.rigs.xml_mutation import damaged, refusal

PF = document("node_devices", "pci_0000_81_00_0")
MDEV = document("node_devices", "mdev_4b20d080_1b54_4048_85b3_a6a62d165c01_0000_06_00_0")


def read(name):
    return parse_node_device(document("node_devices", name))


def test_a_physical_function_lists_its_virtual_functions():
    """The agent reads an SR-IOV physical function from libvirt's XML, with its IDs, NUMA node and virtual functions."""
    assert parse_node_device(PF) == NodeDevice(
        name="pci_0000_81_00_0",
        parent="pci_0000_80_01_1",
        pci=PciFunction(
            address="0000:81:00.0",
            vendor_id="15b3",
            product_id="101d",
            numa_node=1,
            virtual_functions=("0000:81:00.2", "0000:81:00.3", "0000:81:00.4"),
            card_serial="MT2108X12345",
        ),
    )


def test_a_physical_function_without_vfs_has_an_empty_vf_list():
    """An SR-IOV physical function without virtual functions (VFs) is read with an empty list of VFs."""
    start, end = PF.index("<address domain"), PF.index("</capability>\n    <capability type='vpd'>")
    assert parse_node_device(PF[:start] + PF[end:]).pci.virtual_functions == ()


def test_a_virtual_function_refers_to_its_physical_function():
    """The agent reads an SR-IOV virtual function with the PCI address of its physical function."""
    function = read("pci_0000_81_00_3").pci
    assert (function.physical_function, function.virtual_functions) == ("0000:81:00.0", None)
    assert function.card_serial == "VF3-OWN"


def test_a_writable_card_serial_is_ignored():
    """The agent does not read a PCI card's serial number if libvirt reports that the number can be changed."""
    assert parse_node_device(PF.replace("access='readonly'", "access='readwrite'")).pci.card_serial is None


def test_pci_and_network_devices_are_parsed():
    """The agent reads a virtio PCI function and its network interface eth0 from XML that libvirt printed."""
    function = read("pci_0000_00_03_0").pci
    assert (function.address, function.vendor_id, function.product_id) == ("0000:00:03.0", "1af4", "1041")
    assert read("net_eth0_52_54_00_00_00_01") == NodeDevice(
        name="net_eth0_52_54_00_00_00_01",
        parent="pci_0000_00_03_0",
        network=NetworkDevice(
            interface="eth0", mac_address="52:54:00:00:00:01", features=("rx", "tx", "sg", "tso", "gso", "gro")
        ),
    )


def test_a_pci_address_with_a_five_digit_domain_is_read():
    """The PCI address 10000:e1:00.0 has a domain of more than 16 bits, and the agent reads all of its digits."""
    function = read("pci_10000_e1_00_0").pci
    assert (function.address, function.vendor_id, function.product_id) == ("10000:e1:00.0", "144d", "00a0")


def test_numa_node_minus_one_is_read_as_unknown():
    """The NUMA node of a PCI device is unknown to the agent if libvirt reports the number -1."""
    assert read("pci_0000_06_00_0").pci.numa_node is None


@pytest.mark.parametrize(
    ("name", "types"),
    [
        ("pci_0000_06_00_0", [("nvidia-11", 15), ("nvidia-12", 0)]),
        ("mtty_mtty", [("mtty-2", 12)]),
        ("css_0_0_0023", [("vfio_ccw-io", 1)]),
    ],
)
def test_mdev_types_are_read_with_their_free_instances(name, types):
    """PCI, mtty and css devices list their types of mediated devices, each with the number of available instances."""
    assert read(name).mdev_types == tuple(MdevType(type_id=kind, available_instances=n) for kind, n in types)


def test_the_parent_of_an_mdev_is_found_by_its_pci_address():
    """The XML of a mediated device contains its parent's PCI address.

    The agent derives the parent's name from that address.
    """
    assert parse_node_device(MDEV).mdev == Mdev(
        name="mdev_4b20d080_1b54_4048_85b3_a6a62d165c01_0000_06_00_0",
        type_id="nvidia-11",
        parent="pci_0000_06_00_0",
        uuid="4b20d080-1b54-4048-85b3-a6a62d165c01",
    )


def test_an_mdev_may_have_a_parent_outside_pci():
    """A mediated device on a device without a PCI address keeps the parent name that libvirt gives."""
    xml = MDEV.replace("<parent>computer<", "<parent>mtty_mtty<").replace("0000:06:00.0", "mtty")
    assert parse_node_device(xml).mdev.parent == "mtty_mtty"


def test_a_vdpa_device_is_parsed():
    """The agent reads a vDPA device from libvirt's XML, with the name of the PCI function that it belongs to."""
    assert read("vdpa_vdpa0") == NodeDevice(name="vdpa_vdpa0", parent="pci_0000_81_00_4", vdpa=True)


@pytest.mark.parametrize("name", [name for name in documents("node_devices") if name.startswith("pci_")])
def test_pci_device_names_are_derived_from_addresses(name):
    """The agent derives libvirt's name of a PCI device (pci_0000_81_00_0) from the device's address (0000:81:00.0)."""
    assert pci_name(read(name).pci.address) == name


@pytest.mark.parametrize(
    ("old", "new", "named"),
    [
        ("<name>pci_0000_81_00_0</name>", "", "device: no <name>"),
        ("<bus>129</bus>", "<bus>0x81</bus>", "bus: '0x81'"),
        ("<bus>129</bus>", "<bus>256</bus>", "(0, 256, 0, 0) is not a PCI address"),
        ("<slot>0</slot>", "", "slot: None"),
        ("id='0x101d'", "id='0x1101d'", "the product id 0x1101d"),
        ("id='0x15b3'", "", "vendor id: None"),
        ("node='1'", "node='one'", "numa node: 'one'"),
        ("function='0x2'", "function='0x8'", "(0, 129, 0, 8) is not a PCI address"),
    ],
)
def test_the_error_for_invalid_device_xml_shows_the_value(old, new, named):
    """The error about invalid device XML contains the field or the value that is missing or invalid."""
    assert old in PF
    with pytest.raises(SourceInconsistent) as raised:
        parse_node_device(PF.replace(old, new))
    assert named in raised.value.message


def test_an_mdev_type_needs_available_instances():
    """The agent rejects a type of mediated device if its XML has no element availableInstances."""
    xml = document("node_devices", "mtty_mtty").replace("<availableInstances>12</availableInstances>", "")
    with pytest.raises(SourceInconsistent, match="mtty-2: availableInstances"):
        parse_node_device(xml)


@given(damaged(documents("node_devices").values()))
def test_damaged_device_xml_is_parsed_or_rejected(xml):
    """XML of a device with random damage is parsed or raises SourceInconsistent. It raises no other error."""
    assert (refusal(parse_node_device, xml) or "device").startswith("device")


@given(st.text(st.characters(exclude_categories=())))
def test_text_other_than_xml_is_rejected_as_a_device(text):
    """Any text that is not XML raises SourceInconsistent if it is parsed as a libvirt node device."""
    with pytest.raises(SourceInconsistent):
        parse_node_device(text)
